"""The table that people read, and the JSON that programs read."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.bench.figures import Figure
from tests.bench.process import JAVA, PYTHON, QUIET_SHARE, Measured

SPREAD = 0.3
HEAD = ("work", "kcli", "other", "against", "ratio", "target", "", "kcli RSS", "JVM RSS")
FORM = "{:<66} {:>9} {:>9}  {:<16} {:>22}  {:>8} {:<6} {:>9} {:>9}"


class Result(NamedTuple):
    """What became of a line: its figures, what its commands cost, what was wrong, the part of the cores that
    others used."""

    name: str
    figures: tuple[Figure, ...]
    taken: Mapping[str, Measured]
    wrong: tuple[str, ...]
    foreign: float = 0.0

    @property
    def noise(self) -> list[str]:
        """Why its numbers are not to be trusted."""
        busy = [f"others used {self.foreign:.0%} of the cores"] if self.foreign > QUIET_SHARE else []
        return busy + [
            f"runs of {key} spread by {one.spread:.0%}"
            for key, one in self.taken.items()
            if one.spread > SPREAD
        ]


def head() -> str:
    return FORM.format(*HEAD)


def table(result: Result) -> str:
    """Return the rows of a line, and under them what is to be known about it."""
    rows = [row(figure, result.taken, first=not number) for number, figure in enumerate(result.figures)]
    rows += [f"    {figure.note}" for figure in result.figures if figure.note]
    rows += [f"    WRONG: {wrong}" for wrong in result.wrong]
    rows += [f"    noisy: {noise}" for noise in result.noise]
    runs = max((len(one.runs) for one in result.taken.values()), default=0)
    return "\n".join([f"{result.name}, runs: {runs}", *rows])


def row(figure: Figure, taken: Mapping[str, Measured], *, first: bool) -> str:
    """Return a figure as a row; memory is with the first of a line."""
    java = max((one.peaks.get(JAVA, 0) for one in taken.values()), default=0)
    python = max((one.peaks.get(PYTHON, 0) for one in taken.values()), default=0)
    value = "-" if figure.value is None else f"{figure.value:.2f} {figure.unit}"
    return FORM.format(
        "  " + figure.work,
        seconds(figure.ours),
        seconds(figure.base),
        figure.against,
        value,
        str(figure.target or ""),
        verdict(figure),
        megabytes(python) if first else "",
        megabytes(java) if first else "",
    ).rstrip()


def verdict(figure: Figure) -> str:
    return "" if figure.target is None else {True: "met", False: "MISSED", None: "?"}[figure.met]


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3f} s"


def megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB" if size else ""


def summary(results: Sequence[Result]) -> str:
    """Return one line: how many targets are met, which lines are wrong."""
    judged = [figure.met for result in results for figure in result.figures if figure.target is not None]
    wrong = [result.name for result in results if result.wrong]
    answer = f"{judged.count(True)} of {len(judged)} targets met" if judged else "no targets judged"
    return answer + (f"; wrong or failed: {', '.join(wrong)}" if wrong else "; every answer right")


def as_json(
    results: Sequence[Result], machine: Mapping[str, str], limits: Mapping[str, float], runs: int
) -> dict:
    """Return everything, every run's seconds included; sizes in bytes."""
    return {
        "machine": dict(machine),
        "bytes_per_second": dict(limits),
        "runs": runs,
        "lines": [
            {
                "name": result.name,
                "figures": [
                    {
                        **figure._asdict(),
                        "target": str(figure.target) if figure.target else None,
                        "met": figure.met,
                    }
                    for figure in result.figures
                ],
                "commands": {
                    key: {
                        "median_seconds": one.seconds,
                        "cpu_seconds": one.cpu,
                        "seconds": [run.wall for run in one.runs],
                        "peak_bytes": dict(one.peaks),
                    }
                    for key, one in result.taken.items()
                },
                "wrong": list(result.wrong),
                "noise": result.noise,
                "foreign_share": result.foreign,
            }
            for result in results
        ],
    }
