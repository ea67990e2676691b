"""The objects of Aiven's plugin, read as the files that they were made of.

    <segment>.log             chunk by chunk, unpacked where the plugin compressed it
    <segment>.indexes         its parts, each as the file of its kind
    <segment>.rsm-manifest    says how

What is encrypted is refused. The truth is `DefaultChunkManager` and `KafkaRemoteStorageManager` of the
plugin.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from formats.errors import CorruptError, FormatError, LimitError, TruncatedError
from formats.names import (
    EXTENSION_KINDS,
    IN_TIERED_STORAGE,
    INDEXES_EXTENSION,
    LOG,
    MANIFEST_EXTENSION,
    REMOTE_INDEXES,
    parse_file,
)
from kcli.logdir.buffers import (
    AS_IT_COMES,
    ENCRYPTED,
    NO_MANIFEST,
    WHOLE_FILE_LIMIT,
    DataFile,
    FileError,
    FilePart,
    Reading,
    file_error,
    read_whole,
    reading,
)
from kcli.logdir.partition_names import sibling
from kcli.logdir.targets import Target

if TYPE_CHECKING:
    from formats.segment_manifest import SegmentManifest, StoredPart


LARGEST_CHUNK = 256 << 20  # bytes of a chunk, before and after: chunks of the plugin have 4 MiB by default
CHUNKS_KEPT = 2
ZSTD_FRAME = b"\x28\xb5\x2f\xfd"


class PackedLog(DataFile):
    """A log that the plugin compressed, read as the log that it was; FileError for damage, when it is met."""

    __slots__ = ("_chunks", "_manifest")

    def __init__(self, path: str, manifest: "SegmentManifest", reading: Reading = AS_IT_COMES) -> None:
        super().__init__(path, reading)
        self._manifest = manifest
        self._chunks: dict[int, bytes] = {}
        stored_size = manifest.chunk_index.stored_size
        if self.size < stored_size:
            self.close()
            raise file_error(path, TruncatedError(self.size, "chunks", f"{stored_size} bytes", self.size))
        self.size = manifest.chunk_index.original_file_size

    def read(self, position: int, length: int) -> bytes:
        """As of DataFile, of the log."""
        end, data = min(position + length, self.size), bytearray()
        while position < end:
            number, start = divmod(position, self._manifest.chunk_index.original_chunk_size)
            piece = self._chunk(number)[start : start + end - position]
            data += piece
            position += len(piece)
        return bytes(data)

    def read_into(self, view: memoryview, position: int) -> None:
        """As of DataFile, of the log."""
        view[:] = self.read(position, len(view))

    def forget(self, position: int, length: int) -> None:
        """Leave the cache alone: positions are not those of the file."""

    def _chunk(self, number: int) -> bytes:
        chunk = self._chunks.get(number)
        if chunk is None:
            chunk = self._unpacked(number)
            recent_chunks = list(self._chunks.items())[1 - CHUNKS_KEPT :]
            self._chunks = dict([*recent_chunks, (number, chunk)])
        return chunk

    def _unpacked(self, number: int) -> bytes:
        from formats.compression import ZSTD, decompress

        chunk = self._manifest.chunk_index.chunk(number)
        try:
            if max(chunk.original_size, chunk.size) > LARGEST_CHUNK:
                most = f"at most {LARGEST_CHUNK} bytes"
                raise LimitError(0, f"chunk {number}", most, max(chunk.original_size, chunk.size))
            data = decompress(ZSTD, self._stored(chunk.position, chunk.size), chunk.original_size)
            if len(data) != chunk.original_size:
                raise CorruptError(0, f"chunk {number}", f"{chunk.original_size} bytes", len(data))
        except FormatError as error:
            raise file_error(self.path, error.moved(chunk.position)) from error
        return bytes(data)


def manifest_path(path: str) -> str | None:
    """Return the path of the manifest beside an object; None where there is none."""
    manifest = f"{path.rpartition('.')[0]}.{MANIFEST_EXTENSION}"
    return manifest if os.path.lexists(manifest) else None


def read_manifest(path: str) -> "SegmentManifest":
    """Return what a manifest says; FileError where it cannot be read."""
    from formats.segment_manifest import read_segment_manifest

    data = read_whole(path)
    with reading(path):
        return read_segment_manifest(data)


def open_log(path: str, reading: Reading = AS_IT_COMES) -> DataFile:
    """Open a log, unpacked where the plugin stored it. FileError `encrypted`, `no-manifest`."""
    if parse_file(os.path.basename(path)).scheme != IN_TIERED_STORAGE:
        return DataFile(path, reading)
    manifest_file = manifest_path(path)
    if manifest_file is None:
        file = DataFile(path, reading)
        if file.read(0, len(ZSTD_FRAME)) == ZSTD_FRAME:
            file.close()
            message = (
                f"compressed by the plugin, and there is no .{MANIFEST_EXTENSION} beside it to undo that"
            )
            raise FileError(path, NO_MANIFEST, message)
        return file
    manifest = read_manifest(manifest_file)
    _refuse_encrypted(path, manifest)
    return PackedLog(path, manifest, reading) if manifest.compression else DataFile(path, reading)


def open_file(target: Target) -> DataFile:
    """Open a log as of `open_log`, the part of a kind in an `.indexes`, or any other file. FileError."""
    if target.kind == LOG:
        return open_log(target.path)
    if parse_file(os.path.basename(target.path)).kind != REMOTE_INDEXES:
        return DataFile(target.path)
    stored_part = _parts(target.path).get(target.kind)
    if stored_part is None:
        raise FileError(target.path, "not-found", f"by its manifest it has no {target.kind}")
    return FilePart(target.path, *stored_part)


def index_beside(target: Target, kind: str) -> DataFile | None:
    """Open the index of a kind beside a file, or the part of `.indexes`; None where there is none."""
    extension = next(name for name, file_kind in EXTENSION_KINDS.items() if file_kind == kind)
    path = sibling(target, extension) or sibling(target, INDEXES_EXTENSION)
    return None if path is None else open_file(replace(target, path=path, kind=kind))


def read_target(target: Target) -> tuple[int, bytes]:
    """Return the byte of the file at which a small target begins, and its bytes; opened as of `open_file`."""
    with open_file(target) as file:
        if file.size > WHOLE_FILE_LIMIT:
            most = f"at most {WHOLE_FILE_LIMIT} bytes"
            raise file_error(target.path, LimitError(WHOLE_FILE_LIMIT, "file size", most, file.size))
        return file.start, file.read(0, file.size)


def with_parts(target: Target) -> list[Target]:
    """Return the parts of an `.indexes` whose manifest can be read; any other target as it is."""
    if target.kind != REMOTE_INDEXES:
        return [target]
    try:
        parts = _parts(target.path)
    except FileError:
        return [target]
    return [replace(target, kind=kind) for kind, _ in sorted(parts.items(), key=lambda item: item[1])]


def _parts(path: str) -> "dict[str, StoredPart]":
    manifest_file = manifest_path(path)
    if manifest_file is None:
        message = f"there is no .{MANIFEST_EXTENSION} beside it, which says where each index lies"
        raise FileError(path, NO_MANIFEST, message)
    manifest = read_manifest(manifest_file)
    _refuse_encrypted(path, manifest)
    return manifest.indexes


def _refuse_encrypted(path: str, manifest: "SegmentManifest") -> None:
    if manifest.encryption is not None:
        key = ascii(manifest.encryption.key_id)
        message = f"encrypted by the plugin: only who has the key pair {key} can read its data key"
        raise FileError(path, ENCRYPTED, message, None, "encryption")


LONGEST_LISTING = 1 << 28  # bytes of a listing: some millions of objects
SIZE_LAST = re.compile(r"(.*\S)\s+([0-9]{1,18})")
FIND_LS = re.compile(r"\d+\s+\d+\s+-[rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+(\d{1,18})\s+(?:\S+\s+){3}(\S.*)")
"""A file by `find -ls`: inode and blocks before, three words of a date after the size."""
NO_OBJECT = re.compile(r"TOTAL: .*|\d+\s+\d+\s+d[rwxsStT-]{9}.*")
"""The last line of `gsutil ls -l`, and a directory by `find -ls`."""
SIZE_FIRST = re.compile(r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+Z?\s+)?([0-9]{1,18})\s+(\S.*)")


def stored_objects(path: str) -> Iterator[tuple[str, int]]:
    """Yield names and sizes in bytes of the files below a directory, or of the objects that a file lists.

    A line has a name and a size, in either order. A date before them, as of `aws s3 ls --recursive`, is
    passed over, and so are empty lines. FileError for any other line, and for what cannot be read.
    """
    if not os.path.isdir(path):
        yield from _listed(path)
        return

    def refuse(error: OSError) -> None:
        raise file_error(os.fsdecode(error.filename or path), error) from error

    for directory, _, names in os.walk(path, onerror=refuse):
        for name in sorted(names):
            file_path = os.path.join(directory, name)
            try:
                yield file_path, os.lstat(file_path).st_size
            except FileNotFoundError:
                continue  # a running broker deleted it
            except OSError as error:
                refuse(error)


def _listed(path: str) -> Iterator[tuple[str, int]]:
    position = 0
    for number, raw in enumerate(read_whole(path, LONGEST_LISTING).split(b"\n"), 1):
        line = raw.decode("utf-8", "surrogateescape").strip()
        first = FIND_LS.fullmatch(line) or SIZE_FIRST.fullmatch(line)
        last = SIZE_LAST.fullmatch(line)
        if NO_OBJECT.fullmatch(line):
            line, first, last = "", None, None
        if first is not None:
            yield first[2], int(first[1])
        elif last is not None:
            yield last[1], int(last[2])
        elif line:
            message = f"line {number}: expected the name and the size of an object, found {line[:80]!r}"
            raise FileError(path, "corrupt", message, position, "object")
        position += len(raw) + 1
