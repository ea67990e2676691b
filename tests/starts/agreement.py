"""What `startup`, `check` and `ls` say of one state, with and without a selection, and where they differ.

`python -m tests.starts.agreement [WORD...]` prints the differences of recorded states of such a name.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from commands.app import app
from kcli.kafka.kraft.start_findings import LOG_DIR_OFFLINE
from tests.starts.observe import prepare
from tests.starts.predicted import RECORDED

OF_A_REPLICA = {f"START-0{number}" for number in ("01", "08", 12, 13, 16, 17, 20, 24)} | {"LOG-025"}
OF_A_BROKER = {f"START-0{number}" for number in ("09", 10, 14, 19, 21, 22)}
OF_ASKED = {"CKPT-001"}
"""Said of the replicas that were asked for. With those two: what `startup`, `check` and `ls` all say."""
ALONE = {"EPOCH-001", "EPOCH-002", "EPOCH-003", "DIR-008", "DIR-010", "PROD-007"}
"""What `ls` or `startup` may say alone; all else both say. `check` has words of its own for what it reads.

That is where an epoch that `ls` shows comes from, clusters side by side, a quorum-state of a metadata log
that was not selected, and the producers that a start forgets: `ls` reads no batches for producers.
"""
ENDS = "the broker's process ends"
STATES = sorted({(base, change) for base, _, change in RECORDED})


class Said(NamedTuple):
    """What a command says: of replicas and of log dirs, of the broker, its exit status, and all else."""

    replicas: frozenset[tuple[str, str, str]]
    log_dirs: frozenset[tuple[str, str, str]]
    broker: str
    status: int
    asked: frozenset[tuple[str, str, str]]
    others: frozenset[tuple[str, str, str]]


def ask(*words: str) -> tuple[Said, dict[str, Any]]:
    """Return what a command line says, and its document."""
    done = CliRunner().invoke(app, [*words, "-o", "json"])
    document = json.loads(done.stdout)
    found = [
        (finding["code"], finding["path"] or finding["dir"], finding["message"])
        for finding in document["findings"]
    ]
    codes = {code for code, _, _ in found}
    ends = any(code == "START-008" and ENDS in message for code, _, message in found)
    broker = "starts-degraded" if "START-010" in codes else "starts"
    broker = "waits" if "START-022" in codes else broker

    def of(some: AbstractSet[str]) -> frozenset[tuple[str, str, str]]:
        return frozenset(finding for finding in found if finding[0] in some)

    answer = Said(
        of(OF_A_REPLICA),
        of(OF_A_BROKER),
        "fails" if "START-009" in codes or ends else broker,
        done.exit_code,
        of(OF_ASKED),
        of(codes - OF_A_REPLICA - OF_A_BROKER - OF_ASKED - ALONE),
    )
    return answer, document


def differences(topic: str, *paths: str) -> Iterator[str]:
    """Yield where commands differ about log dirs; some ask for a topic alone."""
    usual, document = ask("startup", *paths)
    brokers = [row for row in document["rows"] if "log_dirs" in row]
    if len(brokers) == 1 and brokers[0]["outcome"] != usual.broker:
        yield f"startup: its row says {brokers[0]['outcome']}, its findings {usual.broker}"
    failing = {row["dir"] for row in document["rows"] if row["outcome"] == "fails" and "log_dirs" not in row}
    refused = {finding["dir"] for finding in document["findings"] if finding["code"] == "START-008"}
    unserved = {row["dir"] for row in document["rows"] if row["reason"] == LOG_DIR_OFFLINE}
    if failing != refused:
        yield f"startup: {failing} fail, {refused} are refused"
    for selected in ((), ("--topic", topic)):
        started, document = ask("startup", *selected, *paths)
        is_nothing = any(error["error"] == "nothing-matched" for error in document["errors"])
        if not is_nothing:
            usual = usual._replace(asked=started.asked, others=started.others)
            yield from _between(" ".join(("startup", *selected)), started, usual)
        for command in ("check", "ls"):
            said, document = ask(command, *selected, *paths)
            name = " ".join((command, *selected))
            more = {finding["code"] for finding in document["findings"] if finding["severity"] == "error"}
            if command == "check":
                said = said._replace(others=started.others)
                if more - OF_A_REPLICA - OF_A_BROKER:  # it reads what no start reads
                    said = said._replace(status=started.status)
            yield from _between(name, said, started)
            bad = [finding for finding in document["findings"] if finding["severity"] != "info"]
            worse = {finding["dir"] for finding in bad if finding["code"] in OF_A_REPLICA}
            clean = {row["dir"] for row in document["rows"] if row.get("result") == "clean"}
            if wrong := clean & (worse | unserved):
                yield f"{name}: clean are {wrong}"


def _between(name: str, answer: Said, reference: Said) -> Iterator[str]:
    for field, mine, theirs in zip(Said._fields, answer, reference, strict=True):
        if mine != theirs:
            differ = mine ^ theirs if isinstance(mine, frozenset) else (mine, theirs)
            yield f"{name}: {field}: {sorted(differ)}"


def of_state(base: str, change: str, root: Path, *, is_named: bool) -> list[str]:
    """Return the differences about a recorded state, whose log dirs a server.properties names, or no file."""
    properties = prepare(base, change, root)
    dirs = [str(root / name) for name in ("d0", "d1") if (root / name).is_dir()]
    words = ["--server-config", str(properties)] if is_named else dirs
    return [
        f"{base}: {change}: {difference}".replace(str(root), "")
        for difference in differences("events", *words)
    ]


def main(words: Sequence[str]) -> int:
    number = 0
    for base, change in STATES:
        for is_named in (True, False):
            if not words or any(word in f"{base} {change}" for word in words):
                with tempfile.TemporaryDirectory() as folder:
                    found = of_state(base, change, Path(folder), is_named=is_named)
                    number += len(found)
                    print(*found, sep="\n", end="\n" if found else "", flush=True)
    print(f"{number} differences")
    return number


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
