"""The judge's Python side: builds the Java program once, keeps one process, asks it.

with Oracle() as oracle:
    answer = oracle.ask("epoch_cache", entries=[[2, 10]], log_end_offset=50, end_offset_for=[2])

Operations, their requests and answers are in README.md beside this file. An error of Kafka is an answer
({"error": class name, "message": text}); OracleError means that the judge itself failed.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).resolve().parent
TARGET = HERE / "target"
CLASSPATH = TARGET / "classpath.txt"
STAMP = TARGET / "stamp"
# short runs: no heap to speak of, no second compiler, one collector thread
JAVA_OPTIONS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Dfile.encoding=UTF-8",
)
BUILD_TIMEOUT = 900.0
SCRATCH_BYTES = 1 << 30


class OracleError(Exception):
    """The judge did not build, start or answer."""


@contextmanager
def about(output: str) -> Iterator[None]:
    """Say in a failure what it is about."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{output}\n{error}") from error


def missing_tools() -> list[str]:
    """Return those of java and mvn that are not on the PATH."""
    return [tool for tool in ("java", "mvn") if shutil.which(tool) is None]


def encoded(data: bytes) -> str:
    """Return bytes as requests carry them: base64 text."""
    return base64.b64encode(data).decode("ascii")


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in (HERE / "pom.xml", *sorted((HERE / "src").rglob("*.java"))):
        digest.update(path.relative_to(HERE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _is_built(fingerprint: str) -> bool:
    if not STAMP.is_file() or STAMP.read_text() != fingerprint or not CLASSPATH.is_file():
        return False
    return all(Path(jar).is_file() for jar in CLASSPATH.read_text().strip().split(os.pathsep))


def build() -> str:
    """Build through Maven unless target/ is of these very sources and return the class path."""
    fingerprint = _fingerprint()
    TARGET.mkdir(exist_ok=True)
    with (TARGET / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_built(fingerprint):
            STAMP.unlink(missing_ok=True)
            for stale in ("classes", "maven-status"):  # a class whose source is gone must not stay
                shutil.rmtree(TARGET / stale, ignore_errors=True)
            command = ["mvn", "-q", "-B", "process-classes"]
            done = subprocess.run(
                command, cwd=HERE, capture_output=True, text=True, timeout=BUILD_TIMEOUT, check=False
            )
            if done.returncode:
                raise OracleError(f"{' '.join(command)} in {HERE} failed:\n{done.stdout}{done.stderr}")
            STAMP.write_text(fingerprint)
    return os.pathsep.join((str(TARGET / "classes"), CLASSPATH.read_text().strip()))


def _scratch() -> Path:
    # Kafka syncs every checkpoint to disk: in memory that costs nothing
    memory = Path("/dev/shm")
    in_memory = (
        memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= SCRATCH_BYTES
    )
    return Path(tempfile.mkdtemp(prefix="kcli-oracle-", dir=memory if in_memory else None))


class Oracle:
    """One Java process that answers questions, restarted after a crash; `scratch` is for copies."""

    def __init__(self) -> None:
        started = time.monotonic()
        self._classpath = build()
        self.build_seconds = time.monotonic() - started
        self.asked: dict[str, int] = {}
        self.scratch = _scratch()
        self._copies = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, op: str, *, timeout: float = 300.0, **request: Any) -> dict[str, Any]:
        """Return the answer to one request (fields that are None are left out)."""
        fields = {name: value for name, value in request.items() if value is not None}
        line = json.dumps({"op": op, **fields}, default=os.fspath).encode() + b"\n"
        self.asked[op] = self.asked.get(op, 0) + 1
        process = self._running()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            return json.loads(self._line(process, time.monotonic() + timeout))
        except (OSError, TimeoutError, EOFError) as error:
            stderr = self._stop(kill=True)
            raise OracleError(
                f"no answer to {line[:2000]!r}: {type(error).__name__} {error}\n{stderr[-4000:]}"
            ) from error

    def copy(self, directory: Path) -> Path:
        """Copy a partition directory, with its name and all modification times, below scratch."""
        return Path(shutil.copytree(directory, self.fresh(directory.name), symlinks=True))

    def ask_of_copy(self, op: str, directory: Path, **request: Any) -> dict[str, Any]:
        """Return the answer to a request about a copy of a directory, which then goes."""
        copy = self.copy(directory)
        kafka = self.ask(op, directory=copy, **request)
        self.discard(copy)
        return kafka

    def dump(self, log: bytes, *options: str, directory: str = "t-0") -> dict[str, Any]:
        """Return what the tool prints of a log."""
        path = self.fresh(directory) / "00000000000000000000.log"
        path.parent.mkdir()
        path.write_bytes(log)
        answer = self.ask("dump", arguments=["--files", str(path), *options])
        self.discard(path.parent)
        return answer

    def discard(self, copy: Path) -> None:
        """Remove what `copy` or `fresh` gave, with the directory around it."""
        if self.scratch not in copy.parents:
            raise ValueError(f"{copy} is not below {self.scratch}")
        shutil.rmtree(copy.parent)

    def fresh(self, name: str) -> Path:
        """Return a path of this name below scratch that does not exist; its parent does, empty."""
        self._copies += 1
        parent = self.scratch / str(self._copies)
        parent.mkdir()
        return parent / name

    def close(self) -> None:
        """End the process and remove scratch."""
        self._stop(kill=False)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._stop(kill=True)
            inside = self.scratch / "java"
            inside.mkdir(exist_ok=True)
            command = [
                "java",
                *JAVA_OPTIONS,
                f"-Doracle.scratch={inside}",
                "-cp",
                self._classpath,
                "oracle.Main",
            ]
            with (self.scratch / "stderr").open("wb") as stderr:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, bufsize=1 << 16
                )
            self._rest = b""
        return self._process

    def _line(self, process: subprocess.Popen[bytes], deadline: float) -> bytes:
        descriptor = process.stdout.fileno()
        chunks = [self._rest]
        while b"\n" not in chunks[-1]:
            if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                raise EOFError
            chunks.append(chunk)
        line, self._rest = b"".join(chunks).split(b"\n", 1)
        return line

    def _stop(self, *, kill: bool) -> str:
        process, self._process = self._process, None
        if process is None:
            return ""
        if kill:
            process.kill()
        try:
            process.stdin.close()  # the end of its input ends the program
        except OSError:
            process.kill()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        return (self.scratch / "stderr").read_text(errors="replace")
