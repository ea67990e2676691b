r"""The manifest that Aiven's tiered storage plugin writes for each remote segment, `<segment>.rsm-manifest`.

It lies in remote storage beside the segment's `.log` and `.indexes`, and is written after them. The truth is
`SegmentManifestV1` of the plugin with Jackson's `ObjectMapper`, `FixedSizeChunkIndex`,
`VariableSizeChunkIndex`, `ChunkSizesBinaryCodec`, `SegmentIndexesV1` and `EncryptedDataKey`.

    {"version": "1",
     "chunkIndex": {"type": "fixed", "originalChunkSize", "originalFileSize",
                    "transformedChunkSize", "finalTransformedChunkSize"}
                or {"type": "variable", "originalChunkSize", "originalFileSize", "transformedChunks"},
     "segmentIndexes": {"offset": {"position", "size"}, "timestamp", "producerSnapshot", "leaderEpoch",
                        "transaction"},      the last null for a segment without one
     "compression": false,
     "encryption": {"dataKey": "<key id>:<base64>", "aad": "<base64>"},      absent, or null, for none
     "remoteLogSegmentMetadata": {...}}      for people: the plugin does not read it

`transformedChunks` is base64 of a zstd frame of these bytes, big-endian:

    i32 count, and for count 1 i32 size; else i32 base, i8 width (1 to 4), count - 1 times size - base in so
    many bytes, i32 last size

The log is cut into chunks of the original size, the last may be shorter; each is compressed by itself (one
zstd frame), then encrypted by itself. The indexes are never compressed, each is encrypted by itself, and
positions and sizes are of what is stored. As in the plugin every member but `encryption` and
`remoteLogSegmentMetadata` must be there, and no other may be.
"""

import base64
import binascii
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from formats.batch import MAX_INT
from formats.compression import ZSTD, decompress
from formats.errors import CorruptError, FormatError, LimitError, TruncatedError, UnsupportedError
from formats.json_text import read_object
from formats.names import LEADER_EPOCH_CHECKPOINT, OFFSET_INDEX, PRODUCER_SNAPSHOT, TIME_INDEX, TXN_INDEX
from formats.primitives import int32
from formats.types import Buffer

MANIFEST_VERSION = "1"
FIXED, VARIABLE = "fixed", "variable"
LARGEST_MANIFEST = 16 << 20
LARGEST_SIZES = 10 << 20
"""Bytes of the unpacked `transformedChunks`: the plugin's own bound."""
MOST_CHUNKS = 1 << 20
WIDEST_SIZE = 4
"""Bytes of a chunk size less the base."""


INDEX_PARTS = {
    "offset": OFFSET_INDEX,
    "timestamp": TIME_INDEX,
    "producerSnapshot": PRODUCER_SNAPSHOT,
    "leaderEpoch": LEADER_EPOCH_CHECKPOINT,
    "transaction": TXN_INDEX,
}
"""The plugin's name of a part of `.indexes` -> kind of file."""

_MEMBERS = frozenset(
    {"version", "chunkIndex", "segmentIndexes", "compression", "encryption", "remoteLogSegmentMetadata"}
)
_EXPECTED = {dict: "an object", str: "a string", bool: "true or false"}
_ORIGINAL_SIZES = ("originalChunkSize", "originalFileSize")
_FIXED_SIZES = ("transformedChunkSize", "finalTransformedChunkSize")


class Chunk(NamedTuple):
    """Where a chunk lies in the log that was uploaded, and in the object that is stored: bytes."""

    original_position: int
    original_size: int
    position: int
    size: int


class ChunkIndex(NamedTuple):
    """How a log was cut into chunks.

    `sizes` as stored: of all chunks, of type `fixed` of one and the last; `ends` of stored `variable` chunks.
    """

    type: str
    original_chunk_size: int
    original_file_size: int
    sizes: tuple[int, ...]
    ends: tuple[int, ...] = ()

    @property
    def chunk_count(self) -> int:
        """How many chunks there are."""
        return -(-self.original_file_size // self.original_chunk_size)

    @property
    def stored_size(self) -> int:
        """The size in bytes of the object that is stored."""
        last = self.chunk(self.chunk_count - 1) if self.chunk_count else Chunk(0, 0, 0, 0)
        return last.position + last.size

    def chunk(self, number: int) -> Chunk:
        """Return a chunk by its number, from 0."""
        position = number * self.original_chunk_size
        size = min(self.original_chunk_size, self.original_file_size - position)
        if self.type == FIXED:
            return Chunk(position, size, number * self.sizes[0], self.sizes[number == self.chunk_count - 1])
        return Chunk(position, size, self.ends[number] - self.sizes[number], self.sizes[number])


class StoredPart(NamedTuple):
    """Where one index lies in `.indexes`: bytes."""

    position: int
    size: int


class Encryption(NamedTuple):
    """With what a segment is encrypted: a data key, itself encrypted with the key pair of this id."""

    key_id: str
    data_key: bytes
    aad: bytes


class SegmentManifest(NamedTuple):
    """What a manifest says; `indexes`: kind of file -> where it lies, maybe without TXN_INDEX.

    `segment`: what the plugin noted of the segment's metadata, as written, None for nothing.
    """

    chunk_index: ChunkIndex
    indexes: dict[str, StoredPart]
    compression: bool
    encryption: Encryption | None
    segment: dict[str, Any] | None


def read_segment_manifest(data: Buffer) -> SegmentManifest:
    """Return a segment's manifest as the plugin reads it.

    UnsupportedError for unknown versions, chunk indexes, members; LimitError above MOST_CHUNKS; CorruptError.
    """
    content = read_object(data, longest=LARGEST_MANIFEST)
    version = _member(content, "version", "version")
    if version != MANIFEST_VERSION:
        raise UnsupportedError(0, "version", f'"{MANIFEST_VERSION}"', _value_text(version))
    _check_names(content, _MEMBERS, "manifest")
    compression = _member(content, "compression", "compression", bool)
    segment = content.get("remoteLogSegmentMetadata")
    if segment is not None and not isinstance(segment, dict):
        raise CorruptError(0, "remoteLogSegmentMetadata", "an object", _value_text(segment))
    chunk_index = _chunk_index(_member(content, "chunkIndex", "chunkIndex", dict))
    indexes = _indexes(_member(content, "segmentIndexes", "segmentIndexes", dict))
    encryption = None
    if content.get("encryption") is not None:
        encryption = _encryption(_member(content, "encryption", "encryption", dict))
    return SegmentManifest(chunk_index, indexes, compression, encryption, segment)


def read_chunk_sizes(data: Buffer) -> tuple[int, ...]:
    """Return the stored sizes of chunks from their binary form, as `ChunkSizesBinaryCodec` decodes it."""
    count, start = int32(data, 0, "chunk count")
    if not 0 <= count <= MOST_CHUNKS:
        error = CorruptError if count < 0 else LimitError
        raise error(0, "count of chunk sizes", f"0 to {MOST_CHUNKS}", count)
    if count < 2:
        return (_last_size(data, start),) if count else ()
    base, start = int32(data, start, "chunk sizes header")
    width = data[start] if start < len(data) else 0
    if not 1 <= width <= WIDEST_SIZE:
        raise CorruptError(start, "bytes of a chunk size", f"1 to {WIDEST_SIZE}", width)
    start += 1
    end = start + (count - 1) * width
    if end > len(data):
        raise TruncatedError(start, "chunk sizes", f"{end - start} bytes", len(data) - start)
    last = _last_size(data, end)
    differences = zip(*[iter(memoryview(data)[start:end])] * width, strict=True)
    return (*(_size(base + int.from_bytes(difference, "big"), start) for difference in differences), last)


def _last_size(data: Buffer, position: int) -> int:
    return _size(int32(data, position, "last chunk size")[0], position)


def _size(value: int, position: int) -> int:
    if not 0 <= value <= MAX_INT:
        raise CorruptError(position, "chunk size", f"0 to {MAX_INT}", value)
    return value


def _chunk_index(content: Mapping[str, Any]) -> ChunkIndex:
    kind = _member(content, "type", "chunkIndex.type")
    if kind not in (FIXED, VARIABLE):  # it may be of any type, a list too
        raise UnsupportedError(0, "chunkIndex.type", f'"{FIXED}" or "{VARIABLE}"', _value_text(kind))
    size_names = _FIXED_SIZES if kind == FIXED else ("transformedChunks",)
    _check_names(content, {"type", *_ORIGINAL_SIZES, *size_names}, "chunkIndex")
    chunk_size, file_size = (_number(content, name, f"chunkIndex.{name}") for name in _ORIGINAL_SIZES)
    if not chunk_size:
        raise CorruptError(0, "chunkIndex.originalChunkSize", "above 0", chunk_size)
    if kind == FIXED:
        sizes = tuple(_number(content, name, f"chunkIndex.{name}") for name in _FIXED_SIZES)
        return ChunkIndex(FIXED, chunk_size, file_size, sizes)
    sizes = _transformed_chunks(_member(content, "transformedChunks", "chunkIndex.transformedChunks", str))
    index = ChunkIndex(VARIABLE, chunk_size, file_size, sizes, tuple(accumulate(sizes)))
    if len(sizes) != max(index.chunk_count, 1):
        expected = f"{max(index.chunk_count, 1)} sizes for {file_size} bytes in chunks of {chunk_size}"
        raise CorruptError(0, "chunkIndex.transformedChunks", expected, len(sizes))
    return index


def _transformed_chunks(text: str) -> tuple[int, ...]:
    field = "chunkIndex.transformedChunks"
    packed = _base64(text, field)
    try:
        return read_chunk_sizes(decompress(ZSTD, packed, LARGEST_SIZES))
    except FormatError as error:
        raise type(error)(0, f"{field}, {error.field}", error.expected, error.found) from error


def _indexes(content: Mapping[str, Any]) -> dict[str, StoredPart]:
    _check_names(content, INDEX_PARTS, "segmentIndexes")
    parts = {}
    for name, kind in INDEX_PARTS.items():
        path = f"segmentIndexes.{name}"
        if name == "transaction" and _member(content, name, path) is None:
            continue
        member = _member(content, name, path, dict)
        _check_names(member, StoredPart._fields, path)
        parts[kind] = StoredPart(*(_number(member, key, f"{path}.{key}") for key in StoredPart._fields))
    return parts


def _encryption(content: Mapping[str, Any]) -> Encryption:
    _check_names(content, {"dataKey", "aad"}, "encryption")
    key_id, colon, key = _member(content, "dataKey", "encryption.dataKey", str).partition(":")
    if not key_id.strip() or not colon or not key:
        raise CorruptError(0, "encryption.dataKey", "a key id, ':' and base64")
    aad = _base64(_member(content, "aad", "encryption.aad", str), "encryption.aad")
    return Encryption(key_id, _base64(key, "encryption.dataKey"), aad)


def _base64(text: str, field: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CorruptError(0, field, "base64", str(error)) from error


def _check_names(content: Mapping[str, Any], names: Any, field: str) -> None:
    for name in content:
        if name not in names:
            raise UnsupportedError(0, field, f"members {', '.join(sorted(names))}", _value_text(name))


def _member(content: Mapping[str, Any], name: str, field: str, kind: type[Any] = object) -> Any:
    if name not in content:
        raise CorruptError(0, field, "a value", "nothing")
    value = content[name]
    if not isinstance(value, kind):
        raise CorruptError(0, field, _EXPECTED[kind], _value_text(value))
    return value


def _number(content: Mapping[str, Any], name: str, field: str) -> int:
    value = _member(content, name, field)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_INT:
        raise CorruptError(0, field, f"0 to {MAX_INT}", _value_text(value))
    return value


def _value_text(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    return ascii(value)[:80] if value is not None else "null"
