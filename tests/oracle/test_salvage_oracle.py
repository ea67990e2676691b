"""Copies that `salvage` wrote, opened by Kafka's own UnifiedLog; and its indexes against Kafka's recovery."""

from __future__ import annotations

import os
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from formats.batch import CRC_FROM
from formats.checkpoint import read_leader_epoch_checkpoint
from formats.names import parse_file
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.salvage.salvage import INDEXES, Salvage, logs_and_orphans
from kcli.kafka.storage.metadata_log import name_error
from kcli.logdir.buffers import DataFile
from kcli.logdir.partition import Partition
from kcli.logdir.segment import Walk
from tests.oracle.damages import damaged
from tests.oracle.metadata_logs import SNAPSHOT, written
from tests.oracle.metadata_logs import damaged as damaged_snapshot
from tests.partitions import codes
from tests.partitions import unit as unit_of
from tests.rows import named
from tests.seeds import cases

from .logs import NOW, RandomLog, random_log
from .oracle import Oracle, about, encoded

pytestmark = pytest.mark.oracle

LOGS = 20
DAMAGES_EACH = 4
EPOCHS = "leader-epoch-checkpoint"
QUORUM_STATE = (
    b'{"leaderId":1,"leaderEpoch":3,"votedId":1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
)
REBUILT = {".index", ".timeindex", ".txnindex", ".snapshot"}


def contents(directory: Path) -> dict[str, bytes]:
    """Return the files; indexes without the zeros that an open one is filled with."""
    found = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    return {name: data.rstrip(b"\0") if name.endswith(("index",)) else data for name, data in found.items()}


def salvaged(unit: Unit, log: RandomLog, out: Path, **options: Any) -> tuple[dict[str, Any], Outcome]:
    interval = log.settings["index_interval_bytes"]
    outcome = Salvage(out=str(out), now_ms=NOW, index_interval_bytes=interval, **options)(unit)
    assert outcome.error is None, outcome.error
    (row,) = map(named, outcome.rows)
    assert bool(row["lost"]) == bool(row["bytes_lost"])
    if row["what"] != INDEXES:
        assert_the_rest_is_saved(row, unit, out)
    return row, outcome


def assert_the_rest_is_saved(row: dict[str, Any], unit: Unit, out: Path) -> None:
    """What is in none of the lost ranges of a log is its copy, but for zeros after the last batch."""
    lost = sum(loss["end"] - loss["start"] for loss in row["lost"])
    assert lost == row["bytes_lost"]
    for base, name in logs_and_orphans(Partition(unit.target))[0].items():
        path, copy = Path(name), out / f"{base:020d}.log"
        data, rest, at = path.read_bytes(), b"", 0
        for loss in row["lost"]:
            if loss["file"] == path.name:
                assert at <= loss["start"] < loss["end"] <= len(data), row["lost"]
                rest, at = rest + data[at : loss["start"]], loss["end"]
        rest += data[at:]
        saved = copy.read_bytes() if copy.exists() else b""
        assert rest.startswith(saved) and not rest[len(saved) :].strip(b"\0"), (path, row["lost"])


def assert_epochs_fit(epochs: list[list[int]], directory: Path) -> None:
    """Each batch has the leader epoch that Kafka's cache has for its offset."""
    for path in sorted(directory.glob("*.log")):
        with DataFile(str(path)) as file:
            for _, header in Walk(file):
                if header.partition_leader_epoch >= 0:
                    known = [epoch for epoch, start in epochs if start <= header.base_offset]
                    assert known[-1:] == [header.partition_leader_epoch], (epochs, header)


def opened(
    oracle: Oracle, log: RandomLog, directory: Path, *, clean: bool
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return what Kafka says of a directory that it opens, and the files then."""
    copy = oracle.copy(directory)
    (kafka,) = oracle.ask(
        "truncate",
        directory=copy,
        restart="none",
        clean=clean,
        log_start_offset=0,
        recovery_point=0,
        **log.settings,
    ).values()
    after = contents(copy)
    oracle.discard(copy)
    return kafka, after


def test_a_copy_loads_without_a_change(oracle: Oracle, oracle_seed: int, tmp_path: Path) -> None:
    for number in range(cases(LOGS)):
        seed = oracle_seed + number
        log, choose = random_log(oracle, seed, damaged=False), random.Random(f"salvage:{seed}")
        for again in range(DAMAGES_EACH):
            unit, done = damaged(log, choose, tmp_path / f"{number}-{again}")
            out = tmp_path / f"out-{number}-{again}" / log.directory.name
            out.parent.mkdir()
            with about(f"log {seed} {done} {unit.target.path} {out}"):
                row, found = salvaged(unit, log, out)
                kafka, after = opened(oracle, log, out, clean=True)
                assert "error" not in kafka, kafka
                assert row["log_end_offset"] == kafka["log_end_offset"]
                before = contents(out)
                if (
                    row["log_start_offset"] == row["log_end_offset"]
                ):  # each start takes or deletes the one there
                    for files in (before, after):
                        files.pop(f"{row['log_end_offset']:020d}.snapshot", None)
                assert after == before
                if not any(
                    finding.file == EPOCHS and finding.message.startswith("offset ")
                    for finding in found.findings
                ):
                    assert_epochs_fit(kafka["epochs"], out)
            shutil.rmtree(out.parent)
        log.remove()


def snapshots(choose: random.Random, directory: Path, end: int) -> None:
    """Fill the snapshots of a metadata log, some damaged; half of the logs have one after a whole one."""
    if end > 1 and choose.random() < 0.5:
        for path in directory.glob("*.checkpoint*"):
            path.unlink()
        older, newer = sorted(choose.sample(range(end // 2, end + 1), 2))
        (directory / f"{older:020d}-{0:010d}.checkpoint").write_bytes(SNAPSHOT)
        (directory / f"{newer:020d}-{0:010d}.checkpoint").write_bytes(SNAPSHOT[: choose.randrange(1, 9432)])
        return
    for path in sorted(directory.glob("*.checkpoint")):
        path.write_bytes(SNAPSHOT if choose.random() < 0.6 else damaged_snapshot(choose, choose.randrange(5)))


def test_a_copy_of_a_metadata_log_opens_as_the_log_does(
    oracle: Oracle, oracle_seed: int, tmp_path: Path
) -> None:
    """As it does without the damaged snapshots; and Kafka reads the newest one that is left.

    A log that begins above its snapshots is saved, although no node starts with it.
    """
    for number in range(cases(LOGS)):
        choose = random.Random(f"metadata:{oracle_seed + number}")
        directory, end = written(oracle, choose, start=choose.choice([0, 40, 40]))
        (directory / "quorum-state").write_bytes(QUORUM_STATE)
        snapshots(choose, directory, end)
        out = tmp_path / str(number) / directory.name
        out.parent.mkdir()
        outcome = Salvage(out=str(out), now_ms=NOW)(unit_of(directory))
        left_out = {
            finding.file
            for finding in outcome.findings
            if finding.code == "SALV-004" and ".checkpoint" in str(finding.file)
        }
        if any(map(name_error, os.listdir(directory))):
            assert left_out
            continue
        whole = oracle.copy(directory)
        for name in left_out:
            (whole / str(name)).unlink()
        kafka = oracle.ask("metadata_log", directory=whole, now_ms=NOW)
        if "error" in kafka:
            lacks = any("no snapshot reaches it" in finding.message for finding in outcome.findings)
            # Kafka looks at the snapshots of a log that has its topic id only
            has_no_snapshot = "Inconsistent snapshot state" in kafka["message"]
            assert lacks == has_no_snapshot or kafka["error"] == "InconsistentTopicIdException", (
                kafka,
                outcome,
            )
            assert lacks or (outcome.error and outcome.error.path.startswith(str(directory))), outcome.error
            continue
        assert outcome.error is None, outcome.error
        ends = ("log_start_offset", "log_end_offset", "high_watermark")
        again = oracle.ask_of_copy("metadata_log", out, now_ms=NOW)
        assert [again.get(name) for name in ends] == [kafka[name] for name in ends], (directory, out)
        assert {path.name for path in out.glob("*.checkpoint")} == {
            path.name for path in directory.glob("*.checkpoint")
        } - left_out
        if "META-008" not in codes(outcome):
            alone = oracle.copy(out)
            for path in alone.iterdir():  # not the log: its records are none of a metadata log
                if not re.fullmatch(r"\d{20}-\d{10}\.checkpoint", path.name):
                    path.unlink()
            read = oracle.ask("metadata_snapshot", directory=alone, now_ms=NOW)
            assert "error" not in read, (directory, out, read)
        assert (out / "quorum-state").read_bytes() == QUORUM_STATE
        oracle.discard(directory)


def consumed(oracle: Oracle, directory: Path) -> list[int]:
    """Return the offsets of the records that Kafka reads from the logs of a directory."""
    found = []
    for path in sorted(directory.glob("*.log")):
        kafka = oracle.ask("records", bytes=encoded(path.read_bytes()))
        assert kafka["end"] is None, kafka
        found += [record["offset"] for batch in kafka["batches"] for record in batch["records"]]
    return found


def test_every_record_that_recovery_keeps_is_consumed_from_the_copy(
    oracle: Oracle, oracle_seed: int, tmp_path: Path
) -> None:
    for number in range(cases(LOGS)):
        log = random_log(oracle, oracle_seed + number, clean=False, damaged=False)
        unit, choose = unit_of(log.directory), random.Random(f"consumed:{oracle_seed + number}")
        path = max(sorted(log.directory.glob("*.log")), key=lambda path: path.stat().st_size)
        with DataFile(str(path)) as file:
            batches = list(Walk(file))
        if batches:  # a byte that the checksum covers: an offset that is changed is a question of its own
            at, header = choose.choice(batches)
            data = bytearray(path.read_bytes())
            data[choose.randrange(at + CRC_FROM, at + header.size)] ^= 0x55
            path.write_bytes(data)
        out = tmp_path / f"{number}" / log.directory.name
        out.parent.mkdir()
        salvaged(unit, log, out)
        copy = oracle.copy(log.directory)
        (kafka,) = oracle.ask(
            "truncate", directory=copy, restart="none", clean=False, recovery_point=0, **log.settings
        ).values()
        after = consumed(oracle, out)
        assert after == sorted(set(after))
        if "error" not in kafka:
            before = [offset for offset in consumed(oracle, copy) if offset >= kafka["log_start_offset"]]
            assert set(before) <= set(after), (log.seed, sorted(set(before) - set(after)))
        oracle.discard(copy)
        log.remove()


def test_indexes_are_those_of_recovery(oracle: Oracle, oracle_seed: int, tmp_path: Path) -> None:
    for number in range(cases(LOGS)):
        log = random_log(oracle, oracle_seed + number, clean=True, damaged=False)
        bare = tmp_path / f"{number}" / log.directory.name
        shutil.copytree(log.directory, bare)
        first = min((parse_file(path.name).base_offset or 0 for path in bare.glob("*.log")), default=0)
        for path in bare.iterdir():
            if path.suffix in REBUILT:
                path.unlink()
        _, recovered = opened(oracle, log, bare, clean=False)
        out, indexes = (tmp_path / f"{word}-{number}" / log.directory.name for word in ("all", "indexes"))
        for path in (out, indexes):
            path.parent.mkdir()
        salvaged(unit_of(bare), log, out)
        found = contents(out)
        for name in found.keys() - recovered.keys():  # of an empty log: a clean start would write it
            assert name == f"{first:020d}.snapshot" and len(found.pop(name)) == 10
        of_copy, of_log = (read_leader_epoch_checkpoint(files.pop(EPOCHS)) for files in (found, recovered))
        # a copy has no log start: the epochs of batches below it are there
        above = [entry for entry in of_copy if of_log and entry.start_offset > of_log[0].start_offset]
        assert above == of_log[1:], (log.seed, bare, out)
        assert_epochs_fit(list(map(list, of_copy)), out)
        assert found == recovered, (log.seed, bare, out)
        salvaged(unit_of(bare), log, indexes, what=INDEXES)
        found = contents(indexes)
        assert found == {name: data for name, data in recovered.items() if name in found}
        assert {Path(name).suffix for name in found} <= REBUILT
        log.remove()
