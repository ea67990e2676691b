"""Runs a command and says what it cost: wall seconds, CPU seconds, peak memory of each kind of process.

And how busy the machine is. Linux only. This process stays small (no numpy here): a child starts as a copy of
it, and the kernel counts that as the child's peak.
"""

import ctypes
import os
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PYTHON, JAVA, OTHER = "python", "java", "other"
SAMPLE_SECONDS = 0.02
LINGER_SECONDS = 3.0
REAP_SECONDS = 0.002
PR_SET_CHILD_SUBREAPER = 36
QUIET_LOAD = 0.5
"""Load average, for each core, above which nothing is measured."""
QUIET_SHARE = 0.1
"""Part of the cores that others may use while a line is measured; above, the line is marked."""
STDERR_SHOWN = 400
READ_AT_ONCE, BESIDE_PAGE = 1 << 20, 1 << 11
"""Bytes. Where a page of the cache and the buffer have the same address modulo 4096, some CPUs copy six times
as slowly: the buffer begins half a page further on.
"""
LONGER = 3
"""How many times as often commands run whose first runs do not decide."""


class Failed(Exception):
    """A command ended otherwise than it should."""


class Run(NamedTuple):
    """What one run cost: seconds; the peak bytes of its largest process.

    If watched, the largest peak seen of each kind.
    """

    wall: float
    cpu: float
    largest: int
    watched: Mapping[str, int]


class Measured(NamedTuple):
    """What the runs of a command cost; `peaks`: bytes of the largest process of each kind."""

    runs: tuple[Run, ...]
    peaks: Mapping[str, int]

    @property
    def seconds(self) -> float:
        return statistics.median(run.wall for run in self.runs)

    @property
    def cpu(self) -> float:
        return statistics.median(run.cpu for run in self.runs)

    def without(self, number: int) -> "Measured":
        """Return the same without one of its runs."""
        return self._replace(runs=self.runs[:number] + self.runs[number + 1 :])

    @property
    def spread(self) -> float:
        """The slowest run beyond the fastest, as a part of the median."""
        walls = [run.wall for run in self.runs]
        return (max(walls) - min(walls)) / self.seconds


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent ends: worker processes are then counted too."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(
    argv: Sequence[str], output: Path, *, watch: bool = False, env: Mapping[str, str] | None = None
) -> Run:
    """Run a command, standard output into a file.

    With `watch`, sample the memory of every process of its session. Raises: Failed: it did not end with 0;
    with the end of what it wrote to standard error.
    """
    errors = output.with_name(output.name + ".err")
    with output.open("wb") as stdout, errors.open("wb") as stderr:
        before = _children_cpu()
        start = time.perf_counter()
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True, env=env
        )
        watcher = Watcher(process.pid) if watch else None
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            for member in members(process.pid):
                _kill(member)
            process.wait()
            raise
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    watched = watcher.stop() if watcher else {}
    largest = max([usage.ru_maxrss * 1024, *_reap(process.pid)])
    answer = errors.read_text(errors="replace").strip()
    errors.unlink()
    if process.returncode:
        raise Failed(f"{Path(argv[0]).name} ended with {process.returncode}: {answer[-STDERR_SHOWN:]}")
    return Run(wall, _children_cpu() - before, largest, watched)


def alternate(
    commands: Mapping[str, Callable[[Path], Sequence[str]]],
    runs: int,
    scratch: Path,
    after_first: Callable[[Mapping[str, Path]], None],
    undecided: Callable[[dict[str, Measured]], bool] = lambda taken: False,
    inputs: Sequence[Path] = (),
    env: Mapping[str, str] | None = None,
) -> dict[str, Measured]:
    """Run commands in turn: once unmeasured (memory is watched, answers are kept and given to `after_first`),
    then `runs` times; LONGER times as often where these runs leave it `undecided`.

    Before each measured run all files in the folders `inputs` are in the page cache. A command is made from
    the path where its `--out` may go; its standard output goes to another.
    """
    kept = {key: scratch / f"out-{number}" for number, key in enumerate(commands)}
    argvs = {key: command(aside(kept[key])) for key, command in commands.items()}
    first, taken = {}, {key: [] for key in commands}

    def measured():
        return {
            key: Measured(tuple(taken[key]), peaks(kind_of(argv[0]), first[key], taken[key]))
            for key, argv in argvs.items()
        }

    try:
        for key, argv in argvs.items():
            first[key] = run(argv, kept[key], watch=True, env=env)
        after_first(kept)
        remove(kept.values())
        for number in range(LONGER * runs):
            if number == runs and not undecided(measured()):
                break
            for key, argv in argvs.items():
                fill_page_cache(inputs)
                taken[key].append(run(argv, kept[key], env=env))
                remove([kept[key]])
    finally:
        remove(kept.values())
    return measured()


def fill_page_cache(folders: Sequence[Path]) -> None:
    """Read every file: a virtual machine's host may take pages from its cache within seconds."""
    buffer = memoryview(bytearray(READ_AT_ONCE + BESIDE_PAGE))[BESIDE_PAGE:]
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def peaks(kind: str, watched: Run, others: Sequence[Run]) -> dict[str, int]:
    """Return the largest peak of each kind.

    Samples miss the last moments, so what the kernel counted is used where all are of one kind.
    """
    if set(watched.watched) <= {kind}:
        return {kind: max([watched.largest, *watched.watched.values(), *(run.largest for run in others)])}
    return dict(watched.watched)


def aside(output: Path) -> Path:
    """Return where a command puts a file of its own, beside its standard output."""
    return output.with_name(output.name + ".parquet")


def remove(outputs) -> None:
    """Remove outputs, so that the next run does not wait for them to reach the disk."""
    for output in outputs:
        for path in (output, aside(output), output.with_name(output.name + ".err")):
            if path.is_dir():
                for inner in sorted(path.rglob("*"), reverse=True):
                    inner.rmdir() if inner.is_dir() else inner.unlink()
                path.rmdir()
            else:
                path.unlink(missing_ok=True)


class Watcher:
    """Samples the peak memory of the processes of a session, in a thread, until it is stopped."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._over = threading.Event()
        self._peaks: dict[str, int] = {}
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, int]:
        """Return the largest peak seen, bytes, of each kind of process."""
        self._over.set()
        self._thread.join()
        return self._peaks

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            for pid in members(self._session):
                try:
                    kind = kind_of(os.readlink(f"/proc/{pid}/exe"))
                    self._peaks[kind] = max(
                        self._peaks.get(kind, 0), high_water(Path(f"/proc/{pid}/status").read_text())
                    )
                except (OSError, ValueError):
                    continue  # it has ended


def kind_of(program: str) -> str:
    """Return whether a program is Python, Java or something else; scripts of Python count as Python."""
    name = os.path.basename(program)
    return JAVA if name.startswith("java") else PYTHON if name.startswith(("python", "kcli")) else OTHER


def high_water(status: str) -> int:
    """Return the peak of resident memory, bytes, from the text of /proc/PID/status.

    Raises:
        ValueError: there is none: the process has ended.
    """
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise ValueError("no VmHWM")


def members(session: int) -> list[int]:
    """Return the processes of a session."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text()
            except OSError:
                continue
            if session_of(stat) == session:
                found.append(int(name))
    return found


def session_of(stat: str) -> int:
    """Return the session from the text of /proc/PID/stat; the name in it may hold spaces and brackets."""
    return int(stat.rpartition(")")[2].split()[3])


def _reap(session: int) -> list[int]:
    """Wait until nothing of a session is left; return the peak bytes of what was adopted.

    What does not end is killed: it is of our making.
    """
    peaks, until = [], time.monotonic() + LINGER_SECONDS
    while left := members(session):
        for pid in left:
            if time.monotonic() > until:
                _kill(pid)
            try:
                ended, _, usage = os.wait4(pid, os.WNOHANG)
            except ChildProcessError:
                continue  # its parent lives, or init has it
            if ended:
                peaks.append(usage.ru_maxrss * 1024)
        time.sleep(REAP_SECONDS)
    return peaks


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


class Quiet:
    """How much of the machine others used, from when it was made."""

    def __init__(self) -> None:
        self._start = self._now()

    def foreign_share(self) -> float:
        """Return the part of all cores that neither idled nor worked for this process and its children."""
        (busy, own, total), (busy0, own0, total0) = self._now(), self._start
        return min(max(0.0, ((busy - busy0) - (own - own0)) / max(total - total0, 1e-9)), 1.0)

    def _now(self) -> tuple[float, float, float]:
        busy, total = busy_and_total(Path("/proc/stat").read_text())
        times, tick = os.times(), os.sysconf("SC_CLK_TCK")
        return busy / tick, sum(times[:4]), total / tick


def busy_and_total(stat: str) -> tuple[int, int]:
    """Return ticks of all cores that were not idle, and all ticks, from the text of /proc/stat (steal counts
    as busy)."""
    user, nice, system, idle, iowait, *rest = map(int, stat.splitlines()[0].split()[1:9])
    busy = user + nice + system + sum(rest)
    return busy, busy + idle + iowait


def too_busy(load: float, cores: int) -> bool:
    """Return whether a load average is too high to measure anything."""
    return load > QUIET_LOAD * cores
