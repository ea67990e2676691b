"""Messages of magic 0 and 1 against Kafka's classes: broken wrappers, lookups, starts over them."""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands.app import app
from formats.errors import FormatError
from formats.message_set import base_offset, message_set, set_records
from kcli.jobs import lookup
from kcli.jobs.truncate import Request
from tests.builders import attempt
from tests.messages import put_message, put_set, put_wrapper, random_wrapper
from tests.oracle.logs import MAX_TIMESTAMP, row
from tests.oracle.truncations import agree, predicted, thrown
from tests.partitions import log_dir, offset_entries, segment, time_entries, unit
from tests.seeds import cases

from .oracle import Oracle, about, encoded

pytestmark = pytest.mark.oracle

CASES = 1000
DIRECTORIES = 60
STARTS = 150
LIMIT = 1 << 20
NOW = 1_700_000_000_000
MEMORY = "OutOfMemoryError"
"""A size inside a wrapper that the judge's heap does not hold."""
ALIKE = {("KafkaException", "SnappyError"), ("KafkaException", "CorruptRecordException")}
"""What kcli says and the judge throws: an Error of snappy-java; a bad message before a broken stream."""


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def flipped(choose: random.Random, message: bytes) -> bytes:
    """Return the message with a bit of its attributes or of what follows flipped."""
    data = bytearray(message)
    data[choose.randrange(17, len(data))] ^= 1 << choose.randrange(8)
    return bytes(data)


def compare_records(oracle: Oracle, message: bytes, output: str) -> bool | None:
    """Return whether the judge reads the message; None where its memory is too small to say."""
    kafka = oracle.ask("records", bytes=encoded(message))
    if kafka["end"] is not None:  # the judge asks for the base offset first
        if kafka["end"]["error"] == MEMORY:
            return None
        assert isinstance(attempt(base_offset, message, LIMIT), FormatError), (output, kafka)
        return False
    (batch,) = kafka["batches"]
    assert attempt(base_offset, message, LIMIT) == batch["base_offset"], output
    mine = attempt(lambda: list(set_records(message_set(message, LIMIT))))
    if "error" in batch["records"]:
        assert isinstance(mine, FormatError) or any(record.error for record in mine), (output, batch)
        return False
    assert not any(record.error for record in mine), output
    assert [(r.offset, r.timestamp, r.key, r.value) for r in mine] == [
        (r["offset"], r["timestamp"], decoded(r["key"]), decoded(r["value"])) for r in batch["records"]
    ], output
    return True


def test_records_of_random_wrappers(oracle: Oracle, oracle_seed: int) -> None:
    whole, garbage = put_set(0, [NOW], 2, 1, 0, NOW), put_wrapper(0, b"garbage", 2, 1)
    assert compare_records(oracle, whole, "whole") is True
    assert compare_records(oracle, garbage, "garbage") is False
    for number in range(cases(CASES)):
        seed = oracle_seed + number
        choose = random.Random(seed)
        message = random_wrapper(choose) if choose.random() < 0.7 else flipped(choose, random_wrapper(choose))
        compare_records(oracle, message, f"KCLI_SEED={oracle_seed} wrapper {seed} {message.hex()}")


LENGTHS = [-2, 5, 1000, 2**31 - 1]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_lines_of_messages_whose_value_does_not_fit(
    oracle: Oracle, tmp_path: Path, magic: int, codec: int
) -> None:
    """The tool prints them by their stored sizes, and what follows them."""
    for length in LENGTHS:
        inner = [put_message(at, magic, value=(length, b"v") if at == 1 else b"v") for at in range(3)]
        data = put_wrapper(2, b"".join(inner), codec, magic) if codec else b"".join(inner)
        log = tmp_path / f"{length}" / "00000000000000000000.log"
        log.parent.mkdir()
        log.write_bytes(data)
        options = ["--deep-iteration", "--files", str(log)]
        expected = oracle.ask("dump", arguments=options)
        assert expected["status"] == 0
        done = CliRunner().invoke(app, ["dump", "-o", "text", *options])
        assert done.stdout == expected["stdout"]
        assert "is followed by" not in done.stderr


def random_log(choose: random.Random) -> tuple[list[tuple[int, int, int, bytes]], list[int]]:
    """Return entries (position, last offset, largest timestamp, bytes), in order, and records' times."""
    entries: list[tuple[int, int, int, bytes]] = []
    all_times: list[int] = []
    offset, position = choose.choice([0, 0, 1000]), 0
    for _ in range(choose.randrange(1, 25)):
        magic, codec, append = (
            choose.choice([0, 1, 1, 1]),
            choose.choice([0, 1, 2, 3]),
            choose.choice([0, 0, 8]),
        )
        times = [NOW + choose.randrange(1000) for _ in range(choose.randrange(1, 6) if codec else 1)]
        stamp = NOW + choose.randrange(1000) if append else max(times)
        if codec:
            data = put_set(offset, times, codec, magic, append, stamp)
        else:
            data = put_message(offset, magic, stamp, value=b"plain", attributes=append)
        last = offset + len(times) - 1
        entries.append((position, last, stamp if magic else -1, data))
        all_times += [stamp, *times] if magic else []
        position, offset = position + len(data), last + choose.choice([1, 1, 4])
    return entries, all_times


def write(
    root: Path, choose: random.Random, entries: list[tuple[int, int, int, bytes]], *, indexed: bool = True
) -> Path:
    """Write the entries as one segment with a sparse index, as a clean stop leaves it."""
    directory = log_dir(root) / "orders-0"
    base = 1000 if entries[0][1] >= 1000 else 0
    data = b"".join(entry[3] for entry in entries)
    sparse = [(last - base, position) for position, last, _, _ in entries[1:] if choose.random() < 0.3]
    largest, at = max(((stamp, -last) for _, last, stamp, _ in entries), default=(-1, 0))
    times = time_entries((largest, -at - base)) if largest >= 0 else b""
    segment(directory, base, data, offset_entries(*sparse) if indexed else None, times)
    return directory


def test_lookups_among_messages(oracle: Oracle, oracle_seed: int, tmp_path: Path) -> None:
    for number in range(cases(DIRECTORIES)):
        seed = oracle_seed + number
        choose = random.Random(seed)
        entries, times = random_log(choose)
        directory = write(tmp_path / str(number), choose, entries, indexed=choose.random() < 0.8)
        asked = [MAX_TIMESTAMP, 0, *{at + by for at in times for by in (0, 1)}]
        kafka = oracle.ask_of_copy("lookup", directory, timestamps=asked)
        for timestamp, answer in zip(asked, kafka["timestamps"], strict=True):
            output = f"KCLI_SEED={oracle_seed} log {seed} timestamp {timestamp}"
            outcome = lookup.timestamp(
                unit(directory), timestamp=None if timestamp == MAX_TIMESTAMP else timestamp
            )
            mine = row(outcome)
            selected = {"found": answer is not None, "leader_epoch": None if answer is None else -1}
            if answer is not None:
                selected |= {
                    "record_timestamp": answer["timestamp"],
                    "offset": answer["offset"],
                    "position": answer["position"],
                }
            assert {name: mine[name] for name in selected} == selected, (output, mine)


def test_starts_over_random_wrappers(oracle: Oracle, oracle_seed: int, tmp_path: Path) -> None:
    """A start opens wrappers to find its log end and fails on broken ones; recovery sees checksums."""
    for number in range(cases(STARTS)):
        seed = oracle_seed + number
        choose = random.Random(seed)
        entries, _ = random_log(choose)
        broken = choose.randrange(len(entries))
        position, last, stamp, _ = entries[broken]
        wrapper = random_wrapper(choose)
        entries[broken:] = [(position, last, stamp, last.to_bytes(8, "big") + wrapper[8:])]
        directory = write(tmp_path / str(number), choose, entries, indexed=choose.random() < 0.9)
        clean, target = choose.random() < 0.7, choose.choice([last, last + 1, entries[0][1]])
        shared = {"recovery_point": 0, "log_start_offset": 0, "high_watermark": 0, "now_ms": NOW}
        request = Request(to_offset=target, shutdown="clean" if clean else "unclean", **shared)
        mine, refused = predicted(directory, request)
        judged = oracle.ask_of_copy("truncate", directory, clean=clean, target=target, **shared)
        if thrown(judged) == MEMORY:
            continue
        output = f"KCLI_SEED={oracle_seed} log {seed} {wrapper.hex()} {judged['loaded']}"
        assert refused == thrown(judged) or (refused, thrown(judged)) in ALIKE, output
        if mine is not None:
            with about(output):
                agree(mine, judged, set())
