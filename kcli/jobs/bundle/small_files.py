"""The small files of log dirs in a bundle: numbers and names where they lie, everything else filled."""

import os
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from formats.errors import FormatError
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY, TXN_INDEX_ENTRY
from formats.names import (
    CLEAN_SHUTDOWN,
    LEADER_EPOCH_CHECKPOINT,
    LOCK,
    META_PROPERTIES,
    OFFSET_CHECKPOINT,
    OFFSET_INDEX,
    PARTITION_METADATA,
    QUORUM_STATE,
    TIME_INDEX,
    TXN_INDEX,
)
from formats.producer_snapshot import read_snapshot
from formats.properties import LOG_DIR_PROPERTY, LOG_DIRS_PROPERTY, METADATA_LOG_DIR
from kcli.jobs.bundle.logs import FILLED, LATEST_TIME, NEAR, SMALLEST_TEXT, BundledFile
from kcli.kafka.kraft.metadata_image import BROKER
from kcli.kafka.kraft.secret_settings import HIDDEN, may_hold_secret
from kcli.logdir.buffers import DataFile

INDEX_FIELDS = {
    OFFSET_INDEX: (OFFSET_INDEX_ENTRY.size, (("relative_offset", ">i4"), ("position", ">i4"))),
    TIME_INDEX: (TIME_INDEX_ENTRY.size, (("timestamp", ">i8"), ("relative_offset", ">i4"))),
    TXN_INDEX: (
        TXN_INDEX_ENTRY.size,
        (("version", ">i2"), *((name, ">i8") for name in ("producer_id", "first", "last", "stable"))),
    ),
}
"""Kind of an index -> bytes of an entry, and its fields."""
LARGEST = {"version": 0, "relative_offset": SMALLEST_TEXT, "position": 1 << 30, "timestamp": LATEST_TIME}
"""Numbers of entries up to these stay, offsets and ids if they are near."""
ENTRIES_AT_ONCE = 1 << 16
VERSION_SIZE = 2
_INDEX = re.compile(r"\.(?:time)?index(?=[^/]*$)")

_KEPT_WORDS = (
    "version broker.id node.id cluster.id directory.id topic_id brokerEpoch data_version clusterId leaderId "
    "leaderEpoch votedId appliedOffset currentVoters voterId votedDirectoryId null"
)
_JSON_NUMBERS = "version brokerEpoch data_version leaderId leaderEpoch votedId appliedOffset voterId"
_WHOLE_NUMBER = rb"[+-]?(?:\d|\xd9[\xa0-\xa9]){1,20}"  # Java reads Arabic digits, too
_SHORT_NUMBER = rb"[+-]?(?:\d|\xd9[\xa0-\xa9]){1,10}"
_BROKER_LINES = {
    kind: re.compile(form.replace(b"N", _WHOLE_NUMBER).replace(b"C", _SHORT_NUMBER))
    for kind, form in {
        OFFSET_CHECKPOINT: rb"([\w.-]{1,249}) C N|C",
        LEADER_EPOCH_CHECKPOINT: rb"C N|C",
        PARTITION_METADATA: rb"version: ?C|topic_id: ?[\w-]{22}",
        META_PROPERTIES: rb"(?:version|(?:broker|node)\.id) ?= ?C"
        rb"|(?:cluster|directory)\.id ?= ?[\w=\\-]{1,22}",
    }.items()
}
"""Kind of a file -> a line of it as a broker writes it, and the topic in it."""
_KEPT_WORD = re.compile(
    rb'"(?:votedDirectoryId|clusterId)"\s*:\s*"[\w-]{22}"|"(?:%b)"\s*:\s*-?\d{1,19}\b|\b(?:%b)\b'
    rb"|([^\s\"{}\[\]:,=.+#!\\-]+)"
    % tuple(names.replace(".", r"\.").replace(" ", "|").encode() for names in (_JSON_NUMBERS, _KEPT_WORDS))
)
"""What stays in any other line, and words that do not."""
_FILLED_WORD = bytes(
    ord("9" if chr(byte).isdigit() else "x" if chr(byte).isidentifier() else "?" if byte else "\0")
    if byte < 0x80
    else 0xBF
    for byte in range(256)
)
"""What the bytes of a word become: digits stay digits, what is no ASCII is no UTF-8 either."""
TEXTS = frozenset(
    {
        *(OFFSET_CHECKPOINT, LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, META_PROPERTIES),
        *(QUORUM_STATE, CLEAN_SHUTDOWN, LOCK),
    }
)

_SETTING = re.compile(
    r"(?:listener\.name\.[a-z0-9_-]{1,40}\.)?(?:scram-sha-(?:256|512)\.)?[a-z-]{1,30}(?:\.[a-z_-]{1,30})+"
)
"""A name as settings have them."""
READ_BY_KCLI = frozenset(
    {
        *(LOG_DIRS_PROPERTY, LOG_DIR_PROPERTY, METADATA_LOG_DIR, "node.id", "broker.id", "process.roles"),
        *("controller.quorum.voters", "controller.quorum.bootstrap.servers", "zookeeper.connect"),
        *("zookeeper.metadata.migration.enable", "remote.log.storage.system.enable"),
        *("log.index.interval.bytes", "log.index.size.max.bytes", "log.roll.hours", "log.cleaner.enable"),
        *("log.retention.hours", "log.retention.minutes", "offsets.retention.minutes", "log.segment.bytes"),
        *("offsets.topic.segment.bytes", "transaction.state.log.segment.bytes"),
    }
)
"""Settings of server.properties that kcli reads, besides those that can be changed while a broker runs."""


def index_without_payload(file: DataFile, kind: str, facts: BundledFile) -> Iterator[bytes]:
    """Yield the bytes of an index; numbers that may be payload become others in the same order.

    Those are what is too large, and, where there is a log, positions and times that no batch of it has.
    """
    size, fields = INDEX_FIELDS[kind]
    base, has_grown = facts.base or 0, False
    with suppress(OSError):
        has_grown = facts.log is not None and os.path.getsize(log_of(file.path)) > facts.log.positions[0]
    of_log = {} if facts.log is None else _numbers_of(facts.log, has_grown=has_grown)
    for position in range(0, file.size, size * ENTRIES_AT_ONCE):
        chunk = file.read(position, size * ENTRIES_AT_ONCE)
        entries_end = len(chunk) - len(chunk) % size
        rows = np.frombuffer(chunk[:entries_end], np.dtype(list(fields))).copy()
        strange = np.zeros(len(rows), np.bool_)
        for name, form in fields:
            values, most = rows[name].astype(np.int64), LARGEST.get(name, NEAR)
            marks = of_log.get(name, np.array([-1, most, max(most, base + NEAR)]))
            wrong = (values < -1) | (values > most)
            if name in of_log:
                wrong = ~np.isin(values, marks)
            elif name not in LARGEST:
                wrong &= abs(values - base) > NEAR
            strange |= wrong
            numbers, places = np.unique(values[wrong], return_inverse=True)
            above = np.searchsorted(marks, numbers) - 1
            ranks = np.arange(len(numbers)) - np.searchsorted(above, above)
            rows[name][wrong] = (np.where(above < 0, np.iinfo(form).min, marks[above]) + 1 + ranks)[places]
        if has_grown:
            rows[strange] = np.zeros(1, rows.dtype)  # of batches that a broker has appended since
        else:
            facts.counts["filled_entries"] += int(strange.sum())
        yield rows.tobytes() + chunk[entries_end:].translate(FILLED)


def log_of(path: str) -> str:
    """Return the path of the log of an index, of any other file its own."""
    return _INDEX.sub(".log", path)


def _numbers_of(log: BundledFile, *, has_grown: bool) -> dict[str, NDArray[np.int64]]:
    """Return the positions and the times that entries may have, rising; the end unless it is no end now."""
    return {
        "position": np.union1d((-1, 0), np.array(log.positions[has_grown:])),
        "timestamp": np.union1d((-1, 0, LATEST_TIME), np.array(log.times)),
    }


def producers_without_payload(data: bytes) -> bytes:
    """Return a producer snapshot; of one that cannot be read the version alone."""
    try:
        read_snapshot(data)
    except FormatError:
        return data[:VERSION_SIZE] + data[VERSION_SIZE:].translate(FILLED)
    return data


def text_without_payload(data: bytes, kind: str, topics: Container[str]) -> bytes:
    """Return a checkpoint, or another text of a broker; words that no broker writes there are filled.

    So is a topic of a checkpoint that is none of these.
    """

    def filled(word_match: re.Match[bytes]) -> bytes:
        word = word_match[1]
        return word_match[0] if word is None else word.translate(_FILLED_WORD)

    form, lines = _BROKER_LINES.get(kind), []
    for line in data.splitlines(keepends=True):
        match = form and form.fullmatch(line.strip())
        if not match:
            lines.append(_KEPT_WORD.sub(filled, line))
        elif match.lastindex and match[1].decode() not in topics:
            lines.append(match[1].translate(_FILLED_WORD).join(line.split(match[1], 1)))
        else:
            lines.append(line)
    return b"".join(lines)


def server_properties(properties: Mapping[str, str], log_dirs: Mapping[str, str]) -> bytes:
    """Return a server.properties without secrets, whose log dirs have the names that they have in the bundle.

    Secret is what `KafkaConfig` calls so, a URL or a command line, and every name that is not known here. A
    name that no setting has may be a line of a key that was pasted: it is left out.
    """
    lines = []
    for name, value in properties.items():
        text = value
        if name in {LOG_DIRS_PROPERTY, LOG_DIR_PROPERTY, METADATA_LOG_DIR}:
            paths = [path.strip() for path in value.split(",")]
            text = ",".join(log_dirs.get(path.rstrip("/"), path) for path in paths)
        elif name not in READ_BY_KCLI and may_hold_secret(BROKER, name):
            if _SETTING.fullmatch(name) is None:
                continue
            text = HIDDEN
        lines.append(f"{_escaped(name, '=: ')}={_escaped(text)}\n")
    return "".join(lines).encode("latin-1", "replace")


def _escaped(text: str, delimiters: str = "") -> str:
    special = {ord(char): f"\\{char}" for char in f"\\#!{delimiters}"}
    return text.translate({**special, 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"})
