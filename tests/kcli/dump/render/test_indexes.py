"""Index entries against the log: found where the offset index leads, without a second walk."""

import random

import pytest

from kcli.dump.options import DumpOptions
from kcli.dump.render import indexes
from kcli.dump.render.indexes import Finder
from kcli.kafka.findings.findings import merged
from kcli.logdir.buffers import DataFile
from kcli.logdir.indexes import OffsetIndexFile
from kcli.logdir.segment import Walk
from tests.builders import put_record, put_records
from tests.kcli.dump.plain import codes_of, errors_of, printed, scanned
from tests.partitions import offset_entries

BATCHES = 300


@pytest.fixture
def log(tmp_path):
    """A log of batches of one to three records whose offsets rise, but for two of them."""
    choose = random.Random(3)
    data, offset, places = b"", 0, []
    for number in range(BATCHES):
        count = choose.randrange(1, 4)
        base = 0 if number in {100, 200} else offset
        places.append((base + count - 1, len(data)))
        data += put_records(
            [put_record(delta) for delta in range(count)], base_offset=base, last_offset_delta=count - 1
        )
        offset += count
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(data)
    with DataFile(str(path)) as file:
        yield file, places


def fresh(log, offsets, offset):
    position = offsets.lookup(offset)[1]
    return next((batch for batch in Walk(log, position) if batch.header.last_offset >= offset), None)


@pytest.mark.parametrize("every", [0, 7, 50])
def test_what_is_found_is_what_a_walk_from_the_index_finds(log, tmp_path, every):
    file, places = log
    entries = places[every::every] if every else []
    (tmp_path / "x.index").write_bytes(offset_entries(*entries))
    choose = random.Random(every)
    rising = sorted(choose.randrange(700) for _ in range(200))
    with OffsetIndexFile(str(tmp_path / "x.index"), 0) as offsets:
        finder = Finder(file, offsets)
        for offset in (*rising, *(choose.randrange(700) for _ in range(200))):
            assert finder.batch(offset) == fresh(file, offsets, offset)


def test_without_entries_the_log_is_walked_once(log, monkeypatch):
    walked = 0

    class Counted(Walk):
        def __iter__(self):
            nonlocal walked
            for batch in super().__iter__():
                walked += 1
                yield batch

    monkeypatch.setattr(indexes, "Walk", Counted)
    file, places = log
    finder = Finder(file, None)
    expected = sorted({last for last, _ in places if last > 2})
    assert [finder.batch(last).header.last_offset for last in expected] == expected
    assert [finder.batch(10**6 + more) for more in range(100)] == [None] * 100
    assert walked <= 3 * BATCHES


ENTRY = 8
OPTIONS = {
    "text": DumpOptions(text=True),
    "verified": DumpOptions(text=True, verify_index_only=True),
    "small reads": DumpOptions(text=True, max_message_size=80),
    "rows": DumpOptions(),
}


def reported(path, options):
    rows, outcomes = scanned(path, options)
    findings = merged(finding for outcome in outcomes for finding in outcome.findings)
    return printed(rows) if options.text else rows, findings, errors_of(outcomes)


def wrong(chance, entries, size):
    """Return the bytes of an index some of whose entries are not what they were."""
    data = bytearray(offset_entries(*entries))
    changed = chance.choice([0, 0, 1, 1, 2, 5])
    for _ in range(changed):
        at = chance.randrange(len(entries)) * ENTRY
        what = chance.randrange(6)
        if what == 0:
            data[at : at + ENTRY] = bytes(ENTRY)
        elif what == 1:
            data[at : at + 4] = chance.choice([0, 1, -1, 600, 2**31 - 1]).to_bytes(4, "big", signed=True)
        elif what == 2:
            data[at + 4 : at + ENTRY] = chance.choice([0, 1, -1, -100, size, size - 20, 2**31 - 1]).to_bytes(
                4, "big", signed=True
            )
        elif what == 3:
            data[at + ENTRY : at + ENTRY] = data[at : at + ENTRY]
        elif what == 4:
            del data[at : at + ENTRY]
        else:
            data[at + 7] ^= 1 << chance.randrange(8)
    return bytes(data) + chance.choice([b"", b"", bytes(ENTRY * 3), b"abc"])


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("seed", range(40))
def test_entries_in_a_block_give_what_each_alone_gives(log, monkeypatch, name, seed):
    file, places = log
    chance, options = random.Random(seed), OPTIONS[name]
    path = file.path.replace(".log", ".index")
    entries = [place for place in places[1 :: chance.choice([1, 3])] if place[0] > 2]
    with open(path, "wb") as index:
        index.write(wrong(chance, entries, file.size))
    with open(file.path, "r+b") as data:
        for _ in range(chance.choice([0, 0, 1, 4])):
            at, byte = chance.choice(
                [
                    (11, 20),
                    (16, 0),
                    (16, 1),
                    (16, 3),
                    (16, 255),
                    (chance.randrange(30), chance.randrange(256)),
                ]
            )
            data.seek(chance.choice(entries)[1] + at)
            data.write(bytes([byte]))
        if seed % 5 == 0:
            data.truncate(file.size - chance.randrange(200))
    at_once = reported(path, options)
    with monkeypatch.context() as patch:
        patch.setattr(indexes, "ENTRIES_PER_BLOCK", 1)
        patch.setattr(indexes, "leads_to_its_batch", lambda *_: False)
        assert reported(path, options) == at_once
    if options.text and not options.verify_index_only:
        assert at_once[0][0]


def test_a_batch_beyond_the_bound_on_what_is_read_is_no_misfit(log, tmp_path):
    _, places = log
    (tmp_path / f"{0:020}.index").write_bytes(offset_entries(places[10]))
    _, outcomes = scanned(tmp_path / f"{0:020}.index", DumpOptions(text=True, max_message_size=10))
    assert codes_of(outcomes) == []
