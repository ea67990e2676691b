"""Kafka's command line tools in one JVM, which starts once for many calls; facts of two sources."""

import json
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.commands.answers import ask
from tests.recordings.java_tools import NEWEST, command

TOOLS = {
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-configs.sh": "org.apache.kafka.tools.ConfigCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
}


class Tools:
    """Runs tools by the names of their scripts."""

    def __init__(self, process: subprocess.Popen) -> None:
        self._process = process

    def run(self, script: str, *words: object) -> str:
        """Return what a tool prints; it fails where the tool does."""
        self._process.stdin.write(f"{json.dumps([TOOLS[script], *map(str, words)])}\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert answer["status"] == 0, (script, words, answer["printed"])
        return answer["printed"]


def asked(*words: object) -> dict[str, list]:
    """Return the document of a command that answers, be it bad news."""
    found, status = ask(*words)
    assert status in {0, 1}, found
    return found


def same(fact: str, by_files: Collection[object], by_cluster: Collection[object]) -> None:
    """Fail where a fact by the files is not that of the live cluster; print how often it is (`pytest -s`)."""
    assert by_files == by_cluster
    print(f"{fact:64}{len(by_files):4} equal")


@contextmanager
def tools() -> Iterator[Tools]:
    """Give what runs the tools of the newest release."""
    line = command(str(Path(__file__).parent / "Tools.java"), heap=128, release=NEWEST)
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Tools(process)
        finally:
            process.kill()
