"""The figures of the measuring are worked out right."""

import pytest

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
from tests.bench.process import (
    Measured,
)
from tests.measurements import FACTS, taken

pytestmark = pytest.mark.slow


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
