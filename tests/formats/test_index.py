"""Indexes: Kafka's own searches on sorted and unsorted entries, valid prefixes, transaction indexes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import index
from formats.errors import TruncatedError
from formats.index import AbortedTxn, OffsetIndexEntry, TimeIndexEntry
from tests.formats.files import answers, content, json_lines

OFFSET, TIME, TXN = index.OFFSET_INDEX_ENTRY, index.TIME_INDEX_ENTRY, index.TXN_INDEX_ENTRY

EXAMPLES = [
    (OFFSET, "0000000900000200", OffsetIndexEntry(9, 512)),
    (OFFSET, "ffffffff80000000", OffsetIndexEntry(-1, -(2**31))),
    (TIME, "0000018bcfe5680000000007", TimeIndexEntry(1700000000000, 7)),
    (TIME, "ffffffffffffffff7fffffff", TimeIndexEntry(-1, 2**31 - 1)),
    (
        TXN,
        "00000000000000000fa0000000000000000500000000000000070000000000000008",
        AbortedTxn(0, 4000, 5, 7, 8),
    ),
]


@pytest.mark.parametrize(("layout", "hexed", "row"), EXAMPLES)
def test_entry(layout, hexed, row):
    data = bytes.fromhex(hexed)
    assert layout.read(data) == row
    assert layout.pack(row) == data
    assert layout.size == len(data)
    for size in range(len(data)):
        with pytest.raises(TruncatedError):
            layout.read(data[:size])


REFUSED_BEFORE_4_4 = 0x100


def offset_bytes(*rows):
    return b"".join(OFFSET.pack(OffsetIndexEntry(*row)) for row in rows)


def time_bytes(*rows):
    return b"".join(TIME.pack(TimeIndexEntry(*row)) for row in rows)


def searched(layout, data):
    return len(data) // layout.size, lambda slot: layout.read(data, slot * layout.size)


def shown(pair):
    return f"{pair[0]},{pair[1]}"


def test_offset_lookup_as_kafka():
    for data, (base, *targets), answer in answers("offlookup"):
        entries, get = searched(OFFSET, data)
        found = [shown(index.offset_index_lookup(entries, get, base, target)) for target in targets]
        assert found == [pair.partition(";")[0] for pair in answer.split()]  # after it: fetchUpperBoundOffset


def test_time_lookup_as_kafka():
    for data, (base, *targets), answer in answers("timlookup"):
        entries, get = searched(TIME, data)
        assert (
            " ".join(shown(index.time_index_lookup(entries, get, base, target)) for target in targets)
            == answer
        )


@pytest.mark.parametrize(("op", "layout"), [("offtrunc", OFFSET), ("timtrunc", TIME)])
def test_truncation_as_kafka(op, layout):
    for data, (base, *targets), answer in answers(op):
        entries, get = searched(layout, data)
        kept = [index.truncated_entries(layout, entries, get, base, target) for target in targets]
        assert " ".join(map(str, kept)) == answer


def test_search_touches_few_slots():
    data = offset_bytes(*((2 * slot + 1, slot + 1) for slot in range(50_000)))
    entries, get = searched(OFFSET, data)
    asked = []

    def counted(slot):
        asked.append(slot)
        return get(slot)

    assert index.offset_index_lookup(entries, counted, 0, 40_000) == (39_999, 20_000)
    assert len(asked) < 25


def test_zero_tail_misleads_the_search_as_it_misleads_a_broker():
    data = content("preallocated.index")
    entries, get = searched(OFFSET, data)
    valid = index.valid_offset_entries([data], 16516)
    last = get(valid - 1)
    assert index.offset_index_lookup(valid, get, 0, 10**6) == last
    assert index.offset_index_lookup(entries, get, 0, 10**6) == (0, 0)


FILES = [
    ("segments.index", 15893, 14),
    ("segment-1m.index", 660956, 41),
    ("preallocated.index", 16516, 3),
    ("stale.index", 1567, 1),
]


@pytest.mark.parametrize(("name", "log_size", "expected"), FILES)
@pytest.mark.parametrize("window", [1, 7, 8, 4096, 1 << 24])
def test_valid_prefix_of_real_offset_indexes(name, log_size, expected, window):
    data = content(name)
    windows = (data[at : at + window] for at in range(0, len(data), window))
    assert index.valid_offset_entries(windows, log_size) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("segments.timeindex", 14),
        ("segment-1m.timeindex", 7),
        ("preallocated.timeindex", 3),
    ],
)
def test_valid_prefix_of_real_time_indexes(name, expected):
    assert index.valid_time_entries([content(name)]) == expected


def test_valid_prefix_stops_taking_windows():
    def windows():
        yield offset_bytes((1, 1), (0, 0))
        raise AssertionError("asked for more")

    assert index.valid_offset_entries(windows(), 10) == 1


OFFSET_PREFIXES = [
    ("empty", b"", 0),
    ("all zeros", bytes(80), 0),
    ("zeros, cut", bytes(4), 0),
    ("position 0", offset_bytes((5, 0)), 0),
    ("position at the log's end", offset_bytes((5, 99), (6, 100)), 1),
    ("equal offset", offset_bytes((5, 10), (5, 11)), 1),
    ("equal position", offset_bytes((5, 10), (6, 10)), 1),
    ("negative offset", offset_bytes((-2, 10)), 0),
    ("offset 0", offset_bytes((0, 10)), 1),
    ("partial", offset_bytes((5, 10)) + b"\0\0\0", 1),
    ("zeros, then noise", offset_bytes((5, 10), (0, 0), (9, 20)), 1),
]


@pytest.mark.parametrize(
    ("data", "expected"), [case[1:] for case in OFFSET_PREFIXES], ids=[case[0] for case in OFFSET_PREFIXES]
)
def test_valid_offset_entries(data, expected):
    assert index.valid_offset_entries([data], 100) == expected


TIME_PREFIXES = [
    ("empty", b"", 0),
    ("all zeros", bytes(120), 0),
    ("one entry of zeros", bytes(12), 1),
    ("first zeros are an entry", time_bytes((0, 0), (7, 3)), 2),
    ("first zeros, an entry, zeros", time_bytes((0, 0), (7, 3), (0, 0), (0, 0)), 2),
    ("timestamp 0 at another offset", time_bytes((0, 4), (0, 0)), 1),
    ("equal timestamp", time_bytes((7, 3), (7, 4)), 1),
    ("equal offset", time_bytes((7, 3), (8, 3)), 2),
    ("falling offset", time_bytes((7, 3), (8, 2)), 1),
    ("negative timestamp", time_bytes((-1, 3)), 0),
    ("partial", bytes(12) + b"\0", 1),
]


@pytest.mark.parametrize(
    ("data", "expected"), [case[1:] for case in TIME_PREFIXES], ids=[case[0] for case in TIME_PREFIXES]
)
def test_valid_time_entries(data, expected):
    assert index.valid_time_entries([data]) == expected


@given(st.binary(max_size=200), st.integers(1, 40))
def test_valid_prefix_does_not_depend_on_windows(data, window):
    windows = [data[at : at + window] for at in range(0, len(data), window)]
    assert index.valid_offset_entries(windows, 2**31) == index.valid_offset_entries([data], 2**31)
    assert index.valid_time_entries(windows) == index.valid_time_entries([data])


def test_aborted_transactions_as_kafka():
    for data, _, answer in answers("txn"):
        entries = list(TXN.rows(data))
        if any(entry.version >= REFUSED_BEFORE_4_4 for entry in entries):
            assert answer == "err"
        else:
            assert (
                " ".join(",".join(map(str, entry[1:])) for entry in entries)
                == answer.partition("|")[0].strip()
            )


def test_aborted_transactions_as_thirteen_versions_read_them():
    cases = [case for case in json_lines("producer-state.jsonl") if case["file"].endswith(".txnindex")]
    assert len(cases) > 100
    for case in cases:
        entries = list(TXN.rows(bytes.fromhex(case["hex"])))
        assert any(entry.version >= REFUSED_BEFORE_4_4 for entry in entries) == ("error" in case)
        if "error" not in case:
            expected = [
                (e["producerId"], e["firstOffset"], e["lastOffset"], e["lastStableOffset"])
                for e in case["read"]
            ]
            assert [entry[1:] for entry in entries] == expected
