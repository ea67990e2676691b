"""Damaged starts of random directories: `ls`, `epoch`, `lookup`, `truncate` against LogLoader."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kcli.engine.contract import Outcome, Unit
from kcli.jobs import epoch as epoch_jobs
from kcli.jobs import lookup, ls
from kcli.jobs.log_starts import StartRequest
from kcli.jobs.truncate import Request, dry_run
from kcli.kafka.kraft.partition_start import LOAD_FAILED
from kcli.kafka.storage.batch_records import LOOKUP_FAILED
from kcli.kafka.storage.loaded_log import DEFAULT_INDEX_INTERVAL_BYTES
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Walk
from kcli.rows import Failure
from tests.oracle.damages import damaged
from tests.oracle.truncations import assert_split
from tests.partitions import recover_in_windows, rows
from tests.partitions import unit as unit_of
from tests.seeds import cases

from .damages import names
from .logs import MAX_TIMESTAMP, NOW, RandomLog, random_log
from .oracle import Oracle, about

pytestmark = pytest.mark.oracle

PARTS = 10
LOGS = 20
DAMAGES_EACH = 5
OFFSETS = 12
REBUILT = {"IDX-001", "START-004"}
UNSUPPORTED = "unsupported"
"""What kcli says that it cannot foresee: a segment that the broker would split."""


def _as_error(listed: Outcome) -> Outcome:
    """Return an answer of `ls` as other commands give it: of a log that does not load it has a finding."""
    for finding in listed.findings:
        if finding.code == "START-008":
            message = f"would not load this log: {finding.message}"
            return replace(
                listed, error=Failure(finding.path or "", LOAD_FAILED, finding.position, None, message)
            )
    return listed


def request(log: RandomLog, target: int) -> Request:
    return Request(now_ms=NOW, to_offset=target, segment_index_bytes=log.settings["segment_index_bytes"])


def assert_start_agrees(unit: Unit, log: RandomLog, kafka: dict[str, Any], target: int) -> str | None:
    """Compare a start by the commands with LogLoader's; return why there is nothing to compare."""
    row = _as_error(ls.ls(unit, request=StartRequest()))
    answers = [
        row,
        epoch_jobs.show(unit),
        epoch_jobs.end_offset(unit, epochs=None),
        lookup.offset(unit, offset=0),
    ]
    answers.append(dry_run(unit, request=request(log, target)))
    if log.clean:
        answers.append(_as_error(ls.ls(unit)))
    starts, listings = len(answers), (row, *answers[5:])
    answers.append(lookup.timestamp(unit, timestamp=0))  # of records, too: compressed ones may be unsupported
    unsupported = [answer.error is not None and answer.error.error == UNSUPPORTED for answer in answers]
    if any(unsupported[:starts]):
        assert all(unsupported), answers
        assert_split(kafka, Path(unit.target.path))
        return UNSUPPORTED
    if "error" in kafka:
        for answer in answers:
            assert answer.error is not None, kafka
            assert answer.error.error == LOAD_FAILED, (answer.error, kafka)
            assert f"would not load this log: {kafka['error']}" in answer.error.message, (answer.error, kafka)
        return kafka["error"]
    assert not any(answer.error is not None and answer.error.error == LOAD_FAILED for answer in answers), (
        answers
    )
    ends = (kafka["log_start_offset"], kafka["log_end_offset"])
    for answer in listings:
        (listed,) = rows(answer)
        assert (listed["log_start_offset"], listed["log_end_offset"]) == ends, (listed, kafka)
        assert listed["latest_epoch"] == (kafka["epochs"][-1][0] if kafka["epochs"] else None)
    assert [[found["epoch"], found["start_offset"]] for found in rows(answers[1])] == kafka["epochs"]
    assert {found["log_end_offset"] for found in rows(answers[2])} == {ends[1]}
    if answers[4].error is None:
        (truncation,) = rows(answers[4])
        before = (truncation["log_start_offset_before"], truncation["log_end_offset_before"])
        assert before == ends
        assert [[e["epoch"], e["start_offset"]] for e in truncation["epochs_before"]] == kafka["epochs"]
    return None


def assert_lookup_agrees(outcome: Outcome, kafka: dict[str, Any], *, with_index: bool) -> None:
    """Compare the batch that a fetch returns first, or the exception of the broker."""
    if "error" in kafka and kafka["error"] != "OffsetOutOfRangeException":
        assert outcome.error is not None, kafka
        assert outcome.error.error == LOOKUP_FAILED, (outcome.error, kafka)
        assert kafka["error"] in outcome.error.message, (outcome.error, kafka)
        return
    (mine,) = rows(outcome)
    assert mine["found"] == kafka.get("found", False), (mine, kafka)
    # the entries of a rebuilt index depend on index.interval.bytes, which no lookup knows
    with_index = with_index and not REBUILT & {finding.code for finding in outcome.findings}
    if mine["found"]:
        same = ["segment_base_offset", "position", "batch_last_offset", "leader_epoch"]
        same += ["index_entry_offset", "index_entry_position"] * with_index
        assert {key: mine[key] for key in same} == {key: kafka[key] for key in same}


def assert_timestamp_agrees(outcome: Outcome, kafka: dict[str, Any] | None) -> None:
    """Compare the record that ListOffsets finds; where the broker fails, kcli gives an error."""
    if kafka is not None and "error" in kafka:
        assert outcome.error is not None, kafka
        return
    (mine,) = rows(outcome)
    assert mine["found"] == (kafka is not None), (mine, kafka)
    if kafka is not None:
        assert (mine["offset"], mine["record_timestamp"]) == (kafka["offset"], kafka["timestamp"]), kafka


def one_case(oracle: Oracle, log: RandomLog, choose: random.Random, into: Path) -> None:
    unit, done = damaged(log, choose, into)
    directory = into / log.directory.name
    end = log.facts["log_end_offset"]
    offsets = sorted({0, end, *(choose.randrange(end + 3) for _ in range(OFFSETS))})
    timestamps = [
        MAX_TIMESTAMP,
        0,
        *(NOW - 3_600_000 + choose.randrange(-700_000, 700_000) for _ in range(4)),
    ]
    opening = {key: value for key, value in log.opening.items() if key != "high_watermark"}
    # recovery fails by the entries that it adds to an index; only `truncate` has an option for its interval
    opening["index_interval_bytes"] = DEFAULT_INDEX_INTERVAL_BYTES
    kafka = oracle.ask_of_copy("lookup", directory, offsets=offsets, timestamps=timestamps, **opening)
    with about(f"log {log.seed} clean={log.clean} {log.damage} {done} {into}"):
        reason = assert_start_agrees(unit, log, kafka, choose.randrange(end + 1))
        if reason is None:
            for offset, answer in zip(offsets, kafka["offsets"], strict=True):
                # below the log start the log itself would still read; the partition refuses
                if offset >= kafka["log_start_offset"]:
                    assert_lookup_agrees(lookup.offset(unit, offset=offset), answer, with_index=log.clean)
            for timestamp, found in zip(timestamps, kafka["timestamps"], strict=True):
                asked = None if timestamp == MAX_TIMESTAMP else timestamp
                assert_timestamp_agrees(lookup.timestamp(unit, timestamp=asked), found)
    shutil.rmtree(into)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_command_answers_for_a_damaged_start_as_the_broker(
    oracle: Oracle, oracle_seed: int, tmp_path: Path, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if part % 2:
        recover_in_windows(monkeypatch)
    for number in range(cases(LOGS)):
        seed = oracle_seed + 1000 * part + number
        log, choose = random_log(oracle, seed, damaged=False), random.Random(f"start:{seed}")
        for again in range(DAMAGES_EACH):
            one_case(oracle, log, choose, tmp_path / f"{number}-{again}")
        log.remove()


def test_a_clean_start_reads_the_log_from_its_first_unstable_offset_on(
    oracle: Oracle, oracle_seed: int
) -> None:
    """A clean stop leaves producer snapshots: no other batch is read. One of the first has a wrong length."""
    for seed in range(oracle_seed, oracle_seed + 3 * LOGS):
        choose, directory = random.Random(f"unstable:{seed}"), oracle.fresh(f"topic-{seed % 10}")
        settings = {"segment_bytes": 8192, "index_interval_bytes": 4096, "segment_index_bytes": 65536}
        settings["now_ms"] = NOW
        chances = {"batches": 30, "transactional_producers": 2, "end_chance": 0.05}
        request = {"seed": seed, "end": "clean", "checkpoints": True, **chances, **settings}
        facts = oracle.ask("write_log", directory=directory, **request)
        log = RandomLog(seed, directory, clean=True, damage=(), facts=facts, settings=settings)
        path = names(directory, ".log")[0]
        with DataFile(str(path)) as file:
            position, _ = choose.choice(list(Walk(file))[:8])
        data = bytearray(path.read_bytes())
        data[position + 8 : position + 12] = bytes([0, 0, 0, 1])
        path.write_bytes(data)
        opening = {key: value for key, value in log.opening.items() if key != "high_watermark"}
        kafka = oracle.ask_of_copy("lookup", directory, **opening)
        end = choose.randrange(facts["log_end_offset"])
        assert_start_agrees(unit_of(directory.parent), log, kafka, end)
        log.remove()
