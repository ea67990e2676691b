"""The measuring itself: its lines, how answers are compared, what it prints."""

import json
import time

import pytest

from tests.bench.__main__ import choose, unjudged
from tests.bench.checks import counted, same, scanned
from tests.bench.figures import (
    Ratio,
    Target,
)
from tests.bench.inputs import Spec
from tests.bench.lines import FULL, QUICK, USUAL, Programs, lines
from tests.bench.machine import rate
from tests.bench.make import MAKERS, make
from tests.bench.report import Result, as_json, summary, table
from tests.measurements import FACTS, taken

pytestmark = pytest.mark.slow


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
