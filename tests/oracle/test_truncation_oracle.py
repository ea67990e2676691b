"""Predictions against UnifiedLog: copies of random directories loaded, truncated, closed, loaded again."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from kcli.jobs.truncate import Request
from kcli.kafka.kraft.partition_start import load
from kcli.kafka.storage.loaded_log import DEFAULT_INDEX_INTERVAL_BYTES, DEFAULT_MAX_INDEX_SIZE
from kcli.logdir.partition import Partition
from tests.oracle.truncations import SPLIT, agree, assert_split, judged_producer, predicted, thrown
from tests.partitions import recover_in_windows, unit
from tests.recordings import pack
from tests.seeds import cases

from .damages import DAMAGE, names
from .oracle import Oracle, about

pytestmark = pytest.mark.oracle

NOW = 1_700_000_000_000
DAY = 86_400_000
CASES = 300
CODECS = (["none"], ["none", "gzip"], ["lz4", "snappy"], ["zstd", "none"])


def written(oracle: Oracle, choose: random.Random) -> tuple[Path, dict[str, Any], dict[str, int]]:
    """Return a partition directory, what its writer says of it, and the log settings to open it with."""
    records, value, together = choose.choice([1, 4, 9]), choose.choice([5, 60, 300]), choose.choice([1, 3])
    settings = {
        "segment_bytes": (150 + records * (60 + value)) * together * choose.choice([1, 2, 5, 1000]),
        "index_interval_bytes": choose.choice([0, 60, 150, 400, 4096]),
        "segment_index_bytes": choose.choice([64, 200, 65536, 65536, 65536]),
    }
    directory = oracle.fresh(choose.choice(["orders-0", "a.b-c-12"]))
    answer = oracle.ask(
        "write_log",
        directory=directory,
        seed=choose.randrange(1 << 31),
        now_ms=NOW,
        **settings,
        batches=choose.randrange(0, 60),
        records_max=records,
        value_max=value,
        batches_per_append_max=together,
        codecs=choose.choice(CODECS),
        timestamps=choose.choice(["rising", "random", "random", "equal", "log_append", "none"]),
        first_epoch=choose.choice([0, 0, 5]),
        start_offset=choose.choice([0, 0, 0, 7, 1000]),
        producers=choose.choice([0, 0, 1, 3]),
        transactional_producers=choose.choice([0, 0, 1, 3]),
        gap_chance=choose.choice([0, 0, 0.1]),
        hole_chance=choose.choice([0, 0, 0.3]),
        empty_chance=choose.choice([0, 0, 0.1]),
        epoch_chance=choose.choice([0, 0.1, 0.4]),
        empty_epoch_chance=choose.choice([0, 0.03, 0.2]),
        trailing_epoch_chance=choose.choice([0, 0.5]),
        snapshot_chance=choose.choice([0, 0.1]),
        abort_chance=choose.choice([0.2, 0.8]),
        roll_chance=choose.choice([0, 0.05]),
        delete_records=choose.choice([None, None, 0.3, 0.7, 1.0]),
        delete_segments=choose.random() < 0.5,
        end=choose.choice(["clean", "clean", "kill"]),
    )
    if "error" in answer:  # a small index can be full before its segment is rolled
        assert answer["error"] == "IllegalArgumentException" and settings["segment_index_bytes"] < 1000, (
            answer
        )
        return written(oracle, choose)
    return directory, answer, settings


def targets(answer: dict[str, Any], choose: random.Random) -> int:
    """Return an offset worth truncating to: in a batch, at its ends, at a base, outside, anywhere."""
    offsets = [
        0,
        answer["log_start_offset"],
        answer["log_end_offset"],
        answer["log_end_offset"] + 5,
        max(answer["log_end_offset"] - 1, 0),
    ]
    offsets += [segment["base_offset"] for segment in answer["segments"]] * 2
    offsets += [max(segment["base_offset"] - 1, 0) for segment in answer["segments"][:1]]
    offsets += [choose.randrange(answer["log_end_offset"] + 1) for _ in range(6)]
    for batch in choose.sample(answer["batches"], min(8, len(answer["batches"]))):
        offsets += [batch["base_offset"], batch["last_offset"], batch["last_offset"] + 1]
    return choose.choice(offsets)


def agree_on_batches(row: dict[str, Any], batches: list[dict[str, int]], first_base: int) -> None:
    """What goes from an undamaged log, counted from what its writer wrote."""
    held = [
        batch
        for batch in batches
        if first_base <= batch["base_offset"] and batch["last_offset"] < row["log_end_offset_before"]
    ]
    gone = [batch for batch in held if row["kind"] != "none" and batch["last_offset"] >= row["target_offset"]]
    assert row["batches_removed"] == len(gone)
    assert row["records_removed"] == sum(batch["records"] for batch in gone)
    assert row["first_removed_offset"] == (gone[0]["base_offset"] if gone else None)
    assert row["last_removed_offset"] == (gone[-1]["last_offset"] if gone else None)


def partition_of(directory: Path) -> Partition:
    return Partition(unit(directory).target)


def is_tiered(directory: Path) -> bool:
    """Whether the log begins in remote storage, as the log dir around it says."""
    found = load(partition_of(directory), clean=False, recovery_point=0, log_start_offset=0, exact=False)
    return found.is_tiered


def agree_on_producers(directory: Path, request: Request, answer: dict[str, Any]) -> None:
    """The producers that a starting broker remembers, with their open transactions."""
    partition = partition_of(directory)
    loaded = load(
        partition,
        clean=request.shutdown == "clean",
        recovery_point=request.recovery_point or 0,
        log_start_offset=request.log_start_offset or 0,
        settings=request.known.of(
            partition,
            now_ms=request.now_ms,
            index_interval_bytes=request.index_interval_bytes,
            segment_index_bytes=request.segment_index_bytes,
        ),
    )
    producers = sorted((number, *producer) for number, producer in loaded.producers.producers.items())
    assert producers == [judged_producer(producer) for producer in answer["producers"]]
    assert loaded.producers.map_end == answer["producers_end_offset"]
    assert len(loaded.producers.ongoing) == answer["open_transactions"]


@pytest.mark.parametrize("part", range(10))
def test_truncation(oracle: Oracle, oracle_seed: int, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if part % 2:
        recover_in_windows(monkeypatch)
    for number in range(cases(CASES) // 10):
        name = f"{oracle_seed}:{part}:{number}"
        agree_on_one_case(oracle, random.Random(name), name)


def agree_on_one_case(oracle: Oracle, choose: random.Random, name: str) -> None:
    directory, answer, settings = written(oracle, choose)
    clean = choose.random() < 0.5
    damages = choose.sample(DAMAGE, choose.choice([0, 0, 1, 1, 2, 3]))
    for damage in damages:
        if names(directory, ".log"):
            damage(directory, choose)
    end = answer["log_end_offset"]
    log_start = choose.choice(
        [0, answer["log_start_offset"], answer["log_start_offset"], choose.randrange(end + 10)]
    )
    recovery_point = choose.choice([0, answer["recovery_point"], end, end + 3, choose.randrange(end + 1)])
    high_watermark = choose.choice([answer["high_watermark"], 0, end + 1, choose.randrange(end + 1)])
    target = targets(answer, choose)
    now = NOW + choose.choice([0, 0, 2 * DAY])
    request = Request(
        now_ms=now,
        to_offset=target,
        high_watermark=high_watermark,
        log_start_offset=log_start,
        recovery_point=recovery_point,
        shutdown="clean" if clean else "unclean",
        index_interval_bytes=settings["index_interval_bytes"],
        segment_index_bytes=settings["segment_index_bytes"],
    )
    row, refused = predicted(directory, request)
    before = {int(path.name.partition(".")[0]) for path in names(directory, ".snapshot")}
    judged = oracle.ask_of_copy(
        "truncate",
        directory,
        clean=clean,
        log_start_offset=log_start,
        recovery_point=recovery_point,
        high_watermark=high_watermark,
        target=target,
        now_ms=now,
        **settings,
    )
    output = f"{name} {directory} {[damage.__name__ for damage in damages]} {request}"
    if refused == SPLIT:
        assert_split(judged["loaded"], directory)
        return
    assert refused == thrown(judged), (output, judged["loaded"])
    with about(output):
        if row is not None:
            agree(row, judged, before)
            agree_on_producers(directory, request, judged["loaded"])
            if not damages:
                agree_on_batches(row, answer["batches"], judged["loaded"]["segments"][0]["base_offset"])


RECORDINGS = sorted(path.name.removesuffix(".tar.gz") for path in pack.DATA.glob("*.tar.gz"))


@pytest.mark.parametrize("name", RECORDINGS)
def test_truncation_of_recorded_directories(
    oracle: Oracle, oracle_seed: int, tmp_path: Path, name: str
) -> None:
    """Directories of real brokers, running, killed or stopped, opened as after either stop."""
    choose = random.Random(f"{oracle_seed}:{name}")
    folders = sorted(
        {
            path.parent
            for path in pack.unpack(name, tmp_path).rglob("*.log")
            if re.fullmatch(r".+-[0-9]+", path.parent.name)
        }
    )
    assert folders
    for directory in folders:
        bases = [int(path.stem) for path in names(directory, ".log")]
        clean, target = choose.random() < 0.5, choose.choice([*bases, choose.randrange(max(bases) + 50)])
        recovery_point, log_start = choose.choice([0, *bases]), choose.choice([0, 0, *bases])
        sizes = {  # given to both: kcli asks the metadata log beside it otherwise
            "index_interval_bytes": DEFAULT_INDEX_INTERVAL_BYTES,
            "segment_index_bytes": DEFAULT_MAX_INDEX_SIZE,
        }
        request = Request(
            now_ms=NOW,
            to_offset=target,
            high_watermark=10,
            log_start_offset=log_start,
            recovery_point=recovery_point,
            shutdown="clean" if clean else "unclean",
            **sizes,
        )
        row, refused = predicted(directory, request)
        judged = oracle.ask_of_copy(
            "truncate",
            directory,
            clean=clean,
            log_start_offset=log_start,
            recovery_point=recovery_point,
            high_watermark=10,
            target=target,
            now_ms=NOW,
            remote_enabled=is_tiered(directory),
            **sizes,
        )
        assert refused == thrown(judged), (directory, request, judged["loaded"])
        if row is not None:
            agree(row, judged, {int(path.name.partition(".")[0]) for path in names(directory, ".snapshot")})
            agree_on_producers(directory, request, judged["loaded"])
