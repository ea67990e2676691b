"""Measures kcli beside DumpLogSegments: `make bench`, or `python -m tests.bench scan-tiny 'growth-*'`."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from tests.bench.figures import Figure, hangs_on_a_run, memory
from tests.bench.inputs import Made, Spec, load
from tests.bench.lines import FULL, GIB, QUICK, TOOL, USUAL, Line, Programs, Scale, lines
from tests.bench.machine import described, two_at_once
from tests.bench.process import LONGER, Failed, Measured, Quiet, adopt_orphans, alternate, too_busy
from tests.bench.report import Result, as_json, head, summary, table
from tests.oracle.oracle import build

REPOSITORY = Path(__file__).resolve().parents[2]
ROOM = 4 * GIB
"""Bytes of disk that stay free, outputs of a line included."""
MEMORY = Path("/dev/shm")
LARGEST_VERIFY = (2 * GIB, 8 * GIB)


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    words.add_argument(
        "lines",
        nargs="*",
        metavar="LINE",
        help="names of lines, or patterns; else all (those of Spark only with --spark)",
    )
    words.add_argument("--list", action="store_true", help="print the names of the lines")
    words.add_argument(
        "--runs", type=int, metavar="N", help="measured runs of each command (5; 1 with --quick)"
    )
    scale = words.add_mutually_exclusive_group()
    scale.add_argument(
        "--quick", action="store_true", help="small inputs, one run: shows that all works, measures nothing"
    )
    scale.add_argument(
        "--full",
        action="store_true",
        help="1 GiB of tiny batches, 5 M events, 8 GiB verified if there is room",
    )
    words.add_argument("--spark", action="store_true", help="measure Spark too")
    words.add_argument("--anyway", action="store_true", help="measure on a busy machine too")
    words.add_argument(
        "--cache", type=Path, metavar="DIR", help="keep inputs here (else: a temporary directory, removed)"
    )
    words.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write everything to FILE, - for standard output, the table to standard error",
    )
    words.add_argument("--no-bounds", action="store_true", help="leave out what the machine could do at best")
    return words


def main() -> int:
    """Measure what is asked for; 0: every answer is right, 1: one is wrong or failed, 2.

    Nothing was measured.
    """
    given = parser().parse_args()
    scale = QUICK if given.quick else _full(given.cache) if given.full else USUAL
    chosen = choose(lines(scale), given.lines, spark=given.spark)
    if given.list:
        print("\n".join(f"{line.name:28} {line.work}" for line in lines(scale)))
        return 0
    if not chosen:
        print("no line of that name: see --list", file=sys.stderr)
        return 2
    load_average, cores = os.getloadavg()[0], os.cpu_count() or 1
    if too_busy(load_average, cores) and not given.anyway:
        print(
            f"the machine is busy (load {load_average:.2f}, {cores} cores): wait, or --anyway",
            file=sys.stderr,
        )
        return 2
    adopt_orphans()
    talk = sys.stderr if given.json == Path("-") else sys.stdout
    runs = given.runs or (1 if given.quick else 5)
    with (
        tempfile.TemporaryDirectory(prefix="kcli-bench-") as temporary,
        tempfile.TemporaryDirectory(prefix="kcli-bench-", dir=in_memory()) as scratch,
    ):
        cache = given.cache or Path(temporary) / "inputs"
        cache.mkdir(parents=True, exist_ok=True)
        programs = Programs((_kcli(),), ("java", "-cp", build()))
        machine = described() | (
            {} if given.no_bounds else {"two processes do": f"{two_at_once():.2f} times what one does"}
        )
        print(*(f"{name}: {value}" for name, value in machine.items()), sep="; ", file=talk)
        limits = {} if given.no_bounds else _bounds(cache, Path(scratch), scale)
        if limits:
            print(
                "one core at best:",
                "; ".join(f"{what} {rate / 1e9:.2f} GB/s" for what, rate in limits.items()),
                file=talk,
            )
        print(
            f"medians of {runs} alternating runs ({LONGER * runs} where a target hangs on one of them), "
            f"whole processes, outputs in {Path(scratch).parent}; {TOOL} in a JVM of default settings\n"
            f"{head()}",
            file=talk,
        )
        results = []
        for line in chosen:
            result = measure(line, programs, runs, cache, Path(scratch))
            results.append(unjudged(result) if given.quick else result)
            print(table(results[-1]), file=talk, flush=True)
    print(summary(results), file=talk)
    if given.json:
        text = json.dumps(as_json(results, machine, limits, runs), indent=1)
        print(text) if given.json == Path("-") else given.json.write_text(text + "\n")
    return int(any(result.wrong for result in results))


def choose(every: Sequence[Line], names: Sequence[str], *, spark: bool) -> list[Line]:
    """Return the lines asked for by name or pattern, in their own order.

    Without names all, those of Spark on request.
    """
    if names:
        return [line for line in every if any(fnmatch(line.name, name) for name in names)]
    return [line for line in every if spark or not line.spark]


def measure(line: Line, programs: Programs, runs: int, cache: Path, scratch: Path) -> Result:
    """Make a line's inputs if need be, run its commands, compare their answers, work out its figures."""
    wrong: list[str] = []
    made = inputs(cache, line.inputs)
    commands, facts = line.commands(programs, made), [one.facts for one in made]

    def figures(taken: Mapping[str, Measured]) -> list[Figure]:
        return [figure for one in line.figures for figure in one.figures(taken, line.work, facts)]

    quiet = Quiet()
    try:
        taken = alternate(
            commands,
            line.runs(runs),
            scratch,
            lambda outputs: wrong.extend(line.check(made, outputs)),
            lambda taken: runs > 1 and hangs_on_a_run(taken, figures),
            [one.folder for one in made],
        )
    except Failed as error:
        return Result(line.name, (), {}, (*wrong, str(error)), quiet.foreign_share())
    every = (*figures(taken), memory(taken, set(commands) - {TOOL}))
    return Result(line.name, every, taken, tuple(wrong), quiet.foreign_share())


def unjudged(result: Result) -> Result:
    """Return the same without targets: small inputs show start-up, not work."""
    return result._replace(figures=tuple(figure._replace(target=None) for figure in result.figures))


def inputs(cache: Path, specs: Sequence[Spec]) -> list[Made]:
    """Return inputs, those that are missing made by a process of its own: this one must stay small."""
    missing = [spec for spec in dict.fromkeys(specs) if load(cache, spec) is None]
    needed = sum(spec.about for spec in missing)
    if needed and shutil.disk_usage(cache).free < needed + ROOM:
        sys.exit(f"no room for inputs of {needed / GIB:.1f} GiB and outputs in {cache}")
    if missing:
        subprocess.run(
            [sys.executable, "-m", "tests.bench.make", cache, *map(str, missing)], cwd=REPOSITORY, check=True
        )
    return [load(cache, spec) for spec in specs]


def in_memory() -> Path | None:
    """Return a file system in memory with room for outputs: a disk writes them when it likes.

    None where there is none.
    """
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM else None


def _full(cache: Path | None) -> Scale:
    """Return the full scale; what is verified is as large as fits on the disk and into the page cache."""
    free = shutil.disk_usage(cache if cache and cache.is_dir() else tempfile.gettempdir()).free
    memory_free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    needed = sum(LARGEST_VERIFY)
    return FULL._replace(verify=LARGEST_VERIFY) if min(free - 2 * ROOM, memory_free) > needed else FULL


def _kcli() -> str:
    """Return the installed command; it must be the one of this checkout."""
    found = subprocess.run(
        [sys.executable, "-P", "-c", "import kcli; print(kcli.__file__)"],
        capture_output=True,
        text=True,
        check=False,
    )
    if Path(found.stdout.strip()).resolve().parent.parent != REPOSITORY:
        sys.exit("the installed kcli is not of this checkout: `make bench`, or set PYTHONPATH to it")
    return str(Path(sys.executable).parent / "kcli")


def _bounds(cache: Path, scratch: Path, scale: Scale) -> dict[str, float]:
    [big] = inputs(cache, [Spec("big", scale.big)])
    command = [sys.executable, "-m", "tests.bench.machine", big.log, scratch / "written"]
    return json.loads(subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
