"""Control records against DumpLogSegments: every type and version, damaged values."""

from __future__ import annotations

import random

import pytest

from formats.control import LEADER_CHANGE, control_record
from formats.errors import FormatError
from kcli.dump.render.lines import control_text
from tests.builders import put_record, put_records, put_unsigned_varint
from tests.formats.control_values import VALUES
from tests.oracle.damages import BAD_TEXT, LENGTHS
from tests.recordings.misread import LEADER_CHANGED, MISREAD
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

CONTROL = 0x20
EACH = 25
KEPT = (
    "a LEADER_CHANGE of version 1 is read with its directories, and of a later one refused: the tool reads "
    "both as version 0, and prints them as they are"
)
"""What is printed otherwise on purpose."""


def key(number: int) -> bytes:
    return b"\0\0" + number.to_bytes(2, "big", signed=True)


def output(oracle: Oracle, number: int, value: bytes) -> str | None:
    """What the tool prints after the line of a control record; None where it dies of it."""
    log = put_records([put_record(0, key=key(number), value=value)], attributes=CONTROL)
    answer = oracle.dump(log, "--deep-iteration")
    if answer["thrown"] is not None:
        return None
    return answer["stdout"].rstrip("\n").rpartition("headerKeys: []")[2]


def changed(rng: random.Random, value: bytes) -> bytes:
    """A value of another version, cut off, or with other bytes, lengths, text or tags."""
    at = rng.randrange(len(value))
    match rng.randrange(6):
        case 0:
            return rng.randrange(1 << 16).to_bytes(2, "big") + value[2:]
        case 1:
            return value[:at] + rng.choice([b"", bytes([rng.randrange(256)]) + value[at + 1 :]])
        case 2:
            return value[:at] + rng.choice(LENGTHS) + value[at + 1 :]
        case 3:
            bad = rng.choice(BAD_TEXT)
            return value[:at] + bad + value[at + len(bad) :]
        case 4:
            letters = [place for place, byte in enumerate(value) if chr(byte).isalpha()] or [at]
            at = rng.choice(letters)
            return value[:at] + bytes([rng.choice([0, 0x0B, 0x1F, 0x22, 0x5C, 0x7F, 0xFF])]) + value[at + 1 :]
    tags = rng.choices([0, 3, 3, 200, 0xFFFFFFFF], k=rng.randrange(4))
    count = rng.choice([len(tags), len(tags), 0xFFFFFFFF, 0x80000000])
    fields = b"".join(put_unsigned_varint(tag) + put_unsigned_varint(2) + rng.randbytes(2) for tag in tags)
    return value[:-1] + put_unsigned_varint(count) + fields


@pytest.mark.parametrize(("number", "name", "text", "_said"), VALUES)
def test_control_records_are_printed_as_by_the_tool(
    oracle: Oracle, oracle_seed: int, number: int, name: str, text: str, _said: object
):
    rng = random.Random(oracle_seed)
    value = bytes.fromhex(text)
    read = 0
    for data in [value, *(changed(rng, value) for _ in range(cases(EACH)))]:
        if number == LEADER_CHANGE and int.from_bytes(data[:2], "big", signed=True) >= 1:
            continue  # KEPT
        theirs = output(oracle, number, data)
        try:
            ours = control_text(control_record(key(number), data))
        except FormatError as error:
            assert theirs is None, (name, data.hex(), error, theirs)
            continue
        assert ours == theirs, (name, data.hex())
        read += 1
    assert read or (number == LEADER_CHANGE and value[1])


@pytest.mark.parametrize("value", [bytes.fromhex(VALUES[2][2]), LEADER_CHANGED])
def test_the_tool_dies_of_a_leader_change_with_directories(oracle: Oracle, value: bytes):
    assert output(oracle, LEADER_CHANGE, value) is None, KEPT
    assert control_record(key(LEADER_CHANGE), value).value.fields["grantingVoters"]


@pytest.mark.parametrize("difference", MISREAD)
def test_the_tool_misreads_what_is_kept(oracle: Oracle, difference: str):
    _, (control_key, value), theirs, ours = MISREAD[difference]
    assert output(oracle, int.from_bytes(control_key[2:]), value) == f" {theirs}", KEPT
    assert control_text(control_record(control_key, value)) == f" {ours}"
