"""Texts of indexes beside logs of every magic, either damaged, against DumpLogSegments, stderr too."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.messages import put_message
from tests.partitions import offset_entries, put_range, segment, time_entries
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

BATCHES = 40
INT32 = (1, -1, 2**31 - 1, -(2**31), 14, 17, 60)
FINDING = ("info ", "warning ", "error ")
OPTIONS = (
    [],
    ["--verify-index-only"],
    ["--max-message-size", "60"],
    ["--max-message-size", "200"],
    ["--index-sanity-check"],
)


def made(choose: random.Random, directory: Path) -> dict[str, bytearray]:
    """Write a segment of a random magic, and indexes of every fourth batch; return its files' bytes."""
    magic, log, offset, places = choose.choice([0, 1, 2, 2]), b"", 1, []
    for number in range(BATCHES):
        count = choose.randrange(1, 4) if magic == 2 else 1
        time = 1000 + 10 * number + count - 1
        if number % 4 == 0:
            places.append((offset + count - 1, len(log), time if magic else -1))
        one = (
            put_range(offset, count, timestamp=time - count + 1)
            if magic == 2
            else put_message(offset, magic, time, value=b"v" * number)
        )
        log += one
        offset += count
    files = {
        "log": log,
        "index": offset_entries(*((last, position) for last, position, _ in places)),
        "timeindex": time_entries(*((time, last) for last, _, time in places)),
    }
    segment(directory, 0, **files)
    return {name: bytearray(data) for name, data in files.items()}


def damage(choose: random.Random, files: dict[str, bytearray]) -> None:
    """Change one of the files, but make no entry zeros: kcli takes those for what is preallocated."""
    log, index, times = files["log"], files["index"], files["timeindex"]
    starts, position = [], 0
    while position + 17 <= len(log):
        starts.append(position)
        position += 12 + int.from_bytes(log[position + 8 : position + 12])
    if not starts:
        return
    start, entry, time = (
        choose.choice(starts),
        8 * choose.randrange(len(index) // 8),
        12 * choose.randrange(len(times) // 12),
    )
    match choose.randrange(9):
        case 0:
            log[start + 16] = choose.choice([0, 1, 2, 3, 0x80, 0xD2, 0xFF])
        case 1:
            log[start + 8 : start + 12] = choose.choice([*INT32, 0, len(log)]).to_bytes(4, signed=True)
        case 2:
            log[start : start + 8] = choose.choice([0, 1, -1, 2**63 - 1]).to_bytes(8, signed=True)
        case 3:
            del log[choose.randrange(len(log)) :]
        case 4:
            log[choose.randrange(len(log))] ^= 1 << choose.randrange(8)
        case 5:
            index[entry + 7] ^= 1 << choose.randrange(4)
        case 6:
            index[entry : entry + 4] = choose.choice(INT32).to_bytes(4, signed=True)
        case 7:
            times[time + 7] ^= 1 << choose.randrange(4)
        case 8:
            times[time + 8 : time + 12] = choose.choice(INT32).to_bytes(4, signed=True)


def test_indexes_beside_damage_are_printed_as_the_tool_prints_them(oracle: Oracle, oracle_seed: int):
    from commands.app import app

    choose = random.Random(oracle_seed)
    for number in range(cases(150)):
        directory = oracle.fresh("t-0")
        files = made(choose, directory)
        for _ in range((0, 1, 1, 2)[number % 4]):
            damage(choose, files)
        for name, data in files.items():
            (directory / f"{0:020d}.{name}").write_bytes(data)
        options = choose.choice(OPTIONS)
        for name in ("index", "timeindex"):
            path = directory / f"{0:020d}.{name}"
            expected = oracle.ask("dump", arguments=["--files", str(path), *options])
            done = CliRunner().invoke(app, ["dump", "-o", "text", *options, "--files", str(path)])
            context = (files["log"].hex(), files["index"].hex(), files["timeindex"].hex(), name, options)
            if expected["status"]:
                assert done.stdout.startswith(expected["stdout"]), context
                continue
            assert done.stdout == expected["stdout"], context
            summary = [line for line in done.stderr.splitlines() if not line.startswith(FINDING)]
            assert summary == expected["stderr"].splitlines(), context
        oracle.discard(directory)
