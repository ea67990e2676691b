"""What runs of commands cost, and the figures that follow: ratios, slopes and growth, with their targets."""

import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.inputs import Facts

LEAST_RUNS, STEADY = 2, 0.05
"""Measured runs after which a line may end, and the spread of its commands' runs that ends it."""
SAME_PEAK, SAME_COST = 1.3, 1.25
"""Growth that still counts as flat, of peak memory from 4x to 16x, and of the cost of a unit."""
PIECE = 1 << 20


class Failed(Exception):
    """A command ended otherwise than it should."""


class Measured(NamedTuple):
    """What the runs of a command cost: seconds of each, and the bytes of its largest process."""

    runs: tuple[float, ...]
    peak: int

    @property
    def seconds(self) -> float:
        return statistics.median(self.runs)

    @property
    def spread(self) -> float:
        """The slowest run beyond the fastest, as a part of the median."""
        return (max(self.runs) - min(self.runs)) / self.seconds


def run(argv: Sequence[str], output: Path) -> tuple[float, int]:
    """Run a command, stdout into a file; return seconds, and peak bytes of its largest process."""
    errors = output.with_name("stderr")
    with output.open("wb") as stdout, errors.open("wb") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(f"{Path(argv[0]).name} ended with {process.returncode}: {errors.read_text()[-400:]}")
    return seconds, usage.ru_maxrss * 1024


def alternate(
    commands: Mapping[str, Sequence[str]], most: int, scratch: Path, check: Callable[[dict[str, Path]], None]
) -> dict[str, Measured]:
    """Run commands in turn: once for `check`, then until times are steady; OUT is a file of one command."""
    outputs = {key: scratch / f"{number}" for number, key in enumerate(commands)}
    argvs = {
        key: [word.replace("OUT", f"{outputs[key]}.parquet") for word in commands[key]] for key in commands
    }
    peaks = {key: run(argv, outputs[key])[1] for key, argv in argvs.items()}
    check(outputs)
    taken: dict[str, list[float]] = {key: [] for key in argvs}
    for number in range(most):
        for key, argv in argvs.items():
            for path in scratch.glob(f"{outputs[key].name}*"):  # else a run waits until it reaches the disk
                path.unlink()
            seconds, peak = run(argv, outputs[key])
            taken[key].append(seconds)
            peaks[key] = max(peaks[key], peak)
        measured = {key: Measured(tuple(runs), peaks[key]) for key, runs in taken.items()}
        if number + 1 >= LEAST_RUNS and all(figure.spread <= STEADY for figure in measured.values()):
            break
    for path in scratch.iterdir():
        path.unlink()
    return measured


class Target(NamedTuple):
    """A bound on a figure: at least, or at most."""

    bound: float
    at_least: bool = True

    def is_met(self, value: float | None) -> bool | None:
        """Return whether a value meets it; None where there is no value."""
        return None if value is None else value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g}"


class Figure(NamedTuple):
    """A number about the work; None where the runs do not allow one. `ours` and `base` are seconds."""

    name: str
    value: float | None
    unit: str
    target: Target | None = None
    ours: float | None = None
    base: float | None = None
    note: str = ""


Taken = Mapping[str, Measured]
Rule = Callable[[Taken, Sequence[Facts]], list[Figure]]
"""Works figures out from what the commands of a line cost, and from its inputs."""


def ratio(ours: str, base: str, target: float | None = None) -> Rule:
    """How many times faster a command is than another one."""

    def figures(taken: Taken, _: Sequence[Facts]) -> list[Figure]:
        mine, other = taken[ours].seconds, taken[base].seconds
        bound = None if target is None else Target(target)
        return [Figure(f"{ours} against {base}", other / mine, "x as fast", bound, mine, other)]

    return figures


def within(key: str, seconds: float) -> Rule:
    """How long a command takes that reads the last input, at most so many seconds."""

    def figures(taken: Taken, facts: Sequence[Facts]) -> list[Figure]:
        note = per_unit(taken[key].seconds / facts[-1].records, "records")
        return [Figure(key, taken[key].seconds, "s", Target(seconds, at_least=False), note=note)]

    return figures


def slopes(ours: str, base: str, large: str, unit: str, target: float | None = None) -> Rule:
    """How the cost of more input compares, without start-up; `large` ends the names on a larger input."""

    def figures(taken: Taken, facts: Sequence[Facts]) -> list[Figure]:
        small, more = (getattr(fact, unit) for fact in facts)
        points = [((small, taken[key].seconds), (more, taken[key + large].seconds)) for key in (ours, base)]
        (start, mine), (base_start, other) = (line(*pair) for pair in points)
        value = other / mine if mine > 0 and other > 0 else None
        note = f"fixed cost {start:.2f} s against {base_start:.2f} s"
        if value is not None:
            note = f"{per_unit(mine, unit)} against {per_unit(other, unit)}; {note}"
        bound = None if target is None else Target(target)
        scale = more - small
        name = f"{ours} against {base}"
        return [Figure(name, value, "x the slope", bound, mine * scale, other * scale, note)]

    return figures


def growth(keys: Sequence[str], unit: str) -> Rule:
    """Whether the cost of a unit stays the same from 1x to 4x to 16x: the second slope against the first."""

    def figures(taken: Taken, facts: Sequence[Facts]) -> list[Figure]:
        points = [(getattr(fact, unit), taken[key].seconds) for key, fact in zip(keys, facts, strict=True)]
        (start, first), (_, second), (_, overall) = (
            line(points[one], points[other]) for one, other in ((0, 1), (1, 2), (0, 2))
        )
        value = second / first if first > 0 and second > 0 else None
        note = ", ".join(f"{seconds:.2f}" for _, seconds in points)
        note += f" s; start {start:.2f} s, then {per_unit(overall, unit)}" if overall > 0 else " s"
        peak = taken[keys[2]].peak / taken[keys[1]].peak
        return [
            Figure("16x against 4x", value, "x a unit's cost", Target(SAME_COST, at_least=False), note=note),
            Figure("peak memory, 16x against 4x", peak, "x", Target(SAME_PEAK, at_least=False)),
        ]

    return figures


def line(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return (where it begins, how it rises) of the line through two points (amount, seconds)."""
    rise = (other[1] - one[1]) / (other[0] - one[0])
    return one[1] - rise * one[0], rise


def per_unit(seconds: float, unit: str) -> str:
    """Return a cost as a person reads it: bytes as throughput, other units as time of each."""
    return f"{1e-9 / seconds:.2f} GB/s" if unit == "bytes" else f"{seconds * 1e6:.2f} us each of {unit}"


def same(one: Path, other: Path, names: str) -> list[str]:
    """Check that two outputs are equal, byte for byte, and something."""
    at = 0
    with one.open("rb") as first, other.open("rb") as second:
        while (left := first.read(PIECE)) == (right := second.read(PIECE)):
            if not left:
                return [] if at else [f"{names} printed nothing"]
            at += len(left)
    return [f"{names} differ within {PIECE} bytes from {at} on ({len(left)} and {len(right)} bytes there)"]


def occurrences(output: Path, mark: bytes) -> int:
    """Return how often a mark within a line, or a line's end, occurs in an output."""
    found, rest = 0, b""
    with output.open("rb") as file:
        while piece := file.read(PIECE):
            whole, end, rest = (rest + piece).rpartition(b"\n")
            found += (whole + end).count(mark)
    return found + rest.count(mark)


def counted(output: Path, mark: bytes, expected: int, name: str) -> list[str]:
    """Check how often a mark occurs in an output."""
    found = occurrences(output, mark)
    return [] if found == expected else [f"{name}: {mark.decode()!r} occurs {found} times, not {expected}"]
