r"""Java Properties and the three small files with a broker's, a partition's and a shutdown's identity.

`meta.properties` lies in every log directory (`MetaProperties`), `server.properties`
wherever the broker was started with, `partition.metadata` in every partition's directory
(`PartitionMetadataFile`), `.kafka_cleanshutdown` in a log directory after a clean stop
(`CleanShutdownFileHandler`, JSON since 3.7, 0 bytes before).

    meta.properties       version=1             0: broker.id, all optional; 1: node.id and cluster.id required
                          cluster.id=...
                          node.id=1
                          directory.id=...      since 3.7
    partition.metadata    version: 0
                          topic_id: ...         22 characters of base64url
    .kafka_cleanshutdown  {"version":0,"brokerEpoch":N}

The truth for Properties is `java.util.Properties.load` of a byte stream: Latin-1.
"""

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, NamedTuple

from formats.errors import CorruptError, FormatError, TruncatedError, UnsupportedError
from formats.java_text import INT_BITS, LONG_BITS, Line, byte_lines, excerpt, integer, lines, split
from formats.primitives import uuid_bytes, uuid_text
from formats.types import Buffer

META_PROPERTIES_VERSIONS = (0, 1)
PARTITION_METADATA_VERSION = 0
ZERO_UUID = uuid_text(bytes(16))

LOG_DIRS_PROPERTY = "log.dirs"
LOG_DIR_PROPERTY = "log.dir"
METADATA_LOG_DIR = "metadata.log.dir"
DEFAULT_LOG_DIR = "/tmp/kafka-logs"  # noqa: S108 - Kafka's own default, never opened here

_PROPERTY_BLANKS = " \t\f"
_TRIMMED = "".join(map(chr, range(33)))
"""What `String.trim` removes."""

_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_PROPERTY_ESCAPE = re.compile(r"\\(u(?P<code>[0-9A-Fa-f]{4})?|.)", re.DOTALL)
_CONTROL_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class MetaProperties(NamedTuple):
    """Who a log directory belongs to; None where the file does not say."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None


class PartitionMetadata(NamedTuple):
    """The topic id of a partition's directory, in Kafka's text form."""

    version: int
    topic_id: str


class ConfiguredLogDirs(NamedTuple):
    """The directories that a broker's configuration names, as written there."""

    log_dirs: tuple[str, ...]
    metadata_log_dir: str


def read_properties(data: Buffer) -> dict[str, str]:
    r"""Return key -> value of a Java Properties file; a repeated key's last value wins.

    CorruptError for a malformed `\uXXXX`, all that `Properties.load` refuses; half of a pair is U+FFFD.
    """
    return {key: value for _, key, value in _pairs(data)}


def read_meta_properties(data: Buffer) -> MetaProperties:
    """Return a log directory's meta.properties as MetaProperties.Builder reads it; no version means 0.

    UnsupportedError above 1; CorruptError for a malformed number or id, or where version 1 lacks one.
    """
    values: dict[str, str] = {}
    places: dict[str, Line] = {}
    for line, key, value in _pairs(data):
        values[key], places[key] = value, line
    version = 0
    if "version" in values:
        version = _property_number(values["version"].strip(_TRIMMED), "version", places["version"])
    if version not in META_PROPERTIES_VERSIONS:
        raise UnsupportedError(places["version"].position, "version", "0 or 1", version)
    node_key = "node.id" if version else "broker.id"
    for key in ("node.id", "cluster.id") if version else ():
        if key not in values:
            raise CorruptError(len(data), key, "a value in version 1")
    node_id = _property_number(values[node_key], node_key, places[node_key]) if node_key in values else None
    directory_id = None
    if "directory.id" in values:
        directory_id = _uuid(values["directory.id"], places["directory.id"], "directory.id")
    return MetaProperties(version, values.get("cluster.id"), node_id, directory_id)


def read_partition_metadata(data: Buffer) -> PartitionMetadata:
    """Return a partition.metadata as PartitionMetadataFile reads it: what precedes each `:` is not looked at.

    Any version from 0 on is read, lines after the second are ignored. TruncatedError where a line is missing,
    UnsupportedError for a negative version, CorruptError for the rest.
    """
    text_lines = lines(data)
    first = next(text_lines, None)
    if first is None:
        raise TruncatedError(0, "line 1", "version: 0", "nothing")
    version = integer(_value_of(first, "version: 0"), INT_BITS)
    if version is None:
        raise first.corrupt("version: 0")
    if version < PARTITION_METADATA_VERSION:
        raise UnsupportedError(first.position, "version", f">= {PARTITION_METADATA_VERSION}", version)
    second = next(text_lines, None)
    if second is None:
        raise TruncatedError(len(data), "line 2", "topic_id: a uuid", "nothing")
    topic_id = _uuid(_value_of(second, "topic_id: a uuid"), second, "topic_id")
    if topic_id == ZERO_UUID:
        raise CorruptError(second.position, "topic_id", "not the zero uuid", topic_id)
    return PartitionMetadata(version, topic_id)


def read_clean_shutdown(data: Buffer) -> int | None:
    """Return the broker epoch in a .kafka_cleanshutdown, None where a broker takes it as unknown.

    That the file exists says that the stop was clean: what fails here costs a broker nothing but the epoch.
    """
    try:
        from formats.json_text import read_object

        content = read_object(bytes(data).decode(errors="replace").encode())
    except FormatError:
        return None
    version = content.get("version")
    if version is not None and version != "" and _json_number(version, INT_BITS) is None:
        return None
    return _json_number(content.get("brokerEpoch"), LONG_BITS)


def log_dirs(configuration: Mapping[str, str]) -> ConfiguredLogDirs:
    """Return the directories that a server.properties names, as AbstractKafkaConfig takes them, if any.

    `log.dirs` wins over `log.dir`. The metadata log lies in `metadata.log.dir`, else in the first of them.
    """
    text = configuration.get(LOG_DIRS_PROPERTY, configuration.get(LOG_DIR_PROPERTY, DEFAULT_LOG_DIR))
    names = tuple(name for name in (entry.strip(_TRIMMED) for entry in text.split(",")) if name)
    return ConfiguredLogDirs(names, configuration.get(METADATA_LOG_DIR) or (names[0] if names else ""))


def _pairs(data: Buffer) -> Iterator[tuple[Line, str, str]]:
    for line in _logical_lines(data):
        key = _KEY.match(line.text)
        key_end = key.end() if key else 0
        separator = _SEPARATOR.match(line.text, key_end)
        value_start = separator.end() if separator else key_end
        yield line, _unescape(line, line.text[:key_end]), _unescape(line, line.text[value_start:])


def _logical_lines(data: Buffer) -> Iterator[Line]:
    """Yield lines with their continuations joined, without comments and blank lines."""
    text, number, position = "", 0, 0
    continued = False
    for count, (start, raw) in enumerate(byte_lines(data), 1):
        line_text = raw.decode("latin-1").lstrip(_PROPERTY_BLANKS)
        continues = (len(line_text) - len(line_text.rstrip("\\"))) % 2 == 1
        if not text:
            number, position = count, start
            if not line_text or line_text[0] in "#!":
                continued = False
                continue
        text += line_text[:-1] if continues else line_text
        continued = continues
        if not continued:
            yield Line(number, position, text)
            text = ""
    # A lone backslash before the end of the file is an empty key in Java, unless \r\n follows it.
    if text or (continued and not bytes(data).endswith(b"\r\n")):
        yield Line(number, position, text)


def _unescape(line: Line, text: str) -> str:
    if "\\" not in text:
        return text

    def replaced(escape: re.Match[str]) -> str:
        letter, code = escape.group(1), escape.group("code")
        if code is not None:
            return chr(int(code, 16))
        if letter == "u":
            raise line.corrupt("four hexadecimal digits after \\u")
        return _CONTROL_ESCAPES.get(letter, letter)

    # Java's characters are UTF-16 units: two escapes can be the halves of one character.
    units = _PROPERTY_ESCAPE.sub(replaced, text).encode("utf-16", "surrogatepass")
    return units.decode("utf-16", "replace")


def _property_number(text: str, key: str, line: Line) -> int:
    value = integer(text, INT_BITS)
    if value is None:
        raise CorruptError(line.position, f"{line.field}, {key}", "a 32-bit number", excerpt(text))
    return value


def _uuid(text: str, line: Line, field: str) -> str:
    try:
        return uuid_text(uuid_bytes(text, field))
    except FormatError as error:
        raise CorruptError(line.position, f"{line.field}, {field}", error.expected, error.found) from error


def _value_of(line: Line, expected: str) -> str:
    parts = split(r":[ \t\n\x0b\f\r]+", line.text)
    if len(parts) != 2:
        raise line.corrupt(expected)
    return parts[1]


def _json_number(value: Any, bits: int) -> int | None:
    """Return the number that Jackson makes of a JSON value for an integer field; None where it throws."""
    if isinstance(value, str):
        return integer(value.strip(_TRIMMED), bits)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return integer(str(int(value)), bits) if isfinite(value) else None
