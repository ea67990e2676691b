"""What is reported of a line: ratios, slopes and growth, each with its target. Arithmetic alone."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tests.bench.inputs import Facts
from tests.bench.process import PYTHON, Measured

MEMORY_BYTES = 200_000_000
SAME_PEAK = 1.3
"""Growth of peak memory, from 4x to 16x the input, that still counts as flat.

At 1x buffers may not be full yet.
"""
SAME_COST = 1.25
"""Growth of the cost of a unit that still counts as linear: noise of two slopes is in it."""


class Target(NamedTuple):
    """A bound on a figure: at least, or at most."""

    bound: float
    at_least: bool = True

    def met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g}"


class Figure(NamedTuple):
    """A number about the work; None where the runs do not allow one. `ours` and `base` are seconds."""

    work: str
    value: float | None
    unit: str
    target: Target | None = None
    ours: float | None = None
    base: float | None = None
    against: str = ""
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is no target, or no number to compare with it."""
        return None if self.target is None or self.value is None else self.target.met(self.value)


class Ratio(NamedTuple):
    """How many times faster `ours` is than `base`; a `share` is the other way round: our part of its time."""

    ours: str
    base: str
    target: Target | None = None
    share: bool = False

    def figures(self, taken: Mapping[str, Measured], work: str, facts: Sequence[Facts]) -> list[Figure]:
        ours, base = taken[self.ours].seconds, taken[self.base].seconds
        value = ours / base if self.share else base / ours
        return [
            Figure(
                _of(work, self.ours),
                value,
                "of its time" if self.share else "x as fast",
                self.target,
                ours,
                base,
                self.base,
            )
        ]


class Together(NamedTuple):
    """How much of what the machine gives `ours` takes.

    `both` are two runs at once of the work that one process does alone.
    """

    ours: str
    both: str

    def figures(self, taken: Mapping[str, Measured], work: str, facts: Sequence[Facts]) -> list[Figure]:
        ours, both = taken[self.ours].seconds, taken[self.both].seconds
        return [
            Figure(
                _of(work, self.ours),
                both / (2 * ours),
                "of what two runs at once do",
                None,
                ours,
                both / 2,
                self.both,
            )
        ]


class Slopes(NamedTuple):
    """How the cost of more input compares.

    (small, large) of ours and of the base, start-up left out and given in the note.
    """

    ours: tuple[str, str]
    base: tuple[str, str]
    unit: str
    target: Target | None = None

    def figures(self, taken: Mapping[str, Measured], work: str, facts: Sequence[Facts]) -> list[Figure]:
        small, large = (amount(size, self.unit) for size in facts)
        (fixed, ours), (base_fixed, base) = (
            line((small, taken[pair[0]].seconds), (large, taken[pair[1]].seconds))
            for pair in (self.ours, self.base)
        )
        value = base / ours if ours > 0 and base > 0 else None
        if value is None:
            return [
                Figure(
                    _of(work, self.ours[0]),
                    None,
                    "x the slope",
                    self.target,
                    note="too fast to tell: larger inputs (--full)",
                )
            ]
        each = f"{per_unit(ours, self.unit)} against {per_unit(base, self.unit)}"
        note = f"{each}; fixed cost {fixed:.2f} s against {base_fixed:.2f} s"
        more = large - small
        return [
            Figure(
                _of(work, self.ours[0]),
                value,
                "x the slope",
                self.target,
                ours * more,
                base * more,
                self.base[0],
                note,
            )
        ]


class Growth(NamedTuple):
    """Whether the cost of a unit stays the same from 1x to 4x to 16x: the second slope against the first."""

    keys: tuple[str, str, str]
    unit: str

    def figures(self, taken: Mapping[str, Measured], work: str, facts: Sequence[Facts]) -> list[Figure]:
        points = [
            (amount(size, self.unit), taken[key].seconds) for key, size in zip(self.keys, facts, strict=True)
        ]
        (fixed, first), (_, second) = line(*points[:2]), line(*points[1:])
        seconds = ", ".join(f"{took:.2f}" for _, took in points)
        if first <= 0 or second <= 0:
            return [
                Figure(
                    work,
                    None,
                    "x a unit's cost",
                    Target(SAME_COST, at_least=False),
                    note=f"{seconds} s: too fast to tell",
                )
            ]
        (_, overall) = line(points[0], points[2])
        note = f"{seconds} s; start {fixed:.2f} s, then {per_unit(overall, self.unit)}"
        peaks = [taken[key].peaks.get(PYTHON, 0) for key in self.keys]
        flat = Figure(
            "peak memory, 16x against 4x", peaks[2] / max(peaks[1], 1), "x", Target(SAME_PEAK, at_least=False)
        )
        return [
            Figure(work, second / first, "x a unit's cost", Target(SAME_COST, at_least=False), note=note),
            flat,
        ]


def hangs_on_a_run(
    taken: Mapping[str, Measured], figures: Callable[[Mapping[str, Measured]], Sequence[Figure]]
) -> bool:
    """Return whether a target is met, or missed, only because of one of the runs."""
    rounds = min(len(measured.runs) for measured in taken.values())
    verdicts = {
        tuple(figure.met for figure in figures(some))
        for some in (
            taken,
            *({key: one.without(number) for key, one in taken.items()} for number in range(rounds)),
        )
    }
    return len(verdicts) > 1


def amount(facts: Facts, unit: str) -> int:
    """Return how many units an input has; a partition and an event have a record each."""
    return facts.bytes if unit == "byte" else facts.batches if unit == "batch" else facts.records


def line(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return (where it begins, how it rises) of the line through two points (amount, seconds)."""
    rise = (other[1] - one[1]) / (other[0] - one[0])
    return one[1] - rise * one[0], rise


def per_unit(seconds: float, unit: str) -> str:
    """Return a cost as a person reads it: bytes as throughput, other units as time of each."""
    return f"{1e-9 / seconds:.2f} GB/s" if unit == "byte" else f"{seconds * 1e6:.2f} us per {unit}"


def memory(taken: Mapping[str, Measured], ours: set[str]) -> Figure:
    """Return the largest peak of any of our Python processes, in MB."""
    peak = max((measured.peaks.get(PYTHON, 0) for key, measured in taken.items() if key in ours), default=0)
    return Figure("largest Python process", peak / 1e6, "MB", Target(MEMORY_BYTES / 1e6, at_least=False))


def _of(work: str, key: str) -> str:
    return work if key == "kcli" else f"{work}, {key.removeprefix('kcli ')}"
