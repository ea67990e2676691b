"""The measuring itself: inputs are what they say, answers are compared, figures are worked out right."""

import json
import os
import random
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from formats.batch import BATCH, CRC_FROM, LOG_OVERHEAD
from formats.crc import crc32c
from tests.bench.__main__ import choose, unjudged
from tests.bench.checks import counted, same, scanned
from tests.bench.figures import (
    Figure,
    Growth,
    Ratio,
    Slopes,
    Target,
    Together,
    hangs_on_a_run,
    line,
    memory,
    per_unit,
)
from tests.bench.inputs import ALIVE, STAMP, Facts, Spec, alive, load
from tests.bench.lines import FULL, QUICK, USUAL, Programs, lines
from tests.bench.machine import cpu_model, rate
from tests.bench.make import CODECS, MAKERS, index_entries, make, repeat, tiny_batches
from tests.bench.process import (
    Failed,
    Measured,
    Quiet,
    Run,
    alternate,
    aside,
    busy_and_total,
    high_water,
    kind_of,
    members,
    peaks,
    run,
    session_of,
    too_busy,
)
from tests.bench.report import Result, as_json, summary, table

pytestmark = pytest.mark.slow

FACTS = Facts(bytes=1000, batches=10, records=100, last_offset=99)


def taken(peak=50_000_000, **seconds):
    """Return measurements of commands: a time, or several."""
    every = {key: value if isinstance(value, tuple) else (value,) for key, value in seconds.items()}
    return {
        key: Measured(tuple(Run(wall, wall, peak, {}) for wall in walls), {"python": peak})
        for key, walls in every.items()
    }


def batches(data):
    """Return (position, header) of every batch; all checksums must be right."""
    at = 0
    while at < len(data):
        header = BATCH.read(data, at)
        size = LOG_OVERHEAD + header.batch_length
        assert crc32c(data[at + CRC_FROM : at + size]) == header.crc
        yield at, header
        at += size
    assert at == len(data)


def test_repeated_batches_follow_on_fill_segments_and_are_what_the_facts_say(tmp_path):
    prototypes = tiny_batches(random.Random(5))
    group = sum(len(prototype.data) for prototype in prototypes)
    facts = repeat(tmp_path, prototypes, size=group * 5 + 50, segment_bytes=group * 2 - 70, chunk_bytes=group)
    logs = sorted(tmp_path.glob("*.log"))
    assert len(logs) == 3
    assert facts.bytes == sum(log.stat().st_size for log in logs) <= group * 5 + 50 < facts.bytes + 400
    following = 0
    for log in logs:
        assert int(log.stem) == following
        found = dict(batches(log.read_bytes()))
        for header in found.values():
            assert header.base_offset == following
            following += header.last_offset_delta + 1
        entries = list(index_pairs(log.with_suffix(".index").read_bytes()))
        assert len(entries) == pytest.approx(log.stat().st_size / 4096, abs=2)
        assert all(found[position].base_offset - int(log.stem) == relative for relative, position in entries)
    assert following == facts.records == facts.last_offset + 1 == facts.batches


def index_pairs(data):
    return (
        (int.from_bytes(data[at : at + 4], "big"), int.from_bytes(data[at + 4 : at + 8], "big"))
        for at in range(0, len(data), 8)
    )


def test_index_has_an_entry_where_four_kilobytes_are_full():
    assert list(index_pairs(index_entries(np.array([0, 4000, 4100, 9000]), np.array([1, 3, 5, 7])))) == [
        (5, 4100),
        (7, 9000),
    ]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_words_are_read_back(tmp_path, kcli, codec):
    made = make(tmp_path, Spec(f"records.{codec}", 300))
    rows = [
        json.loads(text)
        for text in kcli("dump", "--records", "--bytes", "text", "-o", "ndjson", made.log).stdout.splitlines()
    ]
    assert [row["offset"] for row in rows] == list(range(300))
    assert {header.attributes for _, header in batches(made.log.read_bytes())} == {CODECS[codec]}
    assert all(row["value"].endswith(f" {row['offset']}") and len(row["key"]) == 9 for row in rows)


def test_number_of_batches_is_kept(tmp_path):
    assert repeat(tmp_path, tiny_batches(random.Random(5)), batches=150)[1:] == (150, 150, 149)


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        (Spec("big", 100_000), {f"{0:020}.log", f"{0:020}.index"}),
        (Spec("records.lz4", 1000), {f"{0:020}.log", f"{0:020}.index"}),
        (
            Spec("small", 200),
            {f"{0:020}.log", f"{0:020}.index", f"{0:020}.timeindex", "leader-epoch-checkpoint"},
        ),
        (Spec("events", 40), {f"{0:020}.log", f"{0:020}.index"}),
    ],
)
def test_inputs_hold_what_their_facts_say(tmp_path, spec, names):
    made = make(tmp_path, spec)
    assert {path.name for path in made.folder.iterdir()} == names
    headers = [header for _, header in batches(made.log.read_bytes())]
    assert made.facts == (
        made.log.stat().st_size,
        len(headers),
        sum(header.records_count for header in headers),
        headers[-1].base_offset + headers[-1].last_offset_delta,
    )


def test_partitions_are_partitions_with_epochs(tmp_path):
    made = make(tmp_path, Spec("partitions", 3))
    assert sorted(path.name for path in made.folder.iterdir()) == [
        ".kafka_cleanshutdown",
        "meta.properties",
        "topic-0",
        "topic-1",
        "topic-2",
    ]
    assert (made.folder / "topic-2" / "leader-epoch-checkpoint").read_text().splitlines()[2:] == [
        f"{n} {n * 20}" for n in range(1, 6)
    ]


def test_events_are_lives_of_segments_no_two_alike(tmp_path, kcli):
    made = make(tmp_path, Spec("events", 40))
    events = [
        json.loads(text) for text in kcli("rlmm", "dump", made.folder, "-o", "ndjson").stdout.splitlines()
    ]
    assert [event["state"] for event in events[:4]] == [
        "COPY_SEGMENT_STARTED",
        "COPY_SEGMENT_FINISHED",
        "DELETE_SEGMENT_STARTED",
        "DELETE_SEGMENT_FINISHED",
    ]
    assert len({event["segment_id"] for event in events}) == 10
    assert [event["start_offset"] for event in events[::4]] == list(range(0, 10_000, 1000))
    assert [event["timestamp"] for event in events] == [event["event_timestamp_ms"] for event in events]
    assert len({event["timestamp"] for event in events}) == 40


def test_an_input_is_made_once_and_anew_if_it_would_be_another(tmp_path):
    spec = Spec("small", 100)
    assert load(tmp_path, spec) is None
    made = make(tmp_path, spec)
    before = made.log.stat().st_mtime_ns
    assert make(tmp_path, spec) == load(tmp_path, spec) == made
    assert made.log.stat().st_mtime_ns == before
    stamp = tmp_path / spec.name / STAMP
    stamp.write_text(stamp.read_text().replace(json.loads(stamp.read_text())["by"], "other"))
    assert load(tmp_path, spec) is None
    assert make(tmp_path, spec) == made
    assert load(tmp_path, spec) == made


def test_every_line_has_a_name_inputs_that_can_be_made_and_commands():
    for scale in (USUAL, QUICK, FULL):
        every = lines(scale)
        assert len({one.name for one in every}) == len(every)
        assert {spec.kind for one in every for spec in one.inputs} <= set(MAKERS)


def test_figures_of_every_line_are_about_commands_it_has(tmp_path):
    for one in lines(QUICK):
        made = [
            make(tmp_path, Spec(spec.kind, 400))
            if spec.kind != "big"
            else make(tmp_path, Spec("big", 40_000))
            for spec in one.inputs
        ]
        commands = one.commands(Programs(("kcli",), ("java",)), made)
        facts = [FACTS._replace(bytes=1000 * n, batches=10 * n, records=100 * n) for n in (1, 4, 16)]
        measured = taken(**{key: 1.0 + number for number, key in enumerate(commands)})
        for figure in one.figures:
            assert figure.figures(measured, "w", facts[: len(made)])
        for command in commands.values():
            assert all(isinstance(word, str) for word in command(tmp_path / "x"))


def test_small_lines_run_more_often_and_long_ones_less():
    runs = {one.name: one.runs(5) for one in lines(USUAL)}
    assert (runs["small-answer"], runs["scan-big"], runs["growth-events"]) == (20, 5, 3)


def test_lines_are_chosen_by_name_or_pattern():
    every = lines(USUAL)
    assert [one.name for one in choose(every, ["scan-tiny", "dump-text-records-lz4"], spark=False)] == [
        "scan-tiny",
        "dump-text-records-lz4",
    ]
    assert [one.name for one in choose(every, ["spark-*"], spark=False)] == ["spark-scan", "spark-parquet"]
    assert choose(every, ["none-such"], spark=False) == []
    assert {one.name for one in choose(every, [], spark=True)} - {
        one.name for one in choose(every, [], spark=False)
    } == {
        "spark-scan",
        "spark-parquet",
    }


def test_ratio_is_of_medians():
    [figure] = Ratio("kcli", "tool", Target(2)).figures(
        taken(kcli=(9.0, 1.0, 2.0), tool=(5.0, 6.0, 1.0)), "work", []
    )
    assert (figure.value, figure.ours, figure.base, figure.met) == (2.5, 2.0, 5.0, True)
    [share] = Ratio("kcli", "tool", Target(0.3, at_least=False), share=True).figures(
        taken(kcli=2.0, tool=5.0), "work", []
    )
    assert (share.value, share.met) == (0.4, False)


@pytest.mark.parametrize(
    ("target", "value", "met"),
    [(Target(2), 2, True), (Target(2), 1.99, False), (Target(2, at_least=False), 2.01, False)],
)
def test_target(target, value, met):
    assert Figure("w", value, "x", target).met is met


def test_figure_without_a_number_or_a_target_is_neither_met_nor_missed():
    assert Figure("w", None, "x", Target(2)).met is None
    assert Figure("w", 1.0, "x").met is None


@pytest.mark.parametrize(
    ("ours", "hangs"),
    [((1.0, 1.1, 1.2), False), ((2.0, 2.1, 9.0), False), ((1.0, 1.4, 1.7), True), ((1.4, 1.6, 1.7), True)],
    ids=["all meet it", "all miss it", "met but for a run", "missed but for a run"],
)
def test_a_target_may_hang_on_a_run(ours, hangs):
    measured = taken(kcli=ours, tool=(3.0, 3.0, 3.0))
    ratio = Ratio("kcli", "tool", Target(2))
    assert hangs_on_a_run(measured, lambda some: ratio.figures(some, "work", [])) is hangs
    assert not hangs_on_a_run(measured, lambda some: ratio._replace(target=None).figures(some, "work", []))


def test_together_is_the_part_of_what_two_runs_at_once_do():
    [figure] = Together("kcli --jobs 2", "twice").figures(
        taken(**{"kcli --jobs 2": 4.0, "twice": (6.0, 9.0, 5.0)}), "work", []
    )
    assert (figure.work, figure.value, figure.ours, figure.base, figure.met) == (
        "work, --jobs 2",
        0.75,
        4.0,
        3.0,
        None,
    )


def test_slopes_leave_the_start_out():
    sizes = [FACTS._replace(bytes=10**9), FACTS._replace(bytes=3 * 10**9)]
    [figure] = Slopes(("a", "b"), ("c", "d"), "byte", Target(1.6)).figures(
        taken(a=11.0, b=12.0, c=1.0, d=5.0), "w", sizes
    )
    assert (figure.value, figure.ours, figure.base, figure.met) == (
        pytest.approx(4.0),
        pytest.approx(1.0),
        pytest.approx(4.0),
        True,
    )
    assert figure.note == "2.00 GB/s against 0.50 GB/s; fixed cost 10.50 s against -1.00 s"


@pytest.mark.parametrize(
    "seconds", [{"a": 2.0, "b": 2.0, "c": 1.0, "d": 2.0}, {"a": 1.0, "b": 2.0, "c": 2.0, "d": 1.0}]
)
def test_slope_that_does_not_rise_is_no_number(seconds):
    sizes = [FACTS, FACTS._replace(bytes=2000)]
    [figure] = Slopes(("a", "b"), ("c", "d"), "byte", Target(1.6)).figures(taken(**seconds), "w", sizes)
    assert (figure.value, figure.ours, figure.met) == (None, None, None)


def test_growth_compares_the_second_slope_with_the_first():
    sizes = [FACTS._replace(records=n) for n in (100, 400, 1600)]
    cost, memory_ = Growth(("1x", "4x", "16x"), "record").figures(
        taken(**{"1x": 1.5, "4x": 3.0, "16x": 15.0}), "w", sizes
    )
    assert (cost.value, cost.met) == (pytest.approx(2.0), False)
    assert cost.note == "1.50, 3.00, 15.00 s; start 1.00 s, then 9000.00 us per record"
    assert (memory_.value, memory_.met) == (1.0, True)
    linear, _ = Growth(("1x", "4x", "16x"), "record").figures(
        taken(**{"1x": 1.1, "4x": 1.4, "16x": 2.6}), "w", sizes
    )
    assert (linear.value, linear.met) == (pytest.approx(1.0), True)
    [flat] = Growth(("1x", "4x", "16x"), "record").figures(
        taken(**{"1x": 1.1, "4x": 1.0, "16x": 2.6}), "w", sizes
    )
    assert flat.value is None


def test_line_and_units():
    assert line((1, 3.0), (3, 7.0)) == (1.0, 2.0)
    assert (per_unit(1e-9, "byte"), per_unit(2e-6, "batch")) == ("1.00 GB/s", "2.00 us per batch")


def test_memory_is_of_the_largest_of_our_processes_alone():
    measured = {
        "kcli": Measured((), {"python": 150_000_000, "java": 900_000_000}),
        "tool": Measured((), {"python": 300_000_000}),
    }
    assert (memory(measured, {"kcli"}).value, memory(measured, {"kcli"}).met) == (150.0, True)
    assert memory(measured, {"kcli", "tool"}).met is False


def python(text):
    return [sys.executable, "-c", text]


def test_a_run_costs_time_and_memory(tmp_path):
    small = run(python("import time; print('out'); time.sleep(0.3)"), tmp_path / "out", watch=True)
    assert (tmp_path / "out").read_text() == "out\n"
    large = run(
        python("b = bytearray(b'x') * 100_000_000; import time; time.sleep(0.5)"),
        tmp_path / "out",
        watch=True,
    )
    assert large.wall >= 0.5
    assert large.largest >= 100_000_000
    assert large.watched["python"] >= 100_000_000 > small.watched["python"] > 1_000_000
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_memory_of_workers_is_watched(tmp_path):
    worker = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', \"b = bytearray(b'x') * 90_000_000; "
        'import time; time.sleep(0.5)"])'
    )
    assert run(python(worker), tmp_path / "out", watch=True).watched["python"] >= 90_000_000


def test_a_run_that_fails_says_why(tmp_path):
    with pytest.raises(Failed, match="ended with 3: no such thing"):
        run(python("import sys; print('no such thing', file=sys.stderr); sys.exit(3)"), tmp_path / "out")


def test_a_run_waits_for_what_it_left(tmp_path):
    left = "import os, time\nif not os.fork():\n    time.sleep(0.3)"
    start = time.monotonic()
    run(python(left), tmp_path / "out")
    assert time.monotonic() - start >= 0.3


def test_runs_alternate_answers_are_kept_once(tmp_path):
    order = tmp_path / "order"
    commands = {
        key: lambda out, key=key: python(
            f"open({str(order)!r}, 'a').write({key!r}); open({str(out)!r}, 'w'); print({key!r})"
        )
        for key in "ab"
    }
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    seen = []
    measured = alternate(
        commands,
        2,
        scratch,
        lambda outputs: seen.extend((outputs[k].read_text(), aside(outputs[k]).exists()) for k in "ab"),
    )
    assert order.read_text() == "ababab"
    assert seen == [("a\n", True), ("b\n", True)]
    assert [len(measured[key].runs) for key in "ab"] == [2, 2]
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("undecided", [True, False])
def test_undecided_runs_go_on_to_three_times_as_many(tmp_path, undecided):
    seen = []
    measured = alternate(
        {key: lambda out: python("") for key in "ab"},
        2,
        tmp_path,
        lambda outputs: None,
        lambda taken: seen.append([len(taken[key].runs) for key in "ab"]) or undecided,
    )
    assert seen == [[2, 2]]
    assert [len(measured[key].runs) for key in "ab"] == ([6, 6] if undecided else [2, 2])


def test_files_of_inputs_are_read_before_each_measured_run(tmp_path):
    size, folder = 32 << 20, tmp_path / "input" / "t-0"
    folder.mkdir(parents=True)
    with (folder / "0.log").open("wb") as file:
        file.truncate(size)

    before = bytes_read()
    alternate({key: lambda out: python("") for key in "ab"}, 2, tmp_path, lambda outputs: None)
    without = bytes_read()
    alternate(
        {key: lambda out: python("") for key in "ab"},
        2,
        tmp_path,
        lambda outputs: None,
        inputs=[folder.parent],
    )

    assert (without - before) // size == 0
    assert (bytes_read() - without) // size == 4


def bytes_read():
    """Return what this process and the children that it waited for have read so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


def test_peaks_the_kernel_counted_are_used_where_all_processes_are_of_a_kind():
    assert peaks("python", Run(1, 1, 70, {"python": 50}), [Run(1, 1, 80, {})]) == {"python": 80}
    assert peaks("python", Run(1, 1, 70, {}), []) == {"python": 70}
    assert peaks("python", Run(1, 1, 900, {"python": 50, "java": 880}), [Run(1, 1, 950, {})]) == {
        "python": 50,
        "java": 880,
    }


def test_spread_is_a_part_of_the_median():
    assert taken(a=(1.0, 2.0, 4.0))["a"].spread == 1.5


@pytest.mark.parametrize(
    ("name", "kind"),
    [("/usr/bin/python3.11", "python"), ("kcli", "python"), ("/opt/jdk/bin/java", "java"), ("bash", "other")],
)
def test_kind_of_a_program(name, kind):
    assert kind_of(name) == kind


def test_texts_of_proc():
    assert session_of("12 (a) b (c) S 1 12 77 0") == 77
    assert high_water("Name:\tx\nVmHWM:\t  2048 kB\n") == 2 << 20
    with pytest.raises(ValueError, match="no VmHWM"):
        high_water("Name:\tx\n")
    assert busy_and_total("cpu  10 1 5 100 20 2 3 4 0 0\ncpu0 1\n") == (25, 145)
    assert cpu_model("processor: 0\nmodel name\t: Some CPU\n") == "Some CPU"
    assert cpu_model("processor: 0\n") == ""
    assert os.getpid() in members(os.getsid(0))


def test_load_is_held_against_the_cores():
    assert [too_busy(load, 2) for load in (1.0, 1.01)] == [False, True]
    assert 0.0 <= Quiet().foreign_share() <= 1.0


def test_rate_is_bytes_a_second():
    assert 0 < rate(lambda: time.sleep(0.01) or 1000, 0.05) <= 100_000


def test_outputs_are_compared_to_the_byte(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"x" * (1 << 20) + b"abc")
    other.write_bytes(b"x" * (1 << 20) + b"abd")
    assert same(one, other, ("a", "b")) == ["a and b differ from byte 1048578 on"]
    other.write_bytes(b"x" * 7)
    assert same(one, other, ("a", "b")) == ["a and b differ from byte 7 on"]
    other.write_bytes(one.read_bytes())
    assert same(one, other, ("a", "b")) == []
    for path in (one, other):
        path.write_bytes(b"")
    assert same(one, other, ("a", "b")) == ["a and b printed nothing"]


def test_marks_are_counted_over_pieces(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"0123456789\n" * 200_000)
    assert counted(path, b"789", 200_000, "marks") == counted(path, b"\n", 200_000, "lines") == []
    assert counted(path, b"789", 1, "marks") == ["marks: 200000, not 1"]
    path.write_bytes(b"789")
    assert counted(path, b"789", 1, "marks") == []


def test_scan_is_held_against_the_facts(tmp_path, kcli):
    made = make(tmp_path, Spec("tiny", 4000))
    output = tmp_path / "out"
    output.write_text(kcli("scan", "-o", "ndjson", made.log).stdout)
    assert scanned(output, made.facts, "kcli") == []
    assert scanned(output, made.facts._replace(records=7), "kcli") == [
        f"kcli: records is {made.facts.records}, not 7"
    ]
    output.write_text("")
    assert scanned(output, made.facts, "kcli") == ["kcli printed no row of a partition"]


def result(**more):
    measured = taken(kcli=(1.0, 1.0), tool=(3.0, 3.0))
    figures = tuple(Ratio("kcli", "tool", Target(bound)).figures(measured, "scan", [])[0] for bound in (2, 4))
    return Result("scan-big", figures, measured, **{"wrong": (), **more})


def test_table_says_what_is_met_wrong_and_noisy():
    text = table(result(wrong=("kcli and tool differ",), foreign=0.4))
    assert text.splitlines()[0] == "scan-big, runs: 2"
    first, second = text.splitlines()[1:3]
    assert first.split()[:6] == ["scan", "1.000", "s", "3.000", "s", "tool"]
    assert "3.00 x as fast" in first
    assert " met" in first
    assert " MISSED" in second
    assert "WRONG: kcli and tool differ" in text
    assert "noisy: others used 40% of the cores" in text
    assert "noisy" not in table(result())


def test_summary_and_json():
    assert summary([result()]) == "1 of 2 targets met; every answer right"
    assert summary([unjudged(result())]) == "no targets judged; every answer right"
    assert summary([result(wrong=("x",))]) == "1 of 2 targets met; wrong or failed: scan-big"
    answer = json.loads(json.dumps(as_json([result()], {"CPU": "x"}, {"CRC-32C": 1.0}, 2)))
    assert answer["lines"][0]["figures"][0]["value"] == 3.0
    assert answer["lines"][0]["figures"][1]["met"] is False
    assert answer["lines"][0]["commands"]["tool"]["seconds"] == [3.0, 3.0]


def test_segments_that_are_left_of_lives(kcli, tmp_path):
    made = make(tmp_path, Spec("lives.zstd", 2 * ALIVE + 6))
    rows = kcli("rlmm", "state", made.folder, "-o", "ndjson").stdout.splitlines()

    assert [alive(events) for events in (1, 2, 3, 2 * ALIVE + 1, 2 * ALIVE + 4)] == [
        1,
        1,
        2,
        ALIVE + 1,
        ALIVE,
    ]
    assert len(rows) == alive(made.facts.records) == ALIVE + 1
    assert {batch.records_count for _, batch in batches(made.log.read_bytes())} == {50, 6}
