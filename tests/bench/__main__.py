"""Measures kcli beside DumpLogSegments: `make bench`, or `python -m tests.bench scan-tiny 'growth-*'`."""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from tests.bench.inputs import Made, Spec, load
from tests.bench.lines import QUICK, SPARK, TOOL, Line, lines
from tests.bench.measure import Failed, Figure, Measured, Target, alternate
from tests.oracle.oracle import build

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED_MEMORY = Path("/dev/shm")
MOST_MEGABYTES = 200
ROOM = 4 << 30
"""Bytes for the outputs of a line; a disk would write them when it likes."""
FORM = "  {:<58} {:>9} {:>9} {:>22}  {:>8} {:<6}"


class Result(NamedTuple):
    """What became of a line: its figures, what its commands cost, and what was wrong."""

    name: str
    work: str
    figures: Sequence[Figure] = ()
    taken: Mapping[str, Measured] = {}
    wrong: Sequence[str] = ()


def main() -> int:
    """Measure what is asked for; return 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("lines", nargs="*", metavar="LINE", help="names of lines, or patterns; else all")
    parser.add_argument("--list", action="store_true", help="print the names of the lines")
    parser.add_argument("--quick", action="store_true", help="small inputs, one run: shows that all works")
    parser.add_argument("--spark", action="store_true", help="measure Spark too")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep inputs here (else: removed)")
    arguments = parser.parse_args()
    chosen = choose(lines(QUICK if arguments.quick else 1), arguments.lines, spark=arguments.spark)
    if arguments.list:
        print("\n".join(f"{line.name:28} {line.work}" for line in chosen))
        return 0
    memory_ = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free >= ROOM
    with (
        tempfile.TemporaryDirectory(prefix="kcli-bench-") as temporary,
        tempfile.TemporaryDirectory(prefix="kcli-bench-", dir=SHARED_MEMORY if memory_ else None) as scratch,
    ):
        cache = arguments.cache or Path(temporary)
        programs = {
            "kcli": [str(Path(sys.executable).parent / "kcli")],
            TOOL: ["java", "-cp", build(), "org.apache.kafka.tools.DumpLogSegments", "--files"],
        }
        print(f"{os.cpu_count()} cores, {platform.platform()}, load {os.getloadavg()[0]:.2f}")
        print(FORM.format("", "kcli", "other", "", "target", ""))
        results = []
        for line in chosen:
            most = 1 if arguments.quick else line.most
            results.append(measure(line, programs, cache, Path(scratch), most))
            print(table(results[-1]), flush=True)
    print(summary(results))
    return int(any(result.wrong for result in results))


def choose(every: Sequence[Line], names: Sequence[str], *, spark: bool) -> list[Line]:
    """Return the lines of these names or patterns; without names all, those of Spark on request."""
    if names:
        return [line for line in every if any(fnmatch(line.name, name) for name in names)]
    return [line for line in every if spark or not line.spark]


def measure(line: Line, programs: Mapping[str, list[str]], cache: Path, scratch: Path, most: int) -> Result:
    """Make a line's inputs if need be, run its commands, compare their answers, work out its figures."""
    wrong: list[str] = []
    made = inputs(cache, line.inputs)
    words = dict(programs)
    for number, log in enumerate(made):
        words |= {f"DIR{number}": [str(log.folder)], f"LOG{number}": [str(log.log)]}
        words |= {f"INDEX{number}": [str(log.log.with_suffix(".index"))]}
    commands = {
        key: [part for word in command.split() for part in words.get(word, [word])]
        for key, command in line.commands.items()
    }
    try:
        taken = alternate(commands, most, scratch, lambda outputs: wrong.extend(line.check(outputs, made)))
    except Failed as error:
        return Result(line.name, line.work, wrong=[*wrong, str(error)])
    facts = [log.facts for log in made]
    figures = [figure for rule in line.figures for figure in rule(taken, facts)]
    peak = max((figure.peak for key, figure in taken.items() if not key.startswith((TOOL, SPARK))), default=0)
    figures.append(Figure("largest process", peak / 1e6, "MB", Target(MOST_MEGABYTES, at_least=False)))
    return Result(line.name, line.work, figures, taken, wrong)


def inputs(cache: Path, specs: Sequence[Spec]) -> list[Made]:
    """Return inputs that another process made: the kernel counts this one's memory as its children's."""
    missing = [str(spec) for spec in dict.fromkeys(specs) if load(cache, spec) is None]
    if missing:
        line = [sys.executable, "-m", "tests.bench.inputs", cache, *missing]
        subprocess.run(line, cwd=REPOSITORY, check=True)
    return [made for spec in specs if (made := load(cache, spec))]


def table(result: Result) -> str:
    """Return the rows of a line, and under them what is to be known about it."""
    runs = max((len(figure.runs) for figure in result.taken.values()), default=0)
    rows = [f"{result.name}: {result.work}, {runs} runs"]
    for figure in result.figures:
        seconds = ["" if seconds is None else f"{seconds:.3f} s" for seconds in (figure.ours, figure.base)]
        value = "-" if figure.value is None else f"{figure.value:.2f} {figure.unit}"
        target = "" if figure.target is None else str(figure.target)
        rows.append(FORM.format(figure.name, *seconds, value, target, verdict(figure)).rstrip())
        rows += [f"    {figure.note}"] * bool(figure.note)
    return "\n".join([*rows, *(f"    WRONG: {wrong}" for wrong in result.wrong)])


def verdict(figure: Figure) -> str:
    met = None if figure.target is None else figure.target.is_met(figure.value)
    return "" if figure.target is None else {True: "met", False: "MISSED", None: "?"}[met]


def summary(results: Sequence[Result]) -> str:
    """Return one line: how many targets are met, which lines are wrong."""
    verdicts = [verdict(figure) for result in results for figure in result.figures if figure.target]
    wrong = ", ".join(result.name for result in results if result.wrong)
    answers = f"wrong or failed: {wrong}" if wrong else "every answer right"
    return f"{verdicts.count('met')} of {len(verdicts)} targets met; {answers}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
