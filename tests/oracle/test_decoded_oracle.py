"""Decoded columns against Kafka's JSON converters, and the decoder classes of the tool against the tool."""

from __future__ import annotations

import random
import re

import pytest

from formats.messages.decode import SCHEMAS
from formats.record import Record
from kcli.dump.render.decoders import DECODER_CLASSES, shown_with
from tests.builders import put_record, put_records
from tests.seeds import cases

from .oracle import Oracle
from .table import EACH, lines

pytestmark = pytest.mark.oracle


def test_every_type_and_version_says_what_kafka_says(oracle: Oracle, oracle_seed: int):
    found = list(lines(oracle, oracle_seed, cases(EACH)))
    assert [line for line in found if line.made != line.equal] == []
    assert len(found) > len(SCHEMAS) / 2


KEPT = {
    "DefaultDecoder": "the tool prints the identity of a Java array, new in each run; kcli prints base64",
    "IntegerDecoder": "too few bytes: the tool dies (BufferUnderflowException); kcli goes on after an error",
    "LongDecoder": "the same",
}
"""What is printed otherwise on purpose by the decoder classes, and why."""


def printed(
    oracle: Oracle, name: str, records: list[tuple[bytes | None, bytes | None]]
) -> tuple[list[str], dict]:
    log = put_records([put_record(at, key=key, value=value) for at, (key, value) in enumerate(records)])
    answer = oracle.dump(log, "--key-decoder-class", name, "--value-decoder-class", name)
    return re.findall(r"^\| offset: \d+ .*? headerKeys: \[\](.*)$", answer["stdout"], re.MULTILINE), answer


def ours(record, decoder) -> str:
    shown, trouble = shown_with(decoder, decoder, record)
    assert trouble is None
    return "".join(
        f" {word}: {part}" for word, part in zip(("key", "payload"), shown, strict=True) if part is not None
    )


@pytest.mark.parametrize("name", DECODER_CLASSES)
def test_decoder_classes_print_what_the_tool_prints(oracle: Oracle, oracle_seed: int, name: str):
    rng = random.Random(oracle_seed)
    least = 0 if name.endswith(("StringDecoder", "DefaultDecoder")) else 8
    # no line ends: Java's regular lines are what is compared
    alphabet = [byte for byte in range(256) if byte not in (10, 13, 0x85)]
    blob = lambda: bytes(rng.choices(alphabet, k=rng.randrange(least, 20)))
    records = [(blob(), blob()) for _ in range(cases(40))] + [(None, blob()), (blob(), None), (None, None)]
    theirs, answer = printed(oracle, name, records)
    assert answer["status"] == 0
    assert len(theirs) == len(records)
    for (key, value), line in zip(records, theirs, strict=True):
        text = ours(Record(0, 0, 0, key, value, (), 0), DECODER_CLASSES[name])
        if name.rpartition(".")[2] == "DefaultDecoder":
            assert re.fullmatch(r"( key: \[B@[0-9a-f]+)?( payload: \[B@[0-9a-f]+)?", line), KEPT[
                "DefaultDecoder"
            ]
            assert [word in text for word in (" key: ", " payload: ")] == [
                word in line for word in (" key: ", " payload: ")
            ]
        else:
            assert text == line


@pytest.mark.parametrize(
    "name", [name for name in DECODER_CLASSES if name.rpartition(".")[2] in {"IntegerDecoder", "LongDecoder"}]
)
def test_the_tool_dies_of_bytes_too_few(oracle: Oracle, name: str):
    _, answer = printed(oracle, name, [(None, b"abc")])
    assert answer["thrown"]["error"] == "BufferUnderflowException", KEPT[name.rpartition(".")[2]]


@pytest.mark.parametrize(
    "name", ["kafka.serializer.StringDecoder", "StringDecoder", "kafka.serializer.DefaultDecoder"]
)
def test_the_tool_refuses_the_same_names(oracle: Oracle, name: str):
    _, answer = printed(oracle, name, [(None, b"abc")])
    assert answer["status"] == 1
    assert name not in DECODER_CLASSES
