"""The table of what is measured.

The work, its inputs, the commands that do it, the figures and targets, what shows that answers are right.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.bench.checks import counted, occurrences, parquet_rows, same, scanned
from tests.bench.figures import Growth, Ratio, Slopes, Target, Together
from tests.bench.inputs import Made, Spec, alive
from tests.bench.process import aside

MIB, GIB = 1 << 20, 1 << 30
KCLI, JOBS, SPARK, TOOL = "kcli", "kcli --jobs 2", "kcli --spark", "DumpLogSegments"
LARGE = " (large)"
KEY = "key-83212"
SCAN = "kcli scan"
ONE_CORE = "kcli on one core"
TWICE = "kcli twice at once" + LARGE
TWO = ["--jobs", "2"]
ON_SPARK = ["--spark-master", "local[2]"]
STEPS = ("1x", "4x", "16x")
CHECKED = b'"result":"'
VALID, RECORD, LINE_END = b" isvalid: true", b" headerKeys: [", b"\n"
RECORD_ROW = b'{"type":"dump_record",'
ANSWER = b'"requested_epoch":5,"leader_epoch":5,"end_offset":101,'

Command = Callable[[Path], Sequence[str]]
"""Makes the words of a command from the path where a file of its own may go."""


class Scale(NamedTuple):
    """How large inputs are: bytes of `big`, `tiny`, `verify` and `spark`, else counts."""

    big: int
    tiny_scan: int
    tiny_text: int
    records: int
    partitions: int
    events: int
    events_text: int
    commits: int
    verify: tuple[int, int]
    spark_tiny: tuple[int, int]
    spark_records: tuple[int, int]


USUAL = Scale(
    big=GIB,
    tiny_scan=256 * MIB,
    tiny_text=256 * MIB,
    records=1_600_000,
    partitions=10_000,
    events=500_000,
    events_text=50_000,
    commits=200_000,
    verify=(GIB, 4 * GIB),
    spark_tiny=(GIB, 4 * GIB),
    spark_records=(1_600_000, 6_400_000),
)
QUICK = Scale(
    big=64 * MIB,
    tiny_scan=16 * MIB,
    tiny_text=16 * MIB,
    records=40_000,
    partitions=640,
    events=32_000,
    events_text=8_000,
    commits=8_000,
    verify=(64 * MIB, 128 * MIB),
    spark_tiny=(16 * MIB, 64 * MIB),
    spark_records=(40_000, 160_000),
)
FULL = USUAL._replace(tiny_scan=GIB, events=5_000_000)


class Programs(NamedTuple):
    """How kcli and a class of Kafka are started."""

    kcli: tuple[str, ...]
    java: tuple[str, ...]

    def ours(self, *words: object) -> Command:
        return lambda out: [*self.kcli, *map(str, words)]

    def ours_to_file(self, *words: object) -> Command:
        return lambda out: [*self.kcli, *map(str, words), "--out", str(out)]

    def tool(self, path: Path, *words: str) -> Command:
        return lambda out: [
            *self.java,
            "org.apache.kafka.tools.DumpLogSegments",
            "--files",
            str(path),
            *words,
        ]


def on_one_core(command: Command) -> Command:
    """Return the same command, all its threads on one of the cores that this process may use."""
    return lambda out: ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command(out)]


class Line(NamedTuple):
    """A line of the table. `commands` and `check` get the inputs in their order.

    `check` the outputs too, by command.
    """

    name: str
    work: str
    inputs: tuple[Spec, ...]
    commands: Callable[[Programs, Sequence[Made]], Mapping[str, Command]]
    figures: tuple[Ratio | Slopes | Growth | Together, ...]
    check: Callable[[Sequence[Made], Mapping[str, Path]], list[str]]
    times: int = 1
    most: int = 100
    spark: bool = False

    def runs(self, usual: int) -> int:
        """Return how often its commands run: small answers more often than usual, long ones not too often."""
        return min(usual * self.times, self.most)


def lines(scale: Scale) -> list[Line]:
    """Return all lines at a scale, in the order in which they run."""
    return [
        Line(
            "small-answer",
            "epoch end-offset of a partition, against its .index",
            (Spec("small", 2000),),
            _small,
            (Ratio(KCLI, TOOL, Target(0.75, at_least=False), share=True),),
            lambda made, outputs: counted(outputs[KCLI], b"\t5\t5\t2000\t2000\t", 1, "answers"),
            times=4,
        ),
        _scan("scan-big", Spec("big", scale.big), Target(2.5)),
        _scan("scan-tiny", Spec("tiny", scale.tiny_scan), Target(8)),
        _check("check-big", Spec("big", scale.big), Target(1.5), Target(0.7)),
        _headers("dump-text-big", Spec("big", scale.big), Target(2), None),
        _headers("dump-text-tiny", Spec("tiny", scale.tiny_text), Target(1), Target(1.7)),
        *(_records(codec, scale.records, judged=True) for codec in ("none", "lz4", "zstd")),
        *(_records(codec, scale.records, judged=False) for codec in ("gzip", "snappy")),
        Line(
            "dump-parquet-lz4",
            "dump --records --out x.parquet, lz4, against its text",
            (Spec("records.lz4", scale.records),),
            _parquet,
            (Ratio(KCLI, TOOL, Target(3)),),
            _parquet_right,
        ),
        Line(
            "dump-ndjson-lz4",
            "dump --records -o ndjson, lz4, against its text",
            (Spec("records.lz4", scale.records),),
            _ndjson,
            (Ratio(KCLI, TOOL), Ratio(JOBS, TOOL)),
            _ndjson_right,
        ),
        Line(
            "dump-key-lz4",
            f"dump --records --key, lz4, {scale.records:,} records, against its text of all",
            (Spec("records.lz4", scale.records),),
            _key,
            (Ratio(KCLI, TOOL),),
            _key_right,
        ),
        _decoded(
            "dump-text-rlmm",
            "remote log metadata",
            Spec("events", scale.events_text),
            "--remote-log-metadata-decoder",
        ),
        _decoded("dump-text-offsets", "offset commits", Spec("commits", scale.commits), "--offsets-decoder"),
        Line(
            "dump-text-index",
            f"dump -o text of an offset index, {_bytes(scale.tiny_text)} of 180-byte batches",
            (Spec("tiny", scale.tiny_text),),
            _index,
            (Ratio(KCLI, TOOL),),
            lambda made, outputs: same(outputs[KCLI], outputs[TOOL], (KCLI, TOOL)),
        ),
        Line(
            "verify-jobs",
            f"scan, {_bytes(scale.verify[0])} and {_bytes(scale.verify[1])} of 18 KB batches",
            (Spec("big", scale.verify[0]), Spec("big", scale.verify[1])),
            _scans_on_one_core_and_two,
            (
                Slopes((JOBS, JOBS + LARGE), (ONE_CORE, ONE_CORE + LARGE), "byte", Target(1.6)),
                Slopes((JOBS, JOBS + LARGE), (KCLI, KCLI + LARGE), "byte"),
                Together(JOBS + LARGE, TWICE),
            ),
            _scans_right,
        ),
        Line(
            "deep-jobs",
            "dump --records -o text, lz4, two sizes",
            tuple(Spec("records.lz4", count) for count in scale.spark_records),
            partial(_two_sizes_and_twice, words=("dump", "--records", "-o", "text")),
            (
                Ratio(JOBS + LARGE, KCLI + LARGE, Target(1.4)),
                Slopes((JOBS, JOBS + LARGE), (KCLI, KCLI + LARGE), "record", Target(1.4)),
                Together(JOBS + LARGE, TWICE),
            ),
            _texts_right,
        ),
        _growth(
            "growth-bytes",
            "scan, 18 KB batches",
            "big",
            4 * scale.big,
            "byte",
            ("scan", "-o", "ndjson"),
            _grown_scans,
        )._replace(times=3),
        _growth(
            "growth-batches",
            "dump -o text, 180-byte batches",
            "tiny",
            4 * scale.tiny_text,
            "batch",
            ("dump", "-o", "text"),
            _grown(VALID),
        ),
        _growth(
            "growth-records",
            "dump --records -o text, lz4",
            "records.lz4",
            4 * scale.records,
            "record",
            ("dump", "--records", "-o", "text"),
            _grown(RECORD),
        ),
        _growth(
            "growth-partitions",
            "epoch end-offset --epoch all",
            "partitions",
            scale.partitions,
            "partition",
            ("epoch", "end-offset", "--epoch", "all", "-o", "ndjson"),
            _grown(ANSWER),
        ),
        _growth(
            "growth-events",
            "rlmm dump -o ndjson",
            "events",
            scale.events,
            "event",
            ("rlmm", "dump", "-o", "ndjson"),
            _grown(LINE_END),
        )._replace(most=3),
        _growth(
            "growth-lives",
            "rlmm state -o ndjson, zstd, 50 events a batch",
            "lives.zstd",
            scale.events,
            "event",
            ("rlmm", "state", "-o", "ndjson"),
            _grown_states,
        )._replace(most=3),
        Line(
            "spark-scan",
            "scan, 180-byte batches, local[2] against --jobs 2",
            tuple(Spec("tiny", size) for size in scale.spark_tiny),
            partial(_two_sizes, one=(JOBS, TWO), other=(SPARK, ON_SPARK), words=("scan", "-o", "ndjson")),
            (Slopes((SPARK, SPARK + LARGE), (JOBS, JOBS + LARGE), "batch", Target(0.85)),),
            _scans_right,
            spark=True,
        ),
        Line(
            "spark-parquet",
            "dump --records --out x.parquet, lz4, local[2] against --jobs 2",
            tuple(Spec("records.lz4", count) for count in scale.spark_records),
            partial(
                _two_sizes,
                one=(JOBS, TWO),
                other=(SPARK, ON_SPARK),
                words=("dump", "--records", "--only", "dump_record"),
                to_file=True,
            ),
            (Slopes((SPARK, SPARK + LARGE), (JOBS, JOBS + LARGE), "record", Target(0.85)),),
            _parquets_right,
            spark=True,
        ),
    ]


def _small(programs, made):
    [partition] = made
    index = partition.log.with_suffix(".index")
    return {
        KCLI: programs.ours("epoch", "end-offset", "--epoch", 5, partition.folder),
        TOOL: programs.tool(index),
    }


def _scan(name, spec, target):
    def commands(programs, made):
        return {KCLI: programs.ours("scan", "-o", "ndjson", made[0].log), TOOL: programs.tool(made[0].log)}

    def check(made, outputs):
        facts = made[0].facts
        return scanned(outputs[KCLI], facts, KCLI) + counted(
            outputs[TOOL], VALID, facts.batches, f"valid batches of {TOOL}"
        )

    size = {"big": "18 KB", "tiny": "180-byte"}[spec.kind]
    return Line(
        name,
        f"scan, {size} batches, {_bytes(spec.amount)}",
        (spec,),
        commands,
        (Ratio(KCLI, TOOL, target),),
        check,
    )


def _check(name, spec, target, of_scan):
    def commands(programs, made):
        log = made[0].log
        return {
            KCLI: programs.ours("check", "-o", "ndjson", log, "--fail-on", "never"),
            SCAN: programs.ours("scan", "-o", "ndjson", log),
            TOOL: programs.tool(log),
        }

    def check(made, outputs):
        return scanned(outputs[SCAN], made[0].facts, SCAN) + counted(
            outputs[KCLI], CHECKED, 1, f"rows of {KCLI} check"
        )

    return Line(
        name,
        f"check, 18 KB batches, {_bytes(spec.amount)}",
        (spec,),
        commands,
        (Ratio(KCLI, TOOL, target), Ratio(KCLI, SCAN, of_scan)),
        check,
    )


def _text(programs, made, tool_words=(), words=()):
    log = made[0].log
    dump = ("dump", *words, "-o", "text")
    return {
        KCLI: programs.ours(*dump, log),
        JOBS: programs.ours(*dump, *TWO, log),
        TOOL: programs.tool(log, *tool_words),
    }


def _decoded(name, what, spec, word):
    commands = partial(_text, tool_words=(word,), words=(word,))
    return Line(
        name,
        f"dump -o text, {what}, {spec.amount:,} records",
        (spec,),
        commands,
        (Ratio(KCLI, TOOL), Ratio(JOBS, TOOL)),
        _texts_equal,
    )


def _index(programs, made):
    index = made[0].log.with_suffix(".index")
    return {KCLI: programs.ours("dump", "-o", "text", index), TOOL: programs.tool(index)}


def _texts_equal(made, outputs):
    return same(outputs[KCLI], outputs[TOOL], (KCLI, TOOL)) + same(outputs[JOBS], outputs[TOOL], (JOBS, TOOL))


def _headers(name, spec, inline, jobs):
    size = {"big": "18 KB", "tiny": "180-byte"}[spec.kind]
    figures = (Ratio(KCLI, TOOL, inline), Ratio(JOBS, TOOL, jobs))
    return Line(
        name, f"dump -o text, {size} batches, {_bytes(spec.amount)}", (spec,), _text, figures, _texts_equal
    )


def _records(codec, count, *, judged):
    deep = ("--deep-iteration", "--print-data-log")
    bounds = ((KCLI, TOOL, 2), (JOBS, TOOL, 3.5), (JOBS, KCLI, 1.4))
    figures = tuple(Ratio(ours, base, Target(bound) if judged else None) for ours, base, bound in bounds)
    work = f"dump --records -o text, {codec}, {count:,} records"
    commands = partial(_text, tool_words=deep, words=("--records",))
    return Line(
        f"dump-text-records-{codec}",
        work,
        (Spec(f"records.{codec}", count),),
        commands,
        figures,
        _texts_equal,
    )


def _parquet(programs, made):
    log = made[0].log
    return {
        KCLI: programs.ours_to_file("dump", "--records", log),
        TOOL: programs.tool(log, "--deep-iteration", "--print-data-log"),
    }


def _ndjson(programs, made):
    words = ("dump", "--records", "-o", "ndjson", made[0].log)
    tool = programs.tool(made[0].log, "--deep-iteration", "--print-data-log")
    return {KCLI: programs.ours(*words), JOBS: programs.ours(*words, *TWO), TOOL: tool}


def _key(programs, made):
    words = ("dump", "--records", "-o", "text", "--key", KEY, made[0].log)
    tool = programs.tool(made[0].log, "--deep-iteration", "--print-data-log")
    return {KCLI: programs.ours(*words), TOOL: tool}


def _key_right(made, outputs):
    selected, expected = f" key: {KEY} payload: ".encode(), made[0].facts.records
    answer = occurrences(outputs[TOOL], selected)
    found = counted(outputs[KCLI], selected, answer, f"records of {KCLI}") + counted(
        outputs[KCLI], RECORD, answer, f"records of {KCLI}"
    )
    return (
        found
        + counted(outputs[TOOL], RECORD, expected, f"records of {TOOL}")
        + ([] if answer else [f"no record has {KEY}"])
    )


def _parquet_right(made, outputs):
    expected = made[0].facts.records
    return parquet_rows(aside(outputs[KCLI]), expected, KCLI) + counted(
        outputs[TOOL], RECORD, expected, f"records of {TOOL}"
    )


def _ndjson_right(made, outputs):
    expected = made[0].facts.records
    rows = counted(outputs[KCLI], RECORD_ROW, expected, f"rows of {KCLI}")
    return (
        rows
        + same(outputs[KCLI], outputs[JOBS], (KCLI, JOBS))
        + counted(outputs[TOOL], RECORD, expected, f"records of {TOOL}")
    )


def _two_sizes(programs, made, one, other, words, to_file=False):
    start = programs.ours_to_file if to_file else programs.ours
    return {
        key + more: start(*words, *options, size.folder)
        for more, size in zip(("", LARGE), made, strict=True)
        for key, options in (one, other)
    }


def _two_sizes_and_twice(programs, made, words):
    twice = programs.ours(*words, made[1].folder)
    return {
        **_two_sizes(programs, made, (KCLI, []), (JOBS, TWO), words),
        TWICE: lambda out: ["sh", "-c", '"$@" >"$0" & "$@"; wait', str(out), *twice(out)],
    }


def _scans_on_one_core_and_two(programs, made):
    """A scan reads ahead in a thread: alone it takes more than a core, so that two say little against it."""
    words = ("scan", "-o", "ndjson")
    return {
        **_two_sizes_and_twice(programs, made, words),
        ONE_CORE: on_one_core(programs.ours(*words, made[0].folder)),
        ONE_CORE + LARGE: on_one_core(programs.ours(*words, made[1].folder)),
    }


def _scans_right(made, outputs):
    return [
        wrong
        for key, output in outputs.items()
        for wrong in scanned(output, made[key.endswith(LARGE)].facts, key)
    ]


def _texts_right(made, outputs):
    records = {key: made[key.endswith(LARGE)].facts.records for key in outputs}
    return [
        wrong
        for key, output in outputs.items()
        for wrong in counted(output, RECORD, records[key], f"{key}: records")
    ]


def _parquets_right(made, outputs):
    return [
        wrong
        for key, output in outputs.items()
        for wrong in parquet_rows(aside(output), made[key.endswith(LARGE)].facts.records, key)
    ]


def _growth(name, work, kind, largest, unit, words, check):
    amounts = (largest // 16, largest // 4, largest)

    def commands(programs, made):
        return {step: programs.ours(*words, size.folder) for step, size in zip(STEPS, made, strict=True)}

    return Line(
        name, work, tuple(Spec(kind, amount) for amount in amounts), commands, (Growth(STEPS, unit),), check
    )


def _grown_scans(made, outputs):
    return [
        wrong
        for step, size in zip(STEPS, made, strict=True)
        for wrong in scanned(outputs[step], size.facts, step)
    ]


def _grown_states(made, outputs):
    return [
        wrong
        for step, size in zip(STEPS, made, strict=True)
        for wrong in counted(outputs[step], LINE_END, alive(size.facts.records), f"{step}: segments")
    ]


def _grown(mark):
    """Return the check that a mark is in the output once for each record (a partition's only one, where
    there are many)."""
    return lambda made, outputs: [
        wrong
        for step, size in zip(STEPS, made, strict=True)
        for wrong in counted(outputs[step], mark, size.facts.records, f"{step}: answers")
    ]


def _bytes(size: int) -> str:
    return f"{size // GIB} GiB" if size % GIB == 0 else f"{size // MIB} MiB"
