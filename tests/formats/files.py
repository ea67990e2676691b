"""The files in tests/data/files: bytes by real brokers, answers by Kafka's own classes."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from formats.errors import FormatError

FILES = Path(__file__).parent.parent / "data" / "files"


@cache
def content(name: str) -> bytes:
    packed = FILES / f"{name}.gz"
    return gzip.decompress(packed.read_bytes()) if packed.exists() else (FILES / name).read_bytes()


@cache
def json_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content(name).splitlines()]


def answers(op: str) -> list[tuple[bytes, list[int], str]]:
    """Return (file, numbers asked, answer) of every case of an operation; "err" for every exception."""
    cases = [
        (bytes.fromhex(case["hex"]), [int(arg) for arg in case["args"]], case["answer"])
        for case in json_lines("kafka-answers.jsonl")
        if case["op"] == op
    ]
    assert cases, op
    return [(data, args, "err" if answer.startswith("err ") else answer) for data, args, answer in cases]


def units(text: str) -> str:
    """Return a text as the answers spell it."""
    return text.encode("utf-16-be", "surrogatepass").hex() or "-"


def survives(read, data: bytes) -> None:
    """Check that a reader returns, or raises a FormatError that lies in the file, and nothing else."""
    position = 0
    try:
        read(data)
    except FormatError as error:
        position = error.position
    assert 0 <= position <= len(data), data
