"""Headers and checksums of a window against the readers of one batch; walks over files: elsewhere."""

import itertools

from formats.batch import BATCH, LOG_OVERHEAD
from formats.bulk import MARKER_SIZE, PADDING, STRIDE, Chain, chain, headers, marker_types, rows
from formats.checksums import valid
from tests.builders import put_record, put_records
from tests.formats.recorded import stored

FIRST, SECOND = put_records([put_record()]), put_records([put_record(value=b"x" * 200)] * 3, base_offset=1)


def test_a_window_ends_where_more_bytes_are_needed():
    data = FIRST + SECOND + FIRST
    ends = [0, len(FIRST), len(FIRST) + len(SECOND), len(data)]
    for size in range(len(data)):
        whole = chain(data, size, len(data), only_whole=True)
        begun = chain(data, size, len(data), only_whole=False)

        assert whole == Chain(
            [at for at, end in itertools.pairwise(ends) if end <= size],
            max(e for e in ends if e <= size),
            None,
            None,
        )
        assert begun.positions == [at for at in ends[:-1] if at + BATCH.size <= size]
        assert (begun.stop, begun.next) == (
            ("end", len(data)) if len(begun.positions) == 3 else (None, ends[len(begun.positions)])
        )


def test_many_small_batches_are_found_at_once_where_they_are_whole():
    """Values that look like batches, and damage, lead to the same batches, one by one."""
    lookalike = bytes(10) + FIRST[12:17] + b"x" * 30
    for value in (b"x" * 60, lookalike, bytes(99)):
        one = put_records([put_record(value=value)])
        data = bytearray(one * (40 * STRIDE // len(one)))
        for damage in (None, 3, len(data) // 2 // len(one), len(data) // len(one) - 1):
            if damage is not None:
                data[damage * len(one) + 8 : damage * len(one) + 12] = bytes(4)
            whole = len(data) // len(one) if damage is None else damage
            expected = list(range(0, whole * len(one), len(one)))
            assert chain(data, len(data), len(data), only_whole=True).positions == expected
            data[:] = one * (len(data) // len(one))


def test_a_buffer_without_padding_is_read_to_its_end():
    data = stored("v0-none.log")
    padded = headers(data + bytes(PADDING), len(data), len(data))

    assert headers(data, len(data), len(data)).fields.tolist() == padded.fields.tolist()
    assert padded.fields["base_offset"][-1] == padded.fields["base_offset"][0] + len(padded.fields) - 1


def test_no_batches():
    for data, stop in ((b"", "end"), (b"\1" * 17, "short"), (bytes(30), "bad-length")):
        found = headers(data, len(data), len(data))
        assert (found.chain.positions, len(found.fields), found.chain.stop) == ([], 0, stop)
        assert valid(data, found).tolist() == []


def test_rows_are_copies():
    raw = bytearray(FIRST[:61] + SECOND[:61])
    found = rows(raw, 2)
    raw[:] = bytes(122)

    assert [BATCH.row(*fields) for fields in found.tolist()] == [BATCH.read(FIRST), BATCH.read(SECOND)]


def control(kind, **record):
    fields = {"key": bytes([0, 0, 0, kind]), "value": bytes(6), **record}
    return put_records([put_record(**fields)], attributes=0x30, producer_id=5)


def marks(*raws):
    import numpy as np

    data = b"".join(raws)
    found = headers(data, len(data), len(data))
    types = marker_types(data, np.array(found.chain.positions, np.int64), found.fields)
    return (types >= 0).tolist()


def test_usual_end_markers():
    usual = [
        control(0),
        control(1),
        control(1, value=b"\0\0\0\0\0\x07"),
        control(1, value=b"\x7f\xff\xff\xff\xff\xff"),
    ]
    others = [
        control(2),
        control(1, key=b"\xff\xff\0\1"),
        control(1, value=b"\x80\0\0\0\0\0"),
        control(1, value=bytes(5)),
        control(1, timestamp_delta=1),
        control(1, key=b"\0\0\1\1"),
        control(1, headers=[(b"a", b"")]),
    ]
    assert all(len(raw) == MARKER_SIZE for raw in usual)
    assert marks(*usual, *others, *usual) == [True] * 4 + [False] * len(others) + [True] * 4


def test_every_flipped_bit_of_a_marker_is_met_with_the_plain_decoder():
    from formats.control import ABORT, COMMIT, control_record
    from formats.errors import FormatError
    from formats.record import batch_records

    good = control(1)
    for position in range(LOG_OVERHEAD + 49, len(good)):
        for bit in range(8):
            raw = good[:position] + bytes([good[position] ^ 1 << bit]) + good[position + 1 :]
            try:
                (record,) = batch_records(raw, 1000)
                plain = control_record(record.key, record.value).type in {ABORT, COMMIT}
            except FormatError:
                plain = False
            assert plain or not marks(raw)[0]
