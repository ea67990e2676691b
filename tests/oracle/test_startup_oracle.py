"""What `startup` predicts of random damaged directories against LogLoader: outcome and every file."""

from __future__ import annotations

import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.engine.contract import Unit
from kcli.jobs.log_starts import StartRequest
from kcli.jobs.startup.replica_start import startup
from tests.kcli.jobs.starts import does_not_start, will_not_load
from tests.oracle.damages import damaged, names
from tests.oracle.metadata_logs import written
from tests.oracle.truncations import assert_split, judged_producer
from tests.partitions import recover_in_windows, snapshot
from tests.partitions import unit as unit_of
from tests.rows import named
from tests.seeds import cases

from .logs import NOW, RandomLog, random_log
from .oracle import Oracle, about

pytestmark = pytest.mark.oracle

PARTS = 10
UNSUPPORTED = "unsupported"
"""What kcli says that it cannot foresee: a segment that the broker would split."""
LOGS = 6
DAMAGES_EACH = 17
CHECKED = 5
"""Of so many damages of a log one is held against `check`, too."""
METADATA_LOGS = 30
SPLITS = 12
STRAYS = ("notes.txt", "00000000000000000007.log.1.deleted", "leader-epoch-checkpoint.tmp", "x.index.tmp")


def predicted(before: dict[str, bytes], files: list[dict[str, Any]]) -> dict[str, tuple[str, int]]:
    """Return the files after a start by name: what happens to each, and its size."""
    after = {}
    for change in files:
        name, action = change["file"], change["action"]
        assert change["size_before"] == (len(before[name]) if name in before else None), change
        if action == "rename":
            after[name.removesuffix(".swap")] = (action, change["size_after"])
        elif action != "delete":
            after[name] = (action, change["size_after"])
    assert {change["file"] for change in files if change["action"] != "create"} == set(before)
    return after


def assert_files(before: dict[str, bytes], after: dict[str, bytes], files: list[dict[str, Any]]) -> None:
    """Compare every file of the directory: whether it is there, its size, and what became of its bytes."""
    mine = predicted(before, files)
    assert {name: size for name, (_, size) in mine.items()} == {
        name: len(data) for name, data in after.items()
    }
    for name, (action, _) in mine.items():
        if action == "keep":
            assert after[name] == before[name], name
        elif action == "truncate":
            assert len(after[name]) < len(before[name]) and before[name].startswith(after[name]), name
        elif action == "rewrite":
            assert after[name] != before[name], name


def assert_agrees(row: dict[str, Any], kafka: dict[str, Any]) -> None:
    """Compare the log that the broker holds."""
    same = ("log_start_offset", "log_end_offset", "recovery_point")
    assert {key: row[key] for key in same} == {key: kafka[key] for key in same}
    assert row["segments"] == len(kafka["segments"])
    assert [[epoch["epoch"], epoch["start_offset"]] for epoch in row["epochs"]] == kafka["epochs"]
    producers = [judged_producer(producer) for producer in kafka["producers"]]
    assert [tuple(producer.values()) for producer in row["producers"]] == [
        (number, epoch, sequence, offset, first_open)
        for number, _, first_open, epoch, sequence, offset, *_ in producers
    ]


def one_case(
    oracle: Oracle,
    log: RandomLog,
    choose: random.Random,
    into: Path,
    kcli: Callable[..., Any] | None,
    damage: Callable[[RandomLog, random.Random, Path], tuple[Unit, list[str]]] = damaged,
) -> None:
    unit, done = damage(log, choose, into)
    directory = into / log.directory.name
    if choose.random() < 0.2:
        (directory / choose.choice(STRAYS)).write_bytes(choose.randbytes(20))
    tiered = choose.random() < 0.2
    before = snapshot(directory)
    copy = oracle.copy(directory)
    opening = {key: value for key, value in log.opening.items() if key != "high_watermark"}
    (kafka,) = oracle.ask(
        "truncate", directory=copy, restart="none", remote_enabled=tiered, **opening
    ).values()
    after = snapshot(copy)
    oracle.discard(copy)
    request = StartRequest(
        now_ms=NOW,
        index_interval_bytes=log.settings["index_interval_bytes"],
        segment_index_bytes=log.settings["segment_index_bytes"],
        remote_storage=tiered,
    )
    outcome = startup(unit, request=request)
    with about(f"log {log.seed} clean={log.clean} {log.damage} {done} tiered={tiered} {into}"):
        if outcome.error is not None:
            assert outcome.error.error == UNSUPPORTED, outcome.error
            assert_split(kafka, directory)
        else:
            (row,) = map(named, outcome.rows)
            assert row["error"] == kafka.get("error"), (row["error_message"], kafka)
            assert row["outcome"] == ("fails" if "error" in kafka else "loads")
            if row["error"] is None:
                assert_agrees(row, kafka)
                assert_files(before, after, row["files"])
            if kcli is not None:
                assert will_not_load(kcli, into) == does_not_start(kcli, into)
    shutil.rmtree(into)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_start_goes_as_predicted(
    oracle: Oracle,
    oracle_seed: int,
    tmp_path: Path,
    part: int,
    monkeypatch: pytest.MonkeyPatch,
    kcli: Callable[..., Any],
) -> None:
    if part % 2:
        recover_in_windows(monkeypatch)
    for number in range(cases(LOGS)):
        seed = oracle_seed + 1000 * part + number
        log, choose = random_log(oracle, seed, damaged=False), random.Random(f"startup:{seed}")
        for again in range(DAMAGES_EACH):
            into = tmp_path / f"{number}-{again}"
            one_case(oracle, log, choose, into, kcli if again % CHECKED == 0 else None)
        log.remove()


def overflowing(log: RandomLog, choose: random.Random, into: Path) -> tuple[Unit, list[str]]:
    """Return a copy in which the offsets of the last segment leave its range, once or twice."""
    root = Path(shutil.copytree(log.directory.parent, into))
    path = names(root / log.directory.name, ".log")[-1]
    data, position, raised, done = bytearray(path.read_bytes()), 0, 0, []
    while position < len(data):
        base, length = struct.unpack_from(">qi", data, position)
        if raised < 2 and position and choose.random() < 0.3:
            raised += 1
            done.append(f"{base} at {position} raised")
        struct.pack_into(">q", data, position, base + (raised << 31))
        position += 12 + length
    path.write_bytes(data)
    for suffix in choose.choice([(), (".index",), (".index", ".timeindex"), (".index", ".txnindex")]):
        path.with_suffix(suffix).unlink(missing_ok=True)
        done.append(suffix)
    return unit_of(root), done


def test_a_segment_whose_offsets_leave_its_range_is_split(oracle: Oracle, oracle_seed: int, tmp_path: Path):
    """LocalLog.splitOverflowedSegment, while segments are loaded and while they are recovered."""
    for number in range(cases(SPLITS)):
        seed = oracle_seed + 1000 * PARTS + number
        log, choose = random_log(oracle, seed, damaged=False), random.Random(f"startup:{seed}")
        for again in range(8 if names(log.directory, ".log") else 0):
            one_case(oracle, log, choose, tmp_path / f"{number}-{again}", None, overflowing)
        log.remove()


def test_the_files_of_a_metadata_log_are_as_predicted(oracle: Oracle, oracle_seed: int) -> None:
    for number in range(cases(METADATA_LOGS)):
        choose = random.Random(f"startup:{oracle_seed}:{number}")
        directory, _ = written(oracle, choose, choose.choice([0, 0, 0, 40]))
        before = snapshot(directory)
        kafka = oracle.ask_of_copy("metadata_log", directory, now_ms=NOW)
        (row,) = map(named, startup(unit_of(directory), request=StartRequest(now_ms=NOW)).rows)
        output = f"{oracle_seed}:{number} {sorted(before)} {kafka}"
        assert row["error"] == kafka.get("error"), output
        if "error" not in kafka:
            assert row["log_end_offset"] == kafka["log_end_offset"], output
            mine = {name: size for name, (_, size) in predicted(before, row["files"]).items()}
            assert mine == kafka["files"], output
        oracle.discard(directory)
