"""What `startup` predicts of log dirs of several random logs, some damaged, against LogManager."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.seeds import cases

from .damages import DAMAGE
from .logs import NOW, random_log
from .oracle import Oracle, about

pytestmark = pytest.mark.oracle

LOG_DIRS = 30
MOST_LOGS = 4
STRAYS = {"START-012"}
UNSUPPORTED = "unsupported"
OF_A_DISK = "KafkaStorageException"
"""It ends the start, too, where a log with transactions comes after the one that fails: threads decide."""
EPOCHS = "leader-epoch-checkpoint"
"""It is written in the background, before or after a directory is renamed."""
METADATA = "version: 0\ntopic_id: u4NdSfWRQjaZ_ENyxMXLJA\n"


def written(oracle: Oracle, seed: int, root: Path, choose: random.Random) -> dict[str, Any]:
    """Write a log dir of random logs; return the settings with which its broker opens them."""
    root.mkdir()
    points: dict[str, list[str]] = {"recovery-point-offset-checkpoint": [], "log-start-offset-checkpoint": []}
    is_clean = choose.random() < 0.5
    opening: dict[str, Any] = {}
    for number in range(choose.randrange(1, MOST_LOGS + 1)):
        log = random_log(oracle, seed * 10 + number, clean=is_clean, damaged=False)
        name = f"topic{number}-{choose.randrange(3)}"
        ending = choose.choice(["", "", "", "delete", "future", "stray"])
        unique = UUID(int=choose.getrandbits(128)).hex
        directory = root / (f"{name}.{unique}-{ending}" if ending else name)
        shutil.copytree(log.directory, directory)
        if (ending or choose.random() < 0.8) and not (directory / "partition.metadata").exists():
            (directory / "partition.metadata").write_text(METADATA)
        if choose.random() < 0.4:
            choose.choice(DAMAGE)(directory, choose)
        topic, _, partition = name.rpartition("-")
        facts = log.opening
        points["recovery-point-offset-checkpoint"].append(f"{topic} {partition} {facts['recovery_point']}")
        points["log-start-offset-checkpoint"].append(f"{topic} {partition} {facts['log_start_offset']}")
        opening = opening or log.settings
        log.remove()
    for file, lines in points.items():
        (root / file).write_text("\n".join(["0", str(len(lines)), *lines, ""]))
    number = choose.getrandbits(32)
    (root / "meta.properties").write_text(f"version=1\ncluster.id=c{number}\nnode.id=1\n")
    if is_clean:
        (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    return opening


def files_after(row: dict[str, Any]) -> dict[str, int]:
    """Return the files of a directory after its start, by name, with their sizes."""
    return {
        entry["file"].removesuffix(".swap") if entry["action"] == "rename" else entry["file"]: entry[
            "size_after"
        ]
        for entry in row["files"]
        if entry["action"] != "delete"
    }


def holds_nothing(row: dict[str, Any]) -> bool:
    """Whether a log without records lacks its topic id: it becomes a stray, too, and that is no finding."""
    files = {entry["file"]: entry for entry in row["files"]}
    is_live = "." not in Path(row["dir"]).name
    is_empty = not any(size for name, size in files_after(row).items() if name.endswith(".log"))
    return is_live and is_empty and "partition.metadata" not in files


def assert_agrees(root: Path, document: dict[str, Any], kafka: dict[str, Any]) -> None:
    """Compare a prediction with what LogManager did."""
    broker, *rows = document["rows"]
    exceptions = {row["error"] for row in rows if row["error"]}
    if kafka.get("error") == OF_A_DISK and OF_A_DISK in exceptions:
        return
    fatal = exceptions - {OF_A_DISK}
    assert ("error" in kafka) == bool(fatal), (exceptions, kafka.get("error"), kafka.get("message"))
    if fatal:
        assert kafka["error"] in exceptions
        return
    is_offline = [log_dir["outcome"] for log_dir in broker["log_dirs"]] == ["offline"]
    assert is_offline == (kafka["offline"] == [str(root)]), (broker, kafka["offline"])
    if is_offline:
        return
    strays = {finding["dir"] for finding in document["findings"] if finding["code"] in STRAYS}
    seen = set()
    for row in rows:
        path = row["dir"]
        if row["files"] and not files_after(row):  # a -delete directory
            assert path not in kafka["files"]
            continue
        place = path
        if path in strays or holds_nothing(row):
            name = Path(path).name
            (place,) = (entry for entry in kafka["files"] if Path(entry).name.startswith(f"{name}."))
            assert place.endswith("-stray")
        seen.add(place)
        left_out = {EPOCHS} if place != path else set()
        there, expected = kafka["files"][place], files_after(row)
        assert [(name, there.get(name)) for name in there.keys() - left_out] == [
            (name, expected.get(name)) for name in there.keys() - left_out
        ], place
        assert there.keys() - left_out == expected.keys() - left_out, place
        log = kafka["logs"].get(place)
        assert (log is None) == place.endswith("-stray")  # those are kept apart
        if log is not None:
            offsets = ("log_start_offset", "log_end_offset", "recovery_point")
            assert [log[key] for key in offsets] == [row[key] for key in offsets], path
            assert log["epochs"] == [[epoch["epoch"], epoch["start_offset"]] for epoch in row["epochs"]]
    assert seen == set(kafka["files"])


@pytest.mark.parametrize("part", range(4))
def test_a_log_dir_becomes_what_is_predicted(
    oracle: Oracle, oracle_seed: int, tmp_path: Path, part: int, kcli: Callable[..., Any]
) -> None:
    for number in range(cases(LOG_DIRS)):
        seed = oracle_seed + 1000 * part + number
        choose = random.Random(f"log manager:{seed}")
        root = tmp_path / f"data-{number}"
        opening = written(oracle, seed, root, choose)
        words = ["startup", "-o", "json", "--at", NOW, root]
        words += ["--index-interval-bytes", opening["index_interval_bytes"]]
        words += ["--segment-index-bytes", opening["segment_index_bytes"]]
        document = json.loads(kcli(*words).stdout)
        logs = {path.name.removesuffix(".swap") for path in root.rglob("*.log*")}
        kafka = oracle.ask("log_manager", log_dirs=[str(root)], strays=True, **opening)
        if any(error["error"] == UNSUPPORTED for error in document["errors"]):
            after = {name for files in kafka.get("files", {}).values() for name in files}
            assert "error" in kafka or {name for name in after - logs if name.endswith(".log")}, (seed, kafka)
            continue
        with about(f"seed {seed}"):
            assert_agrees(root, document, kafka)
        shutil.rmtree(root, ignore_errors=True)  # an EPOCHS file may be written in the background
