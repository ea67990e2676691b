"""The table of what is measured: work, inputs, commands, figures, and what shows that answers are right."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.inputs import GROUPS, Facts, Made, Spec, alive
from tests.bench.measure import Rule, counted, growth, occurrences, ratio, same, slopes, within

GIB = 1 << 30
QUICK = 16
"""Of the usual inputs a part so small shows that all works."""
KCLI, JOBS, ONE_CORE, SPARK = "kcli", "kcli --jobs 2", "kcli on one core", "kcli --spark"
TOOL, SCAN, LS, LARGE = "DumpLogSegments", "kcli scan", "kcli ls", " (large)"
STEPS = ("1x", "4x", "16x")
EPOCH_END = b'"requested_epoch":5,"leader_epoch":5,"end_offset":101,'
VALID, RECORD, LINE_END = b" isvalid: true", b" headerKeys: [", b"\n"
DEEP = "--deep-iteration --print-data-log"
KEY = "key-83212"
ROWS_OF = "import sys, pyarrow.dataset as d; print(d.dataset(sys.argv[1], format='parquet').count_rows())"

Outputs = Mapping[str, Path]
Check = Callable[[Outputs, Sequence[Made]], list[str]]
"""Returns what is wrong with outputs, by command, of inputs."""


class Line(NamedTuple):
    """A line of the table; in `commands` DIR, LOG, INDEX and a number name an input, OUT a file to write."""

    name: str
    work: str
    inputs: Sequence[Spec]
    commands: Mapping[str, str]
    figures: Sequence[Rule]
    check: Check
    most: int = 5
    """How often its commands run."""
    spark: bool = False


def lines(part: int = 1) -> list[Line]:
    """Return all lines, of so small a part of the usual inputs, in the order in which they run."""
    big, large_big = Spec("big", GIB // part), Spec("big", 4 * GIB // part)
    tiny, large_tiny = Spec("tiny", GIB // 4 // part), Spec("tiny", GIB // part)
    lz4, large_lz4 = Spec("records.lz4", 1_600_000 // part), Spec("records.lz4", 6_400_000 // part)
    rlmm, commits = Spec("events", 48_000 // part), Spec("commits", 192_000 // part)
    partitions, events = Spec("partitions", 9_600 // part), Spec("events", 480_000 // part)
    scan, records = "kcli scan -o ndjson", "kcli dump --records -o text"
    ndjson = "kcli dump --records -o ndjson LOG0"
    ends = "epoch end-offset --epoch all"
    scans = two_sizes(scan, {KCLI: "", JOBS: "--jobs 2"}) | two_sizes(f"taskset -c 0 {scan}", {ONE_CORE: ""})
    each_valid = of_each(VALID, expected=lambda facts: facts.batches)
    local = {JOBS: "--jobs 2", SPARK: "--spark-master local[2]"}
    return [
        Line(
            "small-answer",
            "epoch end-offset of a partition, against its .index",
            [Spec("small", 2000)],
            {KCLI: "kcli epoch end-offset --epoch 5 DIR0", TOOL: f"{TOOL} INDEX0"},
            [ratio(KCLI, TOOL, 1.33)],
            of_each(b"\t5\t5\t2000\t2000\t", only={KCLI}, expected=lambda facts: 1),
            most=20,
        ),
        _scan("scan-big", "18 KB", big, 2.5),
        _scan("scan-tiny", "180-byte", tiny, 8),
        Line(
            "check-big",
            "check, 18 KB batches",
            [big],
            {KCLI: "kcli check -o ndjson --fail-on never LOG0", SCAN: f"{scan} LOG0", TOOL: f"{TOOL} LOG0"},
            [ratio(KCLI, TOOL, 1.5), ratio(KCLI, SCAN, 0.7)],
            of_each(b'"result":"', only={KCLI}, expected=lambda facts: 1),
        ),
        _text("dump-text-big", "18 KB batches", big, "", 2, None),
        _text("dump-text-tiny", "180-byte batches", tiny, "", 1, 1.7),
        *(
            _text(f"dump-text-records-{codec}", codec, lz4._replace(kind=f"records.{codec}"), DEEP, *targets)
            for codecs, targets in (
                (("none", "lz4", "zstd"), (2, 3.5, 1.4)),
                (("gzip", "snappy"), (None, None)),
            )
            for codec in codecs
        ),
        Line(
            "dump-parquet-lz4",
            "dump --records --out x.parquet, lz4, against its text",
            [lz4],
            {KCLI: "kcli dump --records LOG0 --out OUT", TOOL: f"{TOOL} LOG0 {DEEP}"},
            [ratio(KCLI, TOOL, 3)],
            lambda outputs, made: parquet_rows(outputs[KCLI], made[0].facts),
        ),
        Line(
            "dump-ndjson-lz4",
            "dump --records -o ndjson, lz4, against its text",
            [lz4],
            {KCLI: ndjson, JOBS: f"{ndjson} --jobs 2", TOOL: f"{TOOL} LOG0 {DEEP}"},
            [ratio(KCLI, TOOL), ratio(JOBS, TOOL)],
            of_each(b'{"type":"dump_record",', only={KCLI, JOBS}),
        ),
        Line(
            "dump-key-lz4",
            "dump --records --key, lz4, against its text of all",
            [lz4],
            {KCLI: f"{records} --key {KEY} LOG0", TOOL: f"{TOOL} LOG0 {DEEP}"},
            [ratio(KCLI, TOOL)],
            key_is_right,
        ),
        _text("dump-text-rlmm", "remote log metadata", rlmm, "--remote-log-metadata-decoder"),
        Line(
            "groups",
            "group list, 1 GiB of offset commits of 5,000 groups",
            [Spec("groups", 15_500_000 // part)],
            {KCLI: "kcli group list -o ndjson DIR0"},
            [within(KCLI, 10)],
            of_each(b'"type":"group"', expected=lambda _: GROUPS),
        ),
        _text("dump-text-offsets", "offset commits", commits, "--offsets-decoder"),
        Line(
            "dump-text-index",
            "dump -o text of an offset index of 180-byte batches",
            [tiny],
            {KCLI: "kcli dump -o text INDEX0", TOOL: f"{TOOL} INDEX0"},
            [ratio(KCLI, TOOL)],
            all_same,
        ),
        Line(
            "verify-jobs",  # a scan reads ahead in a thread: alone it takes more than a core
            "scan, two sizes of 18 KB batches",
            [big, large_big],
            scans,
            [slopes(JOBS, ONE_CORE, LARGE, "bytes", 1.6), slopes(JOBS, KCLI, LARGE, "bytes")],
            scans_are_right,
        ),
        Line(
            "deep-jobs",
            "dump --records -o text, lz4, two sizes",
            [lz4, large_lz4],
            two_sizes(records, {KCLI: "", JOBS: "--jobs 2"}),
            [ratio(JOBS + LARGE, KCLI + LARGE, 1.4), slopes(JOBS, KCLI, LARGE, "records", 1.4)],
            of_each(RECORD),
        ),
        _growth("growth-bytes", "scan, 18 KB batches", large_big, scan, scans_are_right, "bytes"),
        _growth("growth-batches", "180-byte batches", large_tiny, "kcli dump -o text", each_valid, "batches"),
        _growth("growth-records", "dump --records, lz4", large_lz4, records, of_each(RECORD)),
        _growth("growth-partitions", ends, partitions, f"kcli {ends} -o ndjson", of_each(EPOCH_END)),
        Line(
            "retention-segments",
            "retention of partitions of 7 segments, against ls",
            [Spec("segments", 2_000 // part)],
            {KCLI: "kcli retention -o ndjson DIR0", LS: "kcli ls -o ndjson DIR0"},
            [ratio(KCLI, LS, 0.5)],
            of_each(b'"type":"retention_partition"', only={KCLI}),
        ),
        _growth("growth-events", "rlmm dump", events, "kcli rlmm dump -o ndjson", of_each(LINE_END)),
        _growth(
            "growth-lives",
            "rlmm state, zstd, 50 events a batch",
            events._replace(kind="lives.zstd"),
            "kcli rlmm state -o ndjson",
            of_each(LINE_END, expected=lambda facts: alive(facts.records)),
        ),
        _growth(
            "growth-metadata",
            "metadata show of a metadata log",
            Spec("metadata", 1_000_000 // part),
            "kcli metadata show -o ndjson",
            of_each(b'"complete":true', expected=lambda facts: 1),
        )._replace(figures=[growth(STEPS, "records"), within(STEPS[-1], 5)]),
        Line(
            "spark-scan",
            "scan, 180-byte batches, local[2] against --jobs 2",
            [large_tiny, large_tiny._replace(amount=4 * GIB // part)],
            two_sizes(scan, local),
            [slopes(SPARK, JOBS, LARGE, "batches", 0.85)],
            scans_are_right,
            most=3,
            spark=True,
        ),
        Line(
            "spark-parquet",
            "dump --records --out x.parquet, lz4, local[2] against --jobs 2",
            [lz4, large_lz4],
            two_sizes("kcli dump --records --only dump_record --out OUT", local),
            [slopes(SPARK, JOBS, LARGE, "records", 0.85)],
            lambda outputs, made: [
                wrong for key in outputs for wrong in parquet_rows(outputs[key], input_of(key, made).facts)
            ],
            most=3,
            spark=True,
        ),
    ]


def two_sizes(command: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return a command with each of some options, on the first input and on the second one."""
    sizes = enumerate(("", LARGE))
    return {key + size: f"{command} {words} DIR{n}" for n, size in sizes for key, words in options.items()}


def _scan(name: str, batches: str, spec: Spec, target: float) -> Line:
    commands = {KCLI: "kcli scan -o ndjson LOG0", TOOL: f"{TOOL} LOG0"}
    return Line(
        name, f"scan, {batches} batches", [spec], commands, [ratio(KCLI, TOOL, target)], scans_are_right
    )


def _text(name: str, what: str, spec: Spec, words: str, *targets: float | None) -> Line:
    """Return the line of text that kcli prints as the tool does, with one process and with two."""
    ours = f"kcli dump -o text {'--records' if words == DEEP else words} LOG0"
    commands = {KCLI: ours, JOBS: f"{ours} --jobs 2", TOOL: f"{TOOL} LOG0 {words}"}
    pairs = ((KCLI, TOOL), (JOBS, TOOL), (JOBS, KCLI))
    figures = [ratio(*pair, target) for pair, target in zip(pairs, targets or (None, None), strict=False)]
    return Line(name, f"dump -o text, {what}", [spec], commands, figures, all_same)


def _growth(name: str, work: str, largest: Spec, command: str, check: Check, unit: str = "records") -> Line:
    specs = [largest._replace(amount=largest.amount // part) for part in (16, 4, 1)]
    commands = {step: f"{command} DIR{number}" for number, step in enumerate(STEPS)}
    return Line(name, work, specs, commands, [growth(STEPS, unit)], check, most=3)


def input_of(key: str, made: Sequence[Made]) -> Made:
    """Return the input of a command: of a step, a large one, or the only one."""
    return made[STEPS.index(key) if key in STEPS else int(key.endswith(LARGE))]


def of_each(
    mark: bytes,
    *,
    only: set[str] | None = None,
    expected: Callable[[Facts], int] = lambda facts: facts.records,
) -> Check:
    """Return the check that a mark is in each output as often as its input says: once for each record."""

    def check(outputs: Outputs, made: Sequence[Made]) -> list[str]:
        return [
            wrong
            for key in only or outputs
            for wrong in counted(outputs[key], mark, expected(input_of(key, made).facts), key)
        ]

    return check


def all_same(outputs: Outputs, _: Sequence[Made]) -> list[str]:
    """Check that all commands print the same."""
    first, *others = outputs
    return [wrong for key in others for wrong in same(outputs[first], outputs[key], f"{first} and {key}")]


def key_is_right(outputs: Outputs, _: Sequence[Made]) -> list[str]:
    selected = f" key: {KEY} payload: ".encode()
    expected = occurrences(outputs[TOOL], selected)
    found = counted(outputs[KCLI], selected, expected, KCLI) + counted(outputs[KCLI], RECORD, expected, KCLI)
    return found + ([] if expected else [f"no record has {KEY}"])


def scans_are_right(outputs: Outputs, made: Sequence[Made]) -> list[str]:
    ours = (key for key in outputs if key != TOOL)
    return [wrong for key in ours for wrong in scanned(outputs[key], input_of(key, made).facts)]


def scanned(output: Path, facts: Facts) -> list[str]:
    """Check the row of a partition that `scan -o ndjson` prints last."""
    row = json.loads(output.read_text().splitlines()[-1])
    expected = {"batch_bytes": facts.bytes, "batches": facts.batches, "valid_batches": facts.batches}
    expected |= {"records": facts.records, "invalid_batches": 0, "tail_bytes": 0}
    return [
        f"scan: {key} is {row[key]}, not {expected[key]}" for key in expected if row[key] != expected[key]
    ]


def parquet_rows(output: Path, facts: Facts) -> list[str]:
    """Check the rows of Parquet, in a process of its own: this one must stay small."""
    line = [sys.executable, "-c", ROWS_OF, f"{output}.parquet"]
    count = subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
    return [] if count == str(facts.records) else [f"{count} rows of Parquet, not {facts.records}"]
