"""Records as the previews of consumer groups and of share groups wrote them."""

import base64
import gzip
import json
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parents[2] / "data" / "messages" / "preview-messages.jsonl.gz"


class Written(NamedTuple):
    release: str
    topic: str
    api_key: int
    name: str
    data: bytes
    json: dict


def every() -> list[Written]:
    kept = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
    return [
        Written(
            **{name: one[name] for name in ("release", "topic", "api_key", "name", "json")},
            data=base64.b64decode(one["bytes"]),
        )
        for one in kept
    ]
