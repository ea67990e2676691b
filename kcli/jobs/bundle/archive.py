"""`bundle`: a tar.gz of log dirs, its files byte for byte as large, without payloads, keys and secrets."""

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from formats.names import (
    CLUSTER_METADATA,
    COMMITTED_OFFSETS,
    KRAFT_SNAPSHOT,
    LOG,
    PRODUCER_SNAPSHOT,
    REMOTE_LOG_INDEX_CACHE,
    REMOTE_LOG_SNAPSHOT,
    parse_file,
    parse_partition_dir,
)
from kcli import __version__
from kcli.jobs.bundle.logs import FILLED, BundledFile, log_without_payload
from kcli.jobs.bundle.small_files import (
    INDEX_FIELDS,
    TEXTS,
    index_without_payload,
    log_of,
    producers_without_payload,
    server_properties,
    text_without_payload,
)
from kcli.kafka.integrity.damaged import WINDOW
from kcli.logdir.buffers import AS_IT_COMES, DataFile, FileError, Reading, irregular, shown
from kcli.logdir.classify import BUNDLE_MANIFEST, Entry, list_entries
from kcli.logdir.concurrent_changes import removal
from kcli.logdir.find import FileSet
from kcli.logdir.log_dirs import METADATA_DIRECTORY
from kcli.logdir.targets import Target
from kcli.rows.bundles import BundleRow, LeftOut

ROOT, SERVER = "kcli-bundle", "server.properties"
NOT_JUDGED = (
    "what cleaning would leave (compact): keys are zeros",
    "whether replicas hold the same payload (replica diff, replica fingerprint)",
    "what is read of remote_log_snapshot (rlmm check), which is not in the bundle",
    "what links and pipes in the place of files lead to: in the bundle they are links that lead nowhere",
    "which bytes are wrong in a damaged index, small file or wrapper, or in a length: that it is damaged, is",
    "what clients say for themselves: metadata of commits (group offsets), user data of members",
)
OTHERS = {
    "removed_batches": "records of {} batches damaged, unreadable, or without room: kcli says so of each",
    "damaged_bytes": "what a start after a clean stop takes for batches in {} bytes of logs that are none",
    "filled_entries": "what {} garbage entries of indexes decide, such as the log end after a clean stop",
}
"""The same, where so many are there."""
OF_ARCHIVE = ("out", "sha256", "size")
COUNTS = (
    *("unpacked_size", "partitions", "files"),
    *("batches", "bad_checksums", "removed_batches", "damaged_bytes"),
)
WHOLE_FILE = 1 << 26
NOWHERE = "nowhere"
OF_ZEROS, NOT_A_PARTITION = "not a kind of file that Kafka has: zeros here", "not a partition: empty here"
LEFT_OUT, NOT_TAKEN = frozenset({REMOTE_LOG_SNAPSHOT, COMMITTED_OFFSETS}), "not taken"
UNUSUAL = re.compile(r"[^\w.%+=@,-]")


@dataclass(slots=True)
class Bundle:
    """Writes what a search has found; then `failures` has what could not be read."""

    file_set: FileSet
    properties: Mapping[str, str] | None = None
    reading: Reading = AS_IT_COMES
    failures: list[FileError] = field(default_factory=list)
    _left_out: list[LeftOut] = field(default_factory=list)
    _files: list[dict[str, object]] = field(default_factory=list)
    _count: Counter[str] = field(default_factory=Counter)
    _log: dict[str, BundledFile] = field(default_factory=dict)

    def write(self, out: BinaryIO, path: str) -> BundleRow:
        """Write the archive, the same bytes for the same files; OSError where `out` takes no more."""
        names, hashed = self._names(), _Hashed(out)
        packer: Any = hashed
        with (
            gzip.GzipFile("", "wb", 6, packer, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for log_dir, name in names.items():
                self._log_dir(archive, log_dir, name)
            if self.properties is not None:
                log_dirs = {log_dir.rstrip("/"): name for log_dir, name in names.items()}
                self._add(archive, SERVER, server_properties(self.properties, log_dirs))
            row = BundleRow(
                out=shown(path),
                sha256="",
                size=0,
                log_dirs=tuple(names.values()),
                left_out=tuple(self._left_out),
                not_judged=(
                    *NOT_JUDGED,
                    *(text.format(self._count[name]) for name, text in OTHERS.items() if self._count[name]),
                ),
                **{name: self._count[name] for name in COUNTS},
            )
            summary = {name: value for name, value in row._asdict().items() if name not in OF_ARCHIVE}
            summary["left_out"] = [entry._asdict() for entry in row.left_out]
            manifest = {"version": 1, "kcli": __version__, "bundle": summary, "files": self._files}
            self._add(archive, BUNDLE_MANIFEST, json.dumps(manifest, indent=1).encode())
        return row._replace(sha256=hashed.sha256.hexdigest(), size=hashed.size)

    def _names(self) -> dict[str, str]:
        """Return the names in the bundle of log dirs, and of directories around other partitions."""
        directories = [*self.file_set.named_log_dirs]
        for target in self.file_set.targets:
            directories += [_log_dir_of(target), *filter(None, [target.metadata_dir])]
        names: dict[str, str] = {}
        for path in dict.fromkeys(directories):
            base = name = UNUSUAL.sub("_", shown(os.path.basename(os.path.abspath(path)))) or "root"
            while name in {*names.values(), BUNDLE_MANIFEST, SERVER}:
                name = f"{base}-{len(names) + 1}"
            names[path] = name
        return names

    def _log_dir(self, archive: tarfile.TarFile, log_dir: str, name: str) -> None:
        """Add a log dir: its own files and the partitions that are selected; the metadata log goes along."""
        targets = [target for target in self.file_set.targets if _log_dir_of(target) == log_dir]
        chosen = {os.path.basename(os.path.abspath(target.path)) for target in targets}
        is_apart = any(target.log_dir is None for target in targets)
        self._directory(archive, name, log_dir)
        for entry in self._entries(log_dir):
            inside = f"{name}/{shown(entry.name)}"
            parsed = parse_partition_dir(entry.name)
            if entry.is_directory and parsed is not None:
                if entry.name in chosen | {METADATA_DIRECTORY}:
                    self._count["partitions"] += 1
                    self._entries_of(archive, entry.path, inside, parsed.topic)
            elif is_apart:
                continue
            elif not entry.is_directory:
                self._file(archive, entry.path, inside, None)
            elif entry.name == REMOTE_LOG_INDEX_CACHE:
                self._entries_of(archive, entry.path, inside, None)
            else:
                self._directory(archive, inside, entry.path)
                self._left_out.append(LeftOut(inside, None, NOT_A_PARTITION))

    def _entries_of(self, archive: tarfile.TarFile, path: str, name: str, topic: str | None) -> None:
        self._directory(archive, name, path)
        for entry in self._entries(path):
            inside = f"{name}/{shown(entry.name)}"
            if entry.is_directory:
                self._directory(archive, inside, entry.path)
                self._left_out.append(LeftOut(inside, None, NOT_A_PARTITION))
            else:
                self._file(archive, entry.path, inside, topic)

    def _entries(self, directory: str) -> list[Entry]:
        try:
            entries = sorted(list_entries(directory))
        except FileError as error:
            self._miss(error, shown(directory))
            return []
        # a log comes before its indexes, which are held against it
        return sorted(entries, key=lambda entry: (log_of(entry.path), entry.path != log_of(entry.path)))

    def _file(self, archive: tarfile.TarFile, path: str, name: str, topic: str | None) -> None:
        """Add a file without payload, of one of an unknown kind the name alone."""
        if parse_file(os.path.basename(path)).kind in LEFT_OUT:
            self._left_out.append(LeftOut(name, None, NOT_TAKEN))
            return
        trouble = irregular(path)
        if trouble is not None:
            self._left_out.append(LeftOut(name, None, trouble))
            info = _info(name)
            leads_nowhere = NOWHERE in trouble
            info.type = tarfile.SYMTYPE
            info.linkname = "left-out" if leads_nowhere else name.rpartition("/")[2]
            archive.addfile(info)
            return
        kind, base = parse_file(os.path.basename(path))[1:4:2]
        facts = BundledFile(topic or CLUSTER_METADATA) if kind == KRAFT_SNAPSHOT else BundledFile(topic, base)
        facts.log = self._log.get(log_of(path))
        try:
            with DataFile(path, self.reading) as file:
                if kind == LOG:
                    facts.positions.append(file.size)
                    self._log = {path: facts}
                chunks = _without_payload(file, facts)
                if chunks is None:
                    self._left_out.append(LeftOut(name, file.size, OF_ZEROS))
                body = _Body(chunks or iter(()), file.size)
                info = _info(name, path)
                info.size = body.remaining_bytes
                archive.addfile(info, body)  # type: ignore[arg-type]
        except FileError as error:
            self._miss(error, name)
            return
        if body.error is not None:
            self._miss(body.error, name)
        self._files.append({"path": name, "size": info.size, **+facts.counts})
        self._count.update(facts.counts, files=1, unpacked_size=info.size)

    def _miss(self, error: FileError, name: str) -> None:
        change = removal(error)
        self._left_out.append(LeftOut(name, None, error.message if change is None else change.message))
        if change is None:
            self.failures.append(error)

    def _directory(self, archive: tarfile.TarFile, name: str, path: str) -> None:
        info = _info(name, path)
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(info)

    def _add(self, archive: tarfile.TarFile, name: str, data: bytes) -> None:
        info = _info(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))


def _without_payload(file: DataFile, facts: BundledFile) -> Iterator[bytes] | None:
    """Return the bytes of a file without payload; None for a file of an unknown kind."""
    name = parse_file(os.path.basename(file.path))
    if name.kind in {LOG, KRAFT_SNAPSHOT}:
        return log_without_payload(file, facts)
    if name.kind in INDEX_FIELDS:
        return index_without_payload(file, name.kind, facts)
    if name.kind not in TEXTS | {PRODUCER_SNAPSHOT}:
        return None
    if file.size > WHOLE_FILE:
        return (file.read(position, WINDOW).translate(FILLED) for position in range(0, file.size, WINDOW))
    data = file.read(0, file.size)
    if name.kind == PRODUCER_SNAPSHOT:
        return iter([producers_without_payload(data)])
    logs = (parse_partition_dir(entry.name) for entry in list_entries(os.path.dirname(file.path)))
    return iter([text_without_payload(data, name.kind, {log.topic for log in logs if log})])


def _log_dir_of(target: Target) -> str:
    """Return the log dir around a target, or the directory around one that lies in none."""
    return target.log_dir or os.path.dirname(os.path.abspath(target.path))


def _info(name: str, path: str | None = None) -> tarfile.TarInfo:
    """Return the header of an entry; its time is that of the file, which retention may go by."""
    info = tarfile.TarInfo(f"{ROOT}/{name}")
    if path is not None:
        try:
            seconds, nanoseconds = divmod(os.stat(path).st_mtime_ns, 10**9)
        except OSError:
            return info
        info.mtime = seconds
        info.pax_headers = {"mtime": f"{seconds}.{nanoseconds:09}"}
    return info


class _Body:
    """A file to be read that has so many bytes; zeros where its chunks end too early, and then an `error`."""

    def __init__(self, chunks: Iterator[bytes], size: int) -> None:
        self.remaining_bytes = size
        self.error: FileError | None = None
        self._chunks, self._chunk, self._position = chunks, b"", 0

    def read(self, size: int) -> bytes:
        """Return the next bytes, so many."""
        size = min(size, self.remaining_bytes)
        data = bytearray()
        while len(data) < size:
            if self._position == len(self._chunk):
                self._chunk, self._position = self._next() or bytes(size - len(data)), 0
            piece = self._chunk[self._position : self._position + size - len(data)]
            data += piece
            self._position += len(piece)
        self.remaining_bytes -= size
        return bytes(data)

    def _next(self) -> bytes:
        """Return the next chunk that is not empty, nothing at the end."""
        try:
            return next(filter(None, self._chunks), b"")
        except FileError as error:
            self.error = error
            return b""


class _Hashed:
    """Passes on what is written, and counts and hashes it."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.sha256 = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        """Write bytes."""
        self._out.write(data)
        self.sha256.update(data)
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Flush what was written."""
        self._out.flush()
