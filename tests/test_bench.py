"""The measuring itself: its figures, how answers are compared, and two lines measured small."""

import sys
from pathlib import Path

import pytest

from tests.bench.__main__ import choose, measure, summary, table
from tests.bench.inputs import Facts
from tests.bench.lines import lines
from tests.bench.measure import Failed, Measured, counted, growth, ratio, run, same, slopes

FACTS = [Facts(1000 * size, 10 * size, 100 * size) for size in (1, 4, 16)]


def taken(**seconds):
    return {
        key: Measured(tuple(runs) if isinstance(runs, tuple) else (runs,), 7) for key, runs in seconds.items()
    }


def test_ratios_are_of_medians_slopes_leave_the_start_out_and_growth_compares_slopes():
    [faster] = ratio("kcli", "tool", 2)(taken(kcli=(9.0, 1.0, 2.0), tool=(5.0, 6.0, 1.0)), FACTS)
    [slope] = slopes("a", "b", "2", "bytes", 1.6)(taken(a=11.0, a2=12.0, b=1.0, b2=5.0), FACTS[:2])
    [flat] = slopes("a", "b", "2", "bytes")(taken(a=2.0, a2=2.0, b=1.0, b2=2.0), FACTS[:2])
    cost, peak = growth("xyz", "records")(taken(x=1.5, y=3.0, z=15.0), FACTS)

    assert (faster.value, faster.ours, faster.base) == (2.5, 2.0, 5.0)
    assert (slope.value, flat.value) == (pytest.approx(4.0), None)
    assert (cost.value, cost.target.is_met(cost.value), peak.value) == (pytest.approx(2.0), False, 1)


def test_outputs_are_compared_to_the_byte_and_marks_counted_over_pieces(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"0123456789\n" * 200_000)
    other.write_bytes(one.read_bytes())
    assert same(one, other, "a and b") == counted(one, b"789", 200_000, "a") == []
    other.write_bytes(one.read_bytes()[:-1] + b"x")
    assert len(same(one, other, "a and b")) == len(counted(one, b"789", 1, "a")) == 1


def test_a_run_that_fails_says_why(tmp_path):
    with pytest.raises(Failed, match="ended with 3: no such thing"):
        run(
            [sys.executable, "-c", "import sys; print('no such thing', file=sys.stderr); sys.exit(3)"],
            tmp_path / "o",
        )


@pytest.mark.slow
def test_lines_are_measured_and_wrong_answers_are_found(tmp_path):
    (tmp_path / "scratch").mkdir()
    programs = {"kcli": [str(Path(sys.executable).parent / "kcli")]}
    chosen = choose(lines(4096), ["growth-batches", "growth-lives"], spark=False)
    results = [measure(line, programs, tmp_path, tmp_path / "scratch", 1) for line in chosen]

    assert [result.wrong for result in results] == [[], []]
    assert len({line.name for line in lines()}) == len(lines())
    assert summary(results).endswith("every answer right")
    assert summary([results[0]._replace(wrong=["x"])]).endswith("wrong or failed: growth-batches")
    assert "WRONG: x" in table(results[0]._replace(wrong=["x"]))
