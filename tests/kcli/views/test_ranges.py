"""Offsets and times that are selected of logs: what comes out is what a filter over everything leaves."""

import json
import random

import pytest

from kcli.logdir import bulk
from kcli.views import planning
from kcli.views.filters import pushed
from kcli.views.options import RANGES, query
from kcli.views.planning import planned
from tests.formats import recorded
from tests.kcli.dump.random_logs import log as random_log
from tests.kcli.views.reading import read, written
from tests.partitions import log_dir, offset_entries, put_range, segment

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def as_blocks(monkeypatch):
    monkeypatch.setattr(planning, "SMALL_LOG", 0)


def found(view, path, **options):
    asked = query({"view": view, "path": str(path), **options})
    return read(view, planned(asked, pushed(asked.filters), 1).bins)


def inside(row, view, name, words):
    first, last = (int(word) if word else None for word in words.split(".."))
    upper, lower = RANGES[name][view]
    return (first is None or row[upper] >= first) and (last is None or row[lower] <= last)


def filtered(view, path, **options):
    return [
        row
        for row in found(view, path)
        if all(inside(row, view, name, words) for name, words in options.items())
    ]


def last_offset(batch):
    return int.from_bytes(batch[:8], "big") + int.from_bytes(batch[23:27], "big")


def some(chance, numbers):
    low, high = sorted(chance.choices([*numbers, min(numbers) - 1, max(numbers) + 1], k=2))
    return chance.choice([f"{low}..{high}", f"{low}..", f"..{high}"])


@pytest.mark.parametrize("view", ["batches", "records"])
@pytest.mark.parametrize("seed", range(10))
def test_random_logs_and_damage(seed, view, tmp_path, monkeypatch):
    chance = random.Random(seed)
    monkeypatch.setattr(bulk, "WINDOW", chance.choice([400, 3000, 1 << 20]))
    batches = random_log(chance)
    data = bytearray(b"".join(batches))
    for _ in range(chance.choice([0, 0, 1, 2])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path = written(tmp_path, batches, data, list(map(last_offset, batches)))
    everything = found(view, path)
    offset, time = RANGES["offsets"][view][0], RANGES["times"][view][0]
    rise = [row[offset] for row in everything] == sorted({row[offset] for row in everything})
    for _ in range(8):
        options = {
            "offsets": some(chance, [row[offset] for row in everything]),
            "times": some(chance, [row[time] for row in everything]),
        }
        options.pop(chance.choice(["offsets", "times", "neither"]), None)
        left, expected = found(view, path, **options), filtered(view, path, **options)
        if rise or "offsets" not in options:
            assert left == expected
        else:
            assert all(row in expected for row in left)


@pytest.mark.parametrize("view", ["batches", "records"])
@pytest.mark.parametrize("small", [0, 1 << 20], ids=["blocks", "rows"])
@pytest.mark.parametrize("seed", range(6))
def test_offsets_are_those_of_dump_where_base_offsets_or_indexes_are_wrong(
    seed, small, view, kcli, tmp_path, monkeypatch
):
    monkeypatch.setattr(planning, "SMALL_LOG", small)
    monkeypatch.setattr(bulk, "WINDOW", 700)
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
        done = kcli(
            "dump", *(["--records"] if view == "records" else []), "--offsets", words, "-o", "ndjson", folder
        )
        expected = [
            row for row in map(json.loads, done.stdout.splitlines()) if row["type"].startswith("dump_")
        ]
        names = ("file", "position", "offset" if view == "records" else "base_offset")

        assert [[row[name] for name in names] for row in found(view, folder, offsets=words)] == [
            [row[name] for name in names] for row in expected
        ]


@pytest.mark.parametrize("name", [*recorded.LOGS, *recorded.LEGACY])
def test_records_of_recorded_logs(name, tmp_path):
    folder = log_dir(tmp_path / "d") / "orders-0"
    segment(folder, 0, recorded.stored(f"{name}.log"), None, None)
    offsets = sorted(row["offset"] for row in found("records", folder)) or [0]
    middle = f"{offsets[len(offsets) // 3]}..{offsets[2 * len(offsets) // 3]}"

    left = found("records", folder, offsets=middle)

    assert left == filtered("records", folder, offsets=middle)
    assert left or name == "v1-lz4-other-checksum"


def test_reading_ends_after_the_range(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "WINDOW", 400)
    monkeypatch.setattr(bulk, "SMALLEST_WINDOW", 400)
    monkeypatch.setattr("kcli.dump.resume.BYTES_PER_CALL", 1)
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
