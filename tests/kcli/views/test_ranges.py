"""Offsets and times that are selected of logs: what comes out is what a filter over everything leaves."""

import json
import random

import pytest

from kcli.logdir import bulk
from tests.kcli.dump.random_logs import log as random_log
from tests.kcli.views.reading import read, tasks, written
from tests.partitions import log_dir, offset_entries, put_range, segment

pytestmark = pytest.mark.slow


def found(view, path, **options):
    return read(view, tasks(view, path, 1, **options))


def dumped(kcli, view, path, **options):
    """Return what `kcli dump` shows of the files: the names and places of rows."""
    words = [*(["--records"] if view == "records" else []), "-o", "ndjson", path]
    for option, value in options.items():
        words += ["--time" if option == "times" else f"--{option}", value]
    lines = map(json.loads, kcli("dump", *words).stdout.splitlines())
    return [places(view, row) for row in lines if row["type"].startswith("dump_")]


def places(view, row):
    return [row[name] for name in ("file", "position", "offset" if view == "records" else "base_offset")]


def last_offset(batch):
    return int.from_bytes(batch[:8], "big") + int.from_bytes(batch[23:27], "big")


def some(chance, numbers):
    low, high = sorted(chance.choices([*numbers, min(numbers) - 1, max(numbers) + 1], k=2))
    return chance.choice([f"{low}..{high}", f"{low}..", f"..{high}"])


@pytest.mark.parametrize("view", ["batches", "records"])
@pytest.mark.parametrize("seed", range(10))
def test_rows_of_random_logs_are_those_of_dump(seed, view, kcli, tmp_path, monkeypatch):
    chance = random.Random(seed)
    monkeypatch.setattr(bulk, "BULK_WINDOW", chance.choice([400, 3000, 1 << 20]))
    batches = random_log(chance)
    data = bytearray(b"".join(batches))
    for _ in range(chance.choice([0, 0, 1, 2])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path = written(tmp_path, batches, data, list(map(last_offset, batches)))
    everything = found(view, path)
    offset, time = ("offset", "timestamp") if view == "records" else ("last_offset", "max_timestamp")
    for _ in range(8):
        options = {
            "offsets": some(chance, [max(row[offset], 0) for row in everything]),
            "times": some(chance, [row[time] for row in everything]),
        }
        options.pop(chance.choice(["offsets", "times", "neither"]), None)
        if "-" in options.get("offsets", ""):
            continue  # no offset of an option of dump
        left = [places(view, row) for row in found(view, path, **options)]
        assert left == dumped(kcli, view, path, **options)


@pytest.mark.parametrize("view", ["batches", "records"])
@pytest.mark.parametrize("seed", range(6))
def test_offsets_are_those_of_dump_where_base_offsets_or_indexes_are_wrong(
    seed, view, kcli, tmp_path, monkeypatch
):
    monkeypatch.setattr(bulk, "BULK_WINDOW", 700)
    monkeypatch.setattr(bulk, "SMALLEST_WINDOW", 100)
    chance = random.Random(seed)
    folder = log_dir(tmp_path / "d") / "orders-0"
    for base in (0, 60, 120):
        batches = [bytearray(put_range(base + number * 5, 5)) for number in range(12)]
        entries = [[number * 5 + 4, number * len(batches[0])] for number in range(1, 12)]
        for _ in range(chance.randrange(4)):
            batches[chance.randrange(12)][:8] = chance.choice([chance.randrange(200), 10**6]).to_bytes(
                8, "big"
            )
        if chance.random() < 0.3:
            entries = [[max(0, offset - 9), position] for offset, position in entries]
        segment(folder, base, b"".join(batches), offset_entries(*entries))
    for _ in range(5):
        words = some(chance, range(1, 180))
        left = [places(view, row) for row in found(view, folder, offsets=words)]
        assert left == dumped(kcli, view, folder, offsets=words)


def test_reading_ends_after_the_range(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "BULK_WINDOW", 400)
    monkeypatch.setattr(bulk, "SMALLEST_WINDOW", 400)
    monkeypatch.setattr("kcli.dump.pauses.BYTES_PER_CALL", 1)
    batches = [put_range(number * 5, 5) for number in range(200)]
    path = written(tmp_path, batches, None, list(map(last_offset, batches)))
    read_to = []
    read_into = bulk.DataFile.read_into
    monkeypatch.setattr(
        bulk.DataFile, "read_into", lambda file, view, at: read_to.append(at) or read_into(file, view, at)
    )

    rows = found("records", path, offsets="500..504")

    assert [row["offset"] for row in rows] == [500, 501, 502, 503, 504]
    assert len(batches[0]) * 90 < min(read_to) <= max(read_to) < len(batches[0]) * 120


def test_other_files_have_no_such_rows(tmp_path):
    path = written(tmp_path, [put_range(number * 5, 5) for number in range(3)])

    with_index = f"{path},{path.with_suffix('.index')}"
    assert found("records", with_index, offsets="1..3") == found("records", path, offsets="1..3") != []
