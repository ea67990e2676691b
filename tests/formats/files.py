"""The files in tests/data/files: bytes by real brokers, answers by Kafka's own classes."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

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
