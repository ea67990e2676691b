"""`kcli dump` of offset indexes and time indexes."""

import pytest

from tests.commands.answers import codes

LOG = "00000000000000000000.log"


def test_a_preallocated_tail_is_distinguished_from_entries(dump, long_log):
    path = long_log / "00000000000000000000.index"
    path.write_bytes(path.read_bytes() + bytes(8 * 1000))
    rows, document = dump(path)

    assert (len(rows["dump_index"]), codes(document)) == (20, ["IDX-003"])


@pytest.mark.parametrize(
    ("entries", "code"),
    [([(19, 0xFFFF)], "DUMP-004"), ([(19, 99), (19, 99)], "DUMP-003"), ([(0, 0), (21, 5)], "DUMP-003")],
)
def test_entries_that_do_not_fit(dump, long_log, entries, code):
    path = long_log / "00000000000000000000.index"
    path.write_bytes(
        b"".join(offset.to_bytes(4, "big") + position.to_bytes(4, "big") for offset, position in entries)
    )

    assert code in codes(dump(path)[1])


def test_an_index_that_ends_within_an_entry(dump, long_log):
    path = long_log / "00000000000000000000.index"
    path.write_bytes(path.read_bytes() + b"\0\0\1")

    assert codes(dump(path)[1]) == ["DUMP-006"]
    rows, document = dump(path, "--index-sanity-check")
    assert (rows, codes(document), document["status"]) == ({}, ["DUMP-006"], 1)


def test_an_index_that_a_killed_broker_left_is_no_error(dump, long_log):
    path = long_log / "00000000000000000000.timeindex"
    path.write_bytes((7).to_bytes(8, "big") + bytes(4) + bytes(24))

    rows, document = dump(path, "--index-sanity-check")
    assert (rows, codes(document), document["status"]) == ({}, ["IDX-003"], 0)
    path.write_bytes((7).to_bytes(8, "big") + bytes(4) + (5).to_bytes(8, "big") + bytes(4))
    assert codes(dump(path, "--index-sanity-check")[1]) == ["DUMP-006"]


def test_verify_index_only_prints_no_entries(dump, long_log):
    assert dump(long_log / "00000000000000000000.index", "--verify-index-only")[0] == {}
