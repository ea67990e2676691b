"""The words of DumpLogSegments that no recorded file has: quorum control records, damaged text, summaries."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.control import control_record
from kcli.dump.render.lines import (
    MISMATCH,
    OFFSET_NOT_FOUND,
    PAIR_NUMBER,
    IndexProblem,
    OffsetJumps,
    StderrLine,
    control_text,
    dump_log_lines,
    java_string,
    line,
    ordered_pairs,
    packed,
)

DIRECTORY = "bb835d49f591423699fc4372c4c5cb24"
"""Of the uuid u4NdSfWRQjaZ_ENyxMXLJA."""


@pytest.mark.parametrize(
    ("number", "value", "text"),
    [
        (0, "000000000007", " endTxnMarker: ABORT coordinatorEpoch: 7"),
        (1, "0003ffffffff", " endTxnMarker: COMMIT coordinatorEpoch: -1"),
        (
            2,
            f"0001 00000003 02 00000003 {DIRECTORY} 00 01 00",
            (
                ' LeaderChange: {"version":1,"leaderId":3,"voters":[{"voterId":3,"voterDirectoryId":'
                '"u4NdSfWRQjaZ_ENyxMXLJA"}],"grantingVoters":[]}'
            ),
        ),
        (
            2,
            "0000 00000003 01 02 00000003 00 00",
            ' LeaderChange: {"version":0,"leaderId":3,"voters":[],"grantingVoters":[{"voterId":3}]}',
        ),
        (
            6,
            f"ffff 02 00000001 {DIRECTORY} 02 05 1f0b09ff 02 7f 0001 00 0000 0001 00 00 00",
            (
                ' KRaftVoters {"version":-1,"voters":[{"voterId":1,'
                '"voterDirectoryId":"u4NdSfWRQjaZ_ENyxMXLJA",'
                '"endpoints":[{"name":"\\u001F\\u000B\\t\ufffd","host":"\x7f","port":1}],'
                '"kRaftVersionFeature":{"minSupportedVersion":0,"maxSupportedVersion":1}}]}'
            ),
        ),
        (3, "0001 0000000000000005 00", ' SnapshotHeader {"version":1,"lastContainedLogTimestamp":5}'),
        (4, "0007 00", ' SnapshotFooter {"version":7}'),
        (5, "0000 0001 00", ' KRaftVersion {"version":0,"kRaftVersion":1}'),
        (7, "", " controlType: UNKNOWN(7)"),
    ],
)
def test_control_records_are_printed_as_by_the_tool(number, value, text):
    assert control_text(control_record(bytes([0, 0, 0, number]), bytes.fromhex(value))) == text


def test_summaries_come_last_in_the_order_of_the_tool(capsys):
    rows = [
        OffsetJumps("/a", packed(-1, 5)),
        OffsetJumps("/a", packed(-1, 9)),
        line("one"),
        IndexProblem(MISMATCH, "/i", 3, 4),
        IndexProblem(MISMATCH, "/i", 30, 4),
        StderrLine("at once"),
        IndexProblem(OFFSET_NOT_FOUND, "/t", 9, -1),
        IndexProblem(OFFSET_NOT_FOUND, "/t", 8, -1),
        line("two"),
    ]

    assert [block.buffers for block in dump_log_lines(rows)] == [(b"one\n",), (b"two\n",)]
    assert capsys.readouterr().err.split("\n") == [
        "at once",
        "Mismatches in :/i",
        "  Index offset: 30, log offset: 4",
        "  Index offset: 3, log offset: 4",
        "The following indexed offsets are not found in :/t",
        "Indexed offset: 9, found log offset: -1",
        "Indexed offset: 8, found log offset: -1",
        "Non-consecutive offsets in /a",
        "  -1 is followed by 9",
        "",
    ]


PIECES = [
    b"\xed\xa0\x80",
    b"\xed\xa0",
    b"\xed",
    b"\x80",
    b"\xe2\x82",
    b"\xe2\x82\xac",
    b"\xf0\x9f\x98\x80",
    b"\xf0\x9f\x98",
    b"\xc3\xa9",
    b"\xff",
    b"a",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join), st.integers(5, 9))
def test_long_text_is_that_of_its_pieces(data, size):
    whole = java_string(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kcli.dump.render.lines.LONG_TEXT", size)

        assert java_string(data) == whole


NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.lists(st.tuples(NUMBERS | st.integers(0, 3), NUMBERS), max_size=20))
def test_pairs_come_in_the_order_of_a_summary(pairs):
    numbers = array(PAIR_NUMBER, b"".join(packed(*pair) for pair in pairs))

    assert list(ordered_pairs(numbers, 0)) == pairs
    assert list(ordered_pairs(numbers, 1)) == sorted(dict(pairs).items())
    assert list(ordered_pairs(numbers, -1)) == sorted(dict(pairs).items(), reverse=True)
