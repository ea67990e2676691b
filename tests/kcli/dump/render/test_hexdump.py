"""The text of `dump --layout`: lines of 16 bytes with names, values, meanings."""

from kcli.dump.render.hexdump import layout_lines
from kcli.rows.dump import DumpFileRow, DumpLayoutRow
from kcli.rows.places import FromFile, Where


def from_file(name):
    return FromFile(Where("orders-0", None, None, "orders", 0), name)


def row(structure, field, position, data, value=None, meaning=None, stream=None, size=None, file="0.log"):
    size = len(data) if size is None else size
    return DumpLayoutRow(from_file(file), structure, field, position, stream, size, data, value, meaning)


def lines(*rows):
    return list(layout_lines(rows))


def test_a_field():
    found = lines(row("batch header", "base_offset", 61, bytes(7) + b"*", "42", "offset of the first record"))
    assert found[:2] == ["orders-0/0.log", "batch header"]
    assert (
        " ".join(found[2].split())
        == "00000061 8 base_offset 00 00 00 00 00 00 00 2a 42 offset of the first record"
    )


def test_long_bytes_are_wrapped_and_repetitions_reported_once():
    data = bytes(range(16)) + bytes(64) + b"end"
    found = lines(row("record 0", "value", 100, data, f"0x{data.hex()}"))[2:]
    assert [line.split()[0] for line in found] == ["00000100", "00000116", "*", "00000180"]
    assert found[0].endswith("0e 0f")
    assert found[-1].split() == ["00000180", "65", "6e", "64"]


def test_the_last_line_is_shown_even_if_it_repeats():
    assert [line.split()[0] for line in lines(row("damaged bytes", "x", 0, bytes(48)))[2:]] == [
        "00000000",
        "*",
        "00000032",
    ]


def test_a_position_in_decompressed_records_is_marked():
    assert lines(row("record 0", "length", None, b"\2", "1", stream=7))[2].split() == [
        "+00000007",
        "1",
        "length",
        "02",
        "1",
    ]


def test_bytes_that_are_not_there_and_none_at_all():
    assert lines(row("preallocated", "zeros", 8, None, "80 bytes of zeros", size=80))[2].split()[:4] == [
        "00000008",
        "80",
        "zeros",
        "..",
    ]
    assert lines(row("record 0", "key", 8, b"", ""))[2].split() == ["00000008", "0", "key"]


def test_headings_stand_where_names_change():
    rows = (
        row("a", "f", 0, b"1"),
        row("a", "g", 1, b"2"),
        row("b", "f", 2, b"3"),
        row("b", "f", 0, b"3", file="1.log"),
    )
    headings = [line for line in lines(*rows) if len(line.split()) < 4]
    assert headings == ["orders-0/0.log", "a", "b", "", "orders-0/1.log", "b"]


def test_control_characters_cannot_break_a_line():
    found = lines(row("a\n", "f\x1b", 0, b"1", "x\ny", "m\rn"))
    assert found[1] == r"a\n"
    assert r"f\x1b" in found[2]
    assert found[2].endswith(r"x\ny  m\rn")


def test_a_file_without_a_layout_is_named():
    rows = (
        DumpFileRow(from_file("notes"), "unknown", 12),
        DumpFileRow(from_file("folder"), "unknown", None),
    )
    assert lines(*rows) == ["orders-0/notes", "unknown  12", "", "orders-0/folder", "unknown"]
