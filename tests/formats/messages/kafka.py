"""The messages of tests/data/messages: bytes by Kafka's classes, what its JSON converters print."""

import base64
import gzip
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from formats.layout import FieldSpan
from formats.messages.decode import SCHEMAS, Message, Unknown, decode_key, decode_value
from formats.messages.metadata import decode_metadata

FILE = Path(__file__).parents[2] / "data" / "messages" / "kafka-messages.jsonl.gz"


class Made(NamedTuple):
    name: str
    topic: str
    framing: str
    version: int
    data: bytes
    json: str
    unknown_tags: list[tuple[str, int, bytes]]

    def decode(self, data: bytes | None = None, spans: list[FieldSpan] | None = None) -> Message | Unknown:
        """What these bytes are as a message of this kind."""
        data = self.data if data is None else data
        if self.framing == "metadata":
            return decode_metadata(data, spans=spans)
        return (
            decode_key(self.topic, data, spans=spans)
            if self.framing == "key"
            else decode_value(self.topic, SCHEMAS[self.name].api_key, data, spans=spans)
        )


@cache
def every() -> list[Made]:
    found = []
    for line in gzip.decompress(FILE.read_bytes()).decode().strip().split("\n"):  # texts hold other line ends
        kept = json.loads(line)
        tags = [(struct, tag, base64.b64decode(data)) for struct, tag, data in kept["unknown_tags"]]
        found.append(
            Made(
                kept["name"],
                kept["topic"],
                kept["framing"],
                kept["version"],
                base64.b64decode(kept["bytes"]),
                kept["json"],
                tags,
            )
        )
    return found


def made() -> list[Made]:
    """Those of the topics' records."""
    return [message for message in every() if message.framing != "protocol"]


def made_of_each_version() -> dict[str, list[Made]]:
    """Those of the topics' records by type and version, e.g. OffsetCommitKey-1."""
    found: dict[str, list[Made]] = {}
    for message in made():
        found.setdefault(f"{message.name}-{message.version}", []).append(message)
    return found


def small() -> list[Made]:
    """The shortest with all its fields of each type and version: enough for damage."""
    best: dict[tuple[str, int], Made] = {}
    for message in made():
        held = best.setdefault((message.name, message.version), message)
        if len(message.data) < len(held.data):
            best[message.name, message.version] = message
    return list(best.values())
