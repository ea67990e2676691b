"""Runs Kafka's own programs: the class path by Maven, one JVM per call."""

import os
import re
import shlex
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
POM = HERE / "pom.xml"
CLASSPATH = HERE / "target" / "classpath.txt"
CLASSES = HERE / "target" / "classes.jsa"
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


def classpath() -> str:
    """Return the class path of the pom, resolved once and again when the pom is newer."""
    if not CLASSPATH.exists() or CLASSPATH.stat().st_mtime < POM.stat().st_mtime:
        CLASSPATH.parent.mkdir(exist_ok=True)
        goal = ["dependency:build-classpath", f"-Dmdep.outputFile={CLASSPATH}"]
        subprocess.run(["mvn", "-q", "-B", "-f", str(POM), *goal], check=True, stdin=subprocess.DEVNULL)
    return CLASSPATH.read_text().strip()


def class_archive() -> Path:
    """Return Kafka's classes as a JVM has them in memory, written once: starts are a third faster."""
    path = classpath()
    if not CLASSES.exists() or CLASSES.stat().st_mtime < CLASSPATH.stat().st_mtime:
        made = CLASSES.with_name(f"{os.getpid()}.jsa")
        tool = ["kafka.tools.StorageTool", "random-uuid"]
        words = ["java", *JVM, f"-XX:ArchiveClassesAtExit={made}", "-cp", path, *tool]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        made.rename(CLASSES)
    return CLASSES


def command(main: str, *arguments: str, heap: int = 320, properties: tuple[str, ...] = ()) -> list[str]:
    """Return the command line that runs a class, or a single .java file, over the class path."""
    return [
        "java",
        *JVM,
        f"-XX:SharedArchiveFile={class_archive()}",
        f"-Xmx{heap}m",
        *(f"-D{name}" for name in properties),
        "-cp",
        classpath(),
        main,
        *arguments,
    ]


def run(main: str, *arguments: str, cwd: Path | None = None, answer: str = "") -> str:
    """Run a class to its end and return what it printed, to the character; a failure shows both streams."""
    line = command(main, *arguments)
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
