"""Types x versions x decoded: random records against Kafka's converters; -m prints it, 1 if unequal."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from formats.names import CLUSTER_METADATA, REMOTE_LOG_METADATA
from formats.record import Record
from kcli.dump.decoded_records import DecodedRecord, decode_record
from tests.seeds import SEED, cases

from .oracle import Oracle

EACH = 20


class Line(NamedTuple):
    """One type of record in one version: how many were made, and in how many kcli says what Kafka says."""

    topic: str
    record_type: str
    version: int
    made: int
    equal: int


def lines(oracle: Oracle, start: int, each: int = EACH) -> Iterator[Line]:
    """Yield a line for every type and version of every internal topic, tombstones as another version -1."""
    types = oracle.ask("message_types")["types"]
    keys = {kind["name"].removesuffix("Key"): kind["name"] for kind in types if kind["framing"] == "key"}
    for kind in sorted(types, key=lambda kind: (kind["topic"], kind["api_key"])):
        if kind["framing"] not in {"value", "metadata", "remote"}:
            continue
        name = kind["name"]
        key_name = keys[name.removesuffix("Value")] if kind["framing"] == "value" else None
        ask = {"seed": start, "count": each}
        made_keys = (
            oracle.ask("messages", name=key_name, version=0, **ask)["messages"] if key_name else [None] * each
        )
        for version in range(kind["lowest"], kind["highest"] + 1):
            values = oracle.ask("messages", name=name, version=version, **ask)["messages"]
            yield _line(kind["topic"], name, version, list(zip(made_keys, values, strict=True)))
        if key_name:
            yield _line(kind["topic"], name, -1, [(key, None) for key in made_keys])


def _line(topic: str, name: str, version: int, made: list[tuple[Any, Any]]) -> Line:
    output = [decode_record(topic, Record(0, 0, 0, _bytes(key), _bytes(value), (), 0)) for key, value in made]
    equal = sum(
        _equal(answer, version, key, value) for answer, (key, value) in zip(output, made, strict=True)
    )
    (record_type,) = {answer.record_type or "?" for answer in output}
    assert _means(topic, name, record_type), (topic, name, record_type)
    return Line(topic, record_type, version, len(made), equal)


def _means(topic: str, name: str, record_type: str) -> bool:
    if topic == CLUSTER_METADATA:
        return record_type.replace("_", "").lower() == name.lower()
    return record_type == name.removesuffix("Record" if topic == REMOTE_LOG_METADATA else "Value")


def _equal(output: DecodedRecord, version: int, key: Any, value: Any) -> bool:
    unknown = any(message["unknown_tags"] for message in (key, value) if message)
    return (
        output.decoded_key == _json(key)
        and output.decoded_value == _json(value)
        and output.record_version == (None if value is None else version)
        and (output.error is not None) == (unknown or _refused_by_kafka(output))
    )


def _refused_by_kafka(output: DecodedRecord) -> bool:
    """Whether whole bytes are no object: random states, offsets, epochs of segments mean nothing."""
    return output.damaged and output.decoded_value is not None


def _json(message: Any) -> Any:
    return json.loads(message["json"]) if message else None


def _bytes(message: Any) -> bytes | None:
    return base64.b64decode(message["bytes"]) if message else None


def main() -> int:
    """Print the table; return 1 if something differs."""
    wrong = total = 0
    with Oracle() as oracle:
        print(f"{'topic':24}{'record type':44}{'version':>9}{'made':>6}{'equal':>7}")
        for line in lines(oracle, SEED, cases(EACH)):
            version = "tombstone" if line.version < 0 else str(line.version)
            print(f"{line.topic:24}{line.record_type:44}{version:>9}{line.made:>6}{line.equal:>7}")
            wrong += line.made != line.equal
            total += 1
    print(f"{total} lines, {wrong} with a difference")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
