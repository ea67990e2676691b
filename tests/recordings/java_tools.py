"""Runs Kafka's own programs: the class path by Maven, one JVM per call."""

import os
import re
import shlex
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
POM = HERE / "pom.xml"
NEWEST = "4.4.0"
"""A release of brokers beside the one that the pom names."""
JVM = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xlog:disable",
    "-Djava.net.preferIPv4Stack=true",
    f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
]


def kafka_version() -> str:
    """Return the Kafka version that the pom names."""
    found = re.search(r"<kafka\.version>(.+?)<", POM.read_text())
    assert found, POM
    return found[1]


def classpath(release: str = "") -> str:
    """Return the class path of the pom for a release, resolved once and again when the pom is newer."""
    found = _kept("classpath.txt", release)
    if not found.exists() or found.stat().st_mtime < POM.stat().st_mtime:
        found.parent.mkdir(parents=True, exist_ok=True)
        goal = ["dependency:build-classpath", f"-Dmdep.outputFile={found}"]
        version = [f"-Dkafka.version={release}"] * bool(release)
        words = ["mvn", "-q", "-B", "-f", str(POM), *goal, *version]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
        found.touch()  # Maven does not where the class path is the same
    return found.read_text().strip()


def _kept(name: str, release: str) -> Path:
    return HERE / "target" / release / name


def class_archive(release: str = "") -> Path:
    """Return Kafka's classes as a JVM has them in memory, written once: starts are a third faster."""
    path, found = classpath(release), _kept("classes.jsa", release)
    if not found.exists() or found.stat().st_mtime < _kept("classpath.txt", release).stat().st_mtime:
        made = found.with_name(f"{os.getpid()}.jsa")
        tool = ["kafka.tools.StorageTool", "random-uuid"]
        words = ["java", *JVM, f"-XX:ArchiveClassesAtExit={made}", "-cp", path, *tool]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        made.rename(found)
    return found


def command(
    main: str, *arguments: str, heap: int = 320, properties: tuple[str, ...] = (), release: str = ""
) -> list[str]:
    """Return the command line that runs a class, or a single .java file, over the class path."""
    return [
        "java",
        *JVM,
        f"-XX:SharedArchiveFile={class_archive(release)}",
        f"-Xmx{heap}m",
        *(f"-D{name}" for name in properties),
        "-cp",
        classpath(release),
        main,
        *arguments,
    ]


def run(main: str, *arguments: str, cwd: Path | None = None, answer: str = "", release: str = "") -> str:
    """Run a class to its end and return what it printed, to the character; a failure shows both streams."""
    line = command(main, *arguments, release=release)
    # the encoding of what Java prints follows the locale
    done = subprocess.run(
        line,
        input=answer.encode(),
        capture_output=True,
        cwd=cwd,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    printed, errors = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if done.returncode:
        raise RuntimeError(f"{main} {shlex.join(arguments)[:300]}: {printed[-2000:]}{errors[-4000:]}")
    return printed
