"""Text in bulk is the text of the plain writer, and of DumpLogSegments, to the letter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.batch import BATCH
from formats.control import control_record
from formats.errors import FormatError
from formats.record import batch_records
from formats.record_columns import FallbackBatch, headers_at, record_columns
from kcli.dump.render import text_columns as module
from kcli.dump.render.lines import INDENT, batch_line, contents, control_text, plain, record_line
from kcli.dump.render.text_columns import Trouble, batch_text, non_consecutive, record_text
from kcli.logdir.segment import Batch
from tests.builders import joined, put_batch, put_record, put_records
from tests.examples import examples
from tests.formats.recorded import LOGS, batches, stored

LIMIT = 1 << 20
INTS = st.integers(-(1 << 31), (1 << 31) - 1)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
# the bytes at which the texts of Java and Python could part, a newline, and what is no ASCII
TEXT = st.lists(
    st.sampled_from(b"A,\n\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc2\xdf\xe0\xe1\xed\xef\xf0\xf1\xf4\xf5\xff"),
    max_size=6,
).map(bytes)
CONTENT = st.none() | TEXT | st.sampled_from(["\u20ac", "\U0001f600", "plain"]).map(str.encode)
HEADERS = st.lists(st.tuples(TEXT, CONTENT), max_size=3).map(tuple)
RECORDS = st.lists(st.tuples(INTS, LONGS, CONTENT, CONTENT, HEADERS), max_size=4)
BATCHES = st.lists(
    st.builds(
        lambda records, codec, flags, **fields: put_records(
            [put_record(*row) for row in records], codec, attributes=flags, **fields
        ),
        RECORDS,
        st.integers(0, 4),
        st.integers(0, 0xF).map(lambda flags: flags << 3),
        base_offset=LONGS,
        base_timestamp=LONGS,
        max_timestamp=LONGS,
        base_sequence=INTS,
        last_offset_delta=INTS,
        partition_leader_epoch=INTS,
        producer_id=LONGS,
        producer_epoch=st.integers(-(1 << 15), (1 << 15) - 1),
    ),
    min_size=1,
    max_size=4,
)


def slow(given, positions, valid, troubles, **shown):
    """Return the lines of the plain writer, as the dump prints them."""
    lines = []
    for number, (raw, position, right) in enumerate(zip(given, positions, valid, strict=True)):
        header = BATCH.read(raw)
        lines.append(batch_line(Batch(position, header), valid=right))
        for record in batch_records(raw, LIMIT):
            words = ""
            if shown["metadata"]:
                words = record_line(record, header.timestamp_type)
                if header.is_control:
                    try:
                        words += control_text(control_record(record.key, record.value))
                    except FormatError as error:
                        troubles.append((number, record.offset, str(error)))
            if shown["contents"] and not header.is_control:
                words += "".join(contents(plain(record), " " if shown["metadata"] else f"{INDENT} "))
            lines.append(words)
    return "".join(f"{line}\n" for line in lines)


def fast(given, positions, valid, troubles, **shown):
    window, places = joined(given)
    texts, told = [], []
    for columns in record_columns(window, places, LIMIT):
        assert not isinstance(columns, FallbackBatch)
        span = slice(columns.first, columns.first + len(columns.headers))
        texts += record_text(columns, positions[span], valid[span], told, **shown)
        troubles += [(columns.first + batch, offset, str(error)) for batch, offset, error in told]
        told.clear()
    return "".join(texts)


def check(given, valid=None):
    positions = [(3 << 40) + place for place in joined(given)[1]]
    valid = valid if valid is not None else [True] * len(given)
    for shown in ({"contents": c, "metadata": m} for c in (True, False) for m in (True, False)):
        expected, found = [], []
        assert fast(given, positions, valid, found, **shown) == slow(
            given, positions, valid, expected, **shown
        )
        assert found == expected


@pytest.mark.parametrize("name", LOGS)
def test_recorded_files_are_printed_as_the_tool_printed_them(name):
    found = batches(f"{name}.log")
    golden = stored(f"{name}.print.txt").decode()
    text = fast(
        [raw for _, raw in found],
        [position for position, _ in found],
        [True] * len(found),
        [],
        contents=True,
        metadata=True,
    )
    words = golden.split("\n", 2)[2]
    assert words == text


@pytest.mark.parametrize("name", LOGS)
def test_recorded_files(name):
    check([raw for _, raw in batches(f"{name}.log")])


@examples(100)
@given(BATCHES, st.data())
def test_any_batches(given_batches, data):
    check(
        given_batches,
        data.draw(st.lists(st.booleans(), min_size=len(given_batches), max_size=len(given_batches))),
    )


@examples(60)
@given(BATCHES, st.integers(1, 3))
def test_pieces_of_any_size_say_the_same(given_batches, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LINES_AT_ONCE", size)
        check(given_batches)


def test_empty_batches_stand_where_they_are(monkeypatch):
    empty, full = put_batch(b"", 0, base_offset=7), put_records([put_record(0, 0, b"k", b"v")] * 3)
    for size in (1, 2, 3, 100):
        monkeypatch.setattr(module, "LINES_AT_ONCE", size)
        check([empty])
        check([empty, empty, full, empty, full, full, empty, empty])


def test_header_lines_of_every_codec_and_magic():
    found = [
        put_batch(b"", 0, attributes=codec, magic=magic, crc=0xFFFFFFFF)
        for codec in range(8)
        for magic in (2, 3, 127)
    ]
    window, positions = joined(found)
    valid = [bool(number % 3) for number in range(len(found))]
    lines = [
        batch_line(Batch(at, BATCH.read(raw)), valid=right)
        for raw, at, right in zip(found, positions, valid, strict=True)
    ]
    assert batch_text(headers_at(window, positions), positions, valid) == "".join(
        f"{line}\n" for line in lines
    )


def test_control_records_that_cannot_be_told_are_troubles():
    bad = put_records(
        [put_record(0, 0, b"\0", b"x"), put_record(1, 0, b"\0\0\0\0", b"\0\0\0\0\0\7")],
        attributes=0x20,
        base_offset=5,
    )
    window, positions = joined([put_records([put_record()]), bad])
    (columns,) = record_columns(window, positions, LIMIT)
    troubles = []
    (text,) = record_text(columns, positions, [True, True], troubles)
    assert [(trouble.batch, trouble.offset) for trouble in troubles] == [(1, 5)]
    assert isinstance(troubles[0], Trouble)
    assert text.endswith(" endTxnMarker: ABORT coordinatorEpoch: 7\n")


def test_offsets_that_do_not_follow():
    def columns(*offsets):
        found = put_records([put_record(offset) for offset in offsets], base_offset=(1 << 63) - 5)
        (only,) = record_columns(found, [0], LIMIT)
        return only

    def pairs(found, last):
        numbers = np.frombuffer(non_consecutive(found, last), np.int64)
        return list(zip(numbers[::2].tolist(), numbers[1::2].tolist(), strict=True))

    near = (1 << 63) - 5
    assert pairs(columns(0, 1, 2), near - 1) == []
    assert pairs(columns(0, 2, 3, 2), near - 2) == [(near - 2, near), (near, near + 2), (near + 3, near + 2)]
    assert pairs(columns(4, 5), near + 3) == [(near + 4, -(1 << 63))]
    assert pairs(columns(), 9) == []
