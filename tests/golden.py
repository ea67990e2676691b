"""What DumpLogSegments prints as facts to compare: its names as keys, numbers as ints, absent as None."""

import re
from collections.abc import Iterator
from typing import NamedTuple

Fact = dict[str, object]

PAIR = re.compile(r"(\w+): (\S*)")
BATCH = re.compile(r"(?:baseOffset|offset): -?\d+ .*\bisvalid: ")
RECORD = re.compile(
    r"\| offset: (?P<offset>-?\d+) (?:isValid: \w+ crc: \S+ )?(?P<timestamp_type>\w+): (?P<timestamp>-?\d+)"
    r" keySize: (?P<key_size>-?\d+) "
    r"valueSize: (?P<value_size>-?\d+)"
    r"(?: sequence: (?P<sequence>-?\d+) headerKeys: \[(?P<header_keys>.*?)\])?(?P<rest>.*)",
    re.DOTALL,
)
ENTRY = {
    "index": re.compile(r"offset: -?\d+ position: -?\d+"),
    "timeindex": re.compile(r"timestamp: -?\d+ offset: -?\d+"),
    "snapshot": re.compile(r"producerId: -?\d+ producerEpoch: .*"),
    "txnindex": re.compile(r"version: \d+ producerId: .*"),
}


class Dumped(NamedTuple):
    """What was printed for a file: entries, or batches and records (`rest`: after its header keys), lines."""

    path: str
    entries: list[Fact]
    records: list[Fact]
    remarks: list[str]


def parse(text: str) -> list[Dumped]:
    """Return every file of the output in order; a file that was dumped twice is there twice."""
    return [_file(path, lines) for path, lines in _sections(text)]


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    path, lines = None, []
    for line in text.split("\n"):  # not splitlines: payloads hold any character
        if line.startswith("Dumping "):
            if path is not None:
                yield path, lines
            path, lines = line.removeprefix("Dumping "), []
        else:
            lines.append(line)
    if path is not None:
        yield path, lines


def _file(path: str, lines: list[str]) -> Dumped:
    entry = ENTRY.get(path.rsplit(".", 1)[1], BATCH)
    dumped = Dumped(path, [], [], [])
    raw_records: list[str] = []
    for line in lines:
        if line.startswith("| offset: "):
            raw_records.append(line)
        elif entry.match(line):
            dumped.entries.append({name: value_of(text) for name, text in PAIR.findall(line)})
        elif raw_records:
            raw_records[-1] += f"\n{line}"  # a payload with line breaks in it
        elif line and not line.startswith("Log starting offset: "):
            dumped.remarks.append(line)
    dumped.records.extend(map(_record, raw_records))
    return dumped


def _record(line: str) -> Fact:
    found = RECORD.fullmatch(line)
    assert found, line
    return {
        name: text if text is None or name in {"timestamp_type", "header_keys", "rest"} else int(text)
        for name, text in found.groupdict().items()
    }


def value_of(text: str) -> object:
    """Return a printed value as an int, bool, None or, unchanged, as text."""
    if text in {"true", "false"}:
        return text == "true"
    if text == "OptionalLong.empty":
        return None
    number = re.fullmatch(r"(?:OptionalLong\[)?(-?\d+)\]?", text)
    return int(number[1]) if number else text
