"""The records of a metadata log, or of a snapshot of it, read into an image.

As `KafkaRaftLog` and `RecordsSnapshotReader` read them: first the newest snapshot that is whole, then the log
from the snapshot's end offset on. Only the quorum knows the high watermark of the metadata log, so
records near its end may not be committed.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from formats.batch import CONTROL_MASK, HEADER_SIZE, LOG_OVERHEAD
from formats.bounds import LARGEST_BATCH
from formats.control import (
    KRAFT_VERSION,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    LONGEST_CONTROL,
    SNAPSHOT_FOOTER,
    ControlRecord,
    control_record,
)
from formats.errors import FormatError
from formats.java_text import NUL_TAIL
from formats.magic import LARGEST_HEADER, LATEST, is_legacy, is_valid, read_header
from formats.messages.metadata import METADATA_RECORDS, decode_alike
from formats.messages.reader import Unknown
from formats.names import QUORUM_STATE, FileName, parse_file
from formats.quorum import QuorumState, read_quorum_state
from formats.record import Record, batch_records
from kcli.kafka.findings.findings import Finding, checksum_message, with_count
from kcli.kafka.findings.log_findings import damaged_range_text
from kcli.kafka.kraft.log_settings import topic_config
from kcli.kafka.kraft.metadata_image import Image, PartitionState
from kcli.kafka.storage.loaded_log import LoadedLog, TopicConfig, checkpoints
from kcli.kafka.storage.log_loader import LogLoader
from kcli.kafka.storage.log_segment import BrokerError
from kcli.kafka.storage.metadata_log import LostEnd, lost_end, metadata_partition, snapshots
from kcli.logdir.buffers import NO_PERMISSION, DataFile, FileError, file_error, read_optional, shown
from kcli.logdir.log_dirs import is_locked, is_running, metadata_log, version_of
from kcli.logdir.partition import Partition, shown_path
from kcli.logdir.segment import END, TORN, ZEROS, DamagedRange, Stop, describe_torn
from kcli.logdir.targets import Target
from kcli.words import INT64

if TYPE_CHECKING:
    from kcli.logdir.bulk import Window

Walk: TypeAlias = Callable[[DataFile, int, int], Iterator["Window | DamagedRange | Stop"]]
"""Goes through the batches of a file between two positions, past damage or up to it."""

MOST_UNFIT = 10
"""Findings about records that do not fit, at most: more say nothing new."""
MOST_REMOVED = 100
"""Findings about topics that were deleted, at most: those deleted last."""
UNREADABLE, NOT_WHOLE, TORN_END = "META-001", "META-003", "LOG-001"
OPEN_TRANSACTION, TOPIC_REMOVED, BEYOND = "META-004", "META-005", "META-010"
NO_QUORUM_STATE = "DIR-010"
FEATURE_LEVEL = "FeatureLevelRecord"
METADATA_PARSE = "MetadataParseException"
SNAPSHOT_FIRST = (3, 6)
NO_OP, NO_OP_ALONE = (20, 0), bytes((20, 0, 0, 0, 1, 8, 1, 20, 0, 0, 0))
"""Type and version, and the bytes of a batch's only record: a controller writes one each 500 ms."""
NO_OP_VALUE = NO_OP_ALONE[6:10]
IDLE_LENGTH = HEADER_SIZE - LOG_OVERHEAD + len(NO_OP_ALONE)


class Quorum(NamedTuple):
    """Who leads the quorum, if anyone, in which epoch, who votes: of the last LeaderChange, quorum-state."""

    leader: int | None
    epoch: int
    voters: tuple[int, ...]


class RecordPlace(NamedTuple):
    """Where a record lies: its offset, its file as shown, and the byte position of its batch."""

    offset: int
    path: str
    position: int


class FeatureLevel(NamedTuple):
    """A FeatureLevelRecord, or a KRaftVersionRecord, and where it lies."""

    place: RecordPlace
    name: str
    level: int


class Voter(NamedTuple):
    """A voter: its node.id; of a VotersRecord (KIP-853) also the directory.id of its metadata log dir."""

    node_id: int
    directory_id: str | None
    endpoints: tuple[dict[str, Any], ...] = ()


class Until(NamedTuple):
    """The last record that counts, by its offset and its time (ms)."""

    offset: int = INT64
    timestamp: int = INT64

    def is_past(self, offset: int, timestamp: int = 0) -> bool:
        """Whether a record comes later."""
        return offset > self.offset or timestamp > self.timestamp


ALL_RECORDS = Until()


def _up_to_damage(file: DataFile, start: int, end: int) -> Iterator["Window | DamagedRange | Stop"]:
    from kcli.logdir.bulk import BulkWalk

    walk = BulkWalk(file, start, end)
    yield from walk
    if walk.stop is not None:
        yield walk.stop


class Metadata:
    """The image that files give, and what could not be read of them.

    `end_offset`: one past the last record of the log; `log_start_offset`: of it alone. `quorum`: None where
    nothing names a leader; `voters`: of the last VotersRecord (KIP-853). `record_places`: the first record of
    each type and version; `undecodable`: the first whose bytes are none of its type; `levels`,
    `kraft_versions`: in log order. `has_passed_over`: a newer snapshot could not be read, `unread`: as kcli
    may not; `lost`: of the log itself; `has_reached`: a record after `until` is there. `stamps`: epoch and
    time of records in transactions. `is_whole`: nothing is damaged or missing.
    """

    def __init__(self, directory: str) -> None:
        self.image = Image()
        self.directory = directory
        self.end_offset = 0
        self.quorum: Quorum | None = None
        self.voters: tuple[Voter, ...] = ()
        self.record_places: dict[tuple[int, int], RecordPlace] = {}
        self.undecodable: tuple[RecordPlace, str] | None = None
        self.levels: list[FeatureLevel] = []
        self.kraft_versions: list[FeatureLevel] = []
        self.findings: list[Finding] = []
        self.has_passed_over = False
        self.unread: FileError | None = None
        self.log_start_offset = 0
        self.lost: LostEnd | None = None
        self.until = Until()
        self.has_reached = False
        self.is_whole = True
        self.has_batch = False
        self.timestamp: int | None = None
        self.stamps: dict[int, tuple[int, int]] = {}

    def read(
        self, file: DataFile, path: str, start: int = 0, end: int | None = None, walk: Walk | None = None
    ) -> bool:
        """Replay the records of a file from an offset on; whether it ends with a snapshot's footer.

        FileError for unreadable batches; with a `walk` past damage each is a finding, by `path`.
        """
        ends_with_footer = False
        for item in (walk or _up_to_damage)(file, 0, file.size if end is None else end):
            if isinstance(item, (Stop, DamagedRange)):
                self._cut(path, item)
                continue
            if self._columns(item, path, start):
                ends_with_footer = False
                continue
            for number, data in self._batches(file, item, start):
                position, ends_with_footer = int(item.positions[number]), False
                offset, time = (int(item.fields[name][number]) for name in ("base_offset", "max_timestamp"))
                if self.until.is_past(offset) or (not data and time > self.until.timestamp):
                    self.has_reached = True
                    return False
                if not data:
                    self.timestamp, self.has_batch = time, True
                else:
                    try:
                        ends_with_footer = self._batch(file, position, data, path, start)
                    except FileError as error:
                        if walk is None:
                            raise
                        self.lose(error.message, path, error.position)
                if self.has_reached:
                    return False
                self.image.offset = offset + int(item.fields["last_offset_delta"][number])
                self.image.epoch = int(item.fields["partition_leader_epoch"][number])
                self.end_offset = self.image.offset + 1
        return ends_with_footer

    def _columns(self, window: "Window", path: str, start: int) -> bool:
        """Replay a window of data alone in which nothing is to be left out; return whether it is one."""
        from formats.record_columns import RecordColumns, record_columns

        fields, places = window.fields, window.positions
        if self.until != ALL_RECORDS or window.valid is None or not len(window.data):
            return False
        is_plain = window.valid & (fields["magic"] == LATEST) & (fields["attributes"] & CONTROL_MASK == 0)
        if not is_plain.all() or fields["base_offset"][0] < start:
            return False
        blocks = [*record_columns(window.data, places - window.base, LARGEST_BATCH, fields)]
        decoded = [block for block in blocks if isinstance(block, RecordColumns)]
        if len(decoded) < len(blocks):
            return False
        for block in decoded:
            epochs = block.headers["partition_leader_epoch"][block.batch]
            columns = (block.offset, block.timestamp, block.value_start, block.value_length)
            positions, data = places[block.first + block.batch], block.data
            for offset, time, begin, size, epoch, position in zip(
                *(each.tolist() for each in (*columns, epochs, positions)), strict=True
            ):
                self.image.offset, self.image.epoch, self.timestamp = offset, epoch, time
                value = None if size < 0 else data[begin : begin + size]
                if value != NO_OP_VALUE or NO_OP not in self.record_places:
                    self._data(offset, value, path, position)
        self.end_offset, self.has_batch = self.image.offset + 1, True
        return True

    def _batches(self, file: DataFile, window: "Window", start: int) -> Iterator[tuple[int, bytes]]:
        """Yield the number and bytes of each batch to be replayed, no bytes of one that changes nothing."""
        fields = window.fields
        is_later = fields["base_offset"].astype("i8") + fields["last_offset_delta"] >= start
        # a message of magic 0 or 1 is none of a metadata log
        is_read = ~is_legacy(fields["magic"]) & (is_later | (fields["attributes"] & CONTROL_MASK != 0))
        may_idle = is_later & (fields["attributes"] == 0) & (fields["records_count"] == 1)
        may_idle &= fields["batch_length"] == IDLE_LENGTH
        if window.valid is not None:
            may_idle &= window.valid
        sizes = fields["batch_length"] + LOG_OVERHEAD
        for number in is_read.nonzero()[0].tolist():
            position, size = int(window.positions[number]), int(sizes[number])
            if not is_later[number]:
                self._before(file, position)
                continue
            begin = position - window.base
            if (
                may_idle[number]
                and window.data[begin + HEADER_SIZE : begin + HEADER_SIZE + len(NO_OP_ALONE)] == NO_OP_ALONE
                and NO_OP in self.record_places
            ):
                yield number, b""
            elif size > LARGEST_BATCH or begin + size > len(window.data):
                yield number, file.read(position, size if size <= LARGEST_BATCH else LARGEST_HEADER)
            else:
                yield number, bytes(window.data[begin : begin + size])

    def _batch(self, file: DataFile, position: int, data: bytes, path: str, start: int) -> bool:
        """Replay one batch; return whether it holds a snapshot's footer."""
        header, is_footer = read_header(data), False
        if header.size > LARGEST_BATCH:
            raise FileError(
                file.path, "limit", f"a batch of {header.size} bytes, {LARGEST_BATCH} at most", position
            )
        if not is_valid(data):
            raise FileError(file.path, "corrupt", checksum_message(header.base_offset), position)
        try:
            for record in batch_records(data, LARGEST_BATCH):
                if self.until.is_past(record.offset, record.timestamp):
                    self.has_reached = True
                    return False
                self.has_batch = True
                if record.offset >= start:
                    self.image.offset, self.image.epoch = record.offset, header.partition_leader_epoch
                    self.end_offset, self.timestamp = record.offset + 1, record.timestamp
                if header.is_control:
                    control = control_record(record.key, record.value)
                    is_footer = control.type == SNAPSHOT_FOOTER
                    self._take_control(control, record, header.partition_leader_epoch)
                    if control.type == KRAFT_VERSION and control.value is not None:
                        level = control.value.fields["kRaftVersion"]
                        place = RecordPlace(record.offset, path, position)
                        self.kraft_versions.append(FeatureLevel(place, "kraft.version", int(str(level))))
                elif record.offset >= start:
                    self._data(record.offset, record.value, path, position)
        except FormatError as error:
            raise file_error(file.path, error) from error
        return is_footer

    def _take_control(self, control: ControlRecord, record: Record, epoch: int) -> None:
        """Take a control record; a watch of the image sees it, too."""
        if self.image.watch is None or control.value is None:
            self._control(control, epoch)
            return
        self.stamps[record.offset] = epoch, record.timestamp
        self.image.watch(record.offset, control.value, lambda *_: self._control(control, epoch))

    def _before(self, file: DataFile, position: int) -> None:
        """Take a leader change from before a snapshot, which has none; what is damaged there says nothing."""
        header = read_header(file.read(position, LARGEST_HEADER))
        if header.size > LONGEST_CONTROL:
            return
        data = file.read(position, header.size)
        if is_valid(data):
            with suppress(FormatError):
                for record in batch_records(data, LONGEST_CONTROL):
                    control = control_record(record.key, record.value)
                    if control.type == LEADER_CHANGE:
                        self._control(control, header.partition_leader_epoch)

    def _control(self, control: ControlRecord, epoch: int) -> None:
        if control.type not in {LEADER_CHANGE, KRAFT_VOTERS} or control.value is None:
            return
        fields: dict[str, Any] = control.value.fields
        if control.type == KRAFT_VOTERS:
            self.voters = tuple(
                Voter(voter["voterId"], voter["voterDirectoryId"], tuple(voter["endpoints"]))
                for voter in fields["voters"]
            )
        else:
            voters = tuple(voter["voterId"] for voter in fields["voters"])
            self.quorum = Quorum(fields["leaderId"], epoch, voters)

    def elected(self, state: QuorumState) -> None:
        """Take what quorum-state says, if the log does not know of a later epoch."""
        quorum = self.quorum
        if quorum is not None and quorum.epoch > state.leader_epoch:
            return
        leader = None if state.leader_id < 0 else state.leader_id
        if quorum is not None and quorum.epoch == state.leader_epoch:
            leader = quorum.leader if leader is None else leader
        named = () if quorum is None else quorum.voters
        voters = tuple(voter.node_id for voter in self.voters) or state.current_voters or named
        self.quorum = Quorum(leader, state.leader_epoch, voters)

    def _data(self, offset: int, value: bytes | None, path: str, position: int) -> None:
        try:
            message = decode_alike(value)
        except FormatError as error:
            if self.undecodable is None:
                self.undecodable = RecordPlace(offset, path, position), str(error)
            self._unreadable(offset, str(error), path, position)
            return
        kind = message.api_key, message.version or 0
        if kind not in self.record_places:
            self.record_places[kind] = RecordPlace(offset, path, position)
        if isinstance(message, Unknown):
            reason = f"Unknown metadata id {message.api_key}"
            if message.api_key in METADATA_RECORDS:
                reason = f"{METADATA_RECORDS[message.api_key].name} of version {message.version}"
            self._unreadable(offset, reason, path, position)
        else:
            if message.name == FEATURE_LEVEL:
                fields = message.fields
                place = RecordPlace(offset, path, position)
                level = FeatureLevel(place, str(fields["name"]), int(str(fields["featureLevel"])))
                self.levels.append(level)
            if self.image.open_since is not None:
                self.stamps[offset] = self.image.epoch, self.timestamp or 0
            self.image.replay(offset, message)

    def _unreadable(self, offset: int, reason: str, path: str, position: int) -> None:
        message = f"{METADATA_PARSE}: offset {offset}: {reason}"
        numbers = [number for number, finding in enumerate(self.findings) if finding.code == UNREADABLE]
        if numbers:
            first = self.findings[numbers[0]]
            self.findings[numbers[0]] = first._replace(more=(first.more or 0) + 1)
        else:
            self.findings.append(Finding(UNREADABLE, message, self.directory, path, position, more=0))
        self.is_whole = False

    def take_end(self, name: FileName) -> None:
        """Take the end of a snapshot from its name: inside it offsets begin at 0."""
        if name.base_offset is not None and name.epoch is not None:
            self.end_offset = name.base_offset
            self.image.offset, self.image.epoch = name.base_offset - 1, name.epoch

    def _cut(self, path: str, item: Stop | DamagedRange) -> None:
        if isinstance(item, DamagedRange):
            self.lose(damaged_range_text(item), path, item.start)
        elif item.reason in TORN:
            is_append = item.position > 0 or (item.found or 0) <= LARGEST_BATCH
            self.lose(describe_torn(item), path, item.position, TORN_END if is_append else NOT_WHOLE)
        elif item.reason == ZEROS:
            self.lose(NUL_TAIL.format(item.position), path, item.position)
        elif item.reason != END and (not self.findings or self.findings[-1].position != item.position):
            self.lose(item.reason, path, item.position)  # no damaged range has said so

    def lose(self, message: str, path: str, position: int | None, code: str = NOT_WHOLE) -> None:
        """Keep that something cannot be read, or is not here."""
        self.is_whole = False
        self.findings.append(Finding(code, message, self.directory, path, position))

    def undecodable_findings(self) -> Iterator[Finding]:
        """Yield that a node ends at a record which cannot be decoded, as a start with this log says."""
        yield from (with_count(finding) for finding in self.findings if finding.code == UNREADABLE)

    def record_findings(self) -> Iterator[Finding]:
        """Yield what is to be said of the records: the unreadable, the unfit, the open transaction."""
        yield from self.findings
        for misfit in self.image.misfits[:MOST_UNFIT]:
            message = f"offset {misfit.offset}: {misfit}"
            yield Finding(NOT_WHOLE, message, self.directory, found=misfit.offset)
        if self.image.open_since is not None:
            message = f"the transaction that begins at offset {self.image.open_since} is not ended"
            yield Finding(OPEN_TRANSACTION, message, self.directory, found=self.image.open_since)
        for topic in self.image.removed[-MOST_REMOVED:]:
            message = f"topic {topic.name} ({topic.topic_id}) was deleted at offset {topic.offset}"
            yield Finding(TOPIC_REMOVED, message, self.directory, found=topic.offset)


def metadata_of_snapshot(path: str, shown_as: str) -> Metadata:
    """Return what a snapshot of the metadata log holds. FileError where it ends without its footer."""
    metadata = Metadata(os.path.dirname(shown_as) or ".")
    name = parse_file(os.path.basename(path))
    with DataFile(path) as file:
        is_whole = metadata.read(file, shown_as)
    if not is_whole and name.base_offset is not None:
        raise FileError(path, "incomplete", "a snapshot that does not end with its footer")
    metadata.quorum = None
    metadata.take_end(name)
    return metadata


def metadata_of_log(
    partition: Partition, loaded: LoadedLog, snapshot: Callable[[Partition], Metadata] | None = None
) -> Metadata:
    """Return what a metadata log holds: its newest whole snapshot, or what `snapshot` reads, and the log.

    FileError, too, for a snapshot that kcli may not read where the log does not have what it holds.
    """
    metadata = (snapshot or newest_snapshot)(partition)
    if metadata.unread is not None and loaded.log_start_offset > metadata.end_offset:
        raise metadata.unread
    metadata.log_start_offset = loaded.log_start_offset
    start, metadata.lost = metadata.end_offset, lost_end(loaded)
    for segment in loaded.segments:
        if segment.log_path is not None and segment.log_size:
            with segment.log() as file:
                metadata.read(file, shown_path(partition, segment.log_path), start, segment.log_size)
    take_quorum_state(metadata, partition)
    return metadata


def take_quorum_state(metadata: Metadata, partition: Partition) -> None:
    """Take what quorum-state beside a metadata log says."""
    path = os.path.join(partition.path, QUORUM_STATE)
    data = read_optional(path)
    if data is not None:
        try:
            metadata.elected(read_quorum_state(data))
        except FormatError as error:
            shown_as = shown_path(partition, path)
            metadata.findings.append(Finding(NO_QUORUM_STATE, str(error), metadata.directory, shown_as))


def newest_snapshot(partition: Partition, until: Until = ALL_RECORDS, reached: int | None = None) -> Metadata:
    """Return what the newest readable snapshot up to a record holds, or the oldest from `reached` on."""
    metadata, unread = Metadata(partition.shown), None
    passed_over: list[Finding] = []
    files = sorted(snapshots(partition.names, reached or 0).items(), reverse=reached is None)
    for (_, end_offset), file in files if reached != 0 else ():
        if until.is_past(end_offset - 1):
            continue
        path = os.path.join(partition.path, file)
        shown_as = os.path.join(partition.shown, shown(file))
        try:
            snapshot = metadata_of_snapshot(path, shown_as)
        except FileError as error:
            unread = error if error.code == NO_PERMISSION else unread
            message = f"passed over: {error.message}"
            passed_over.append(Finding(NOT_WHOLE, message, partition.shown, shown_as, error.position))
            continue
        if not until.is_past(0, snapshot.timestamp or 0):
            metadata = snapshot
            break
    metadata.directory, metadata.unread = partition.shown, unread
    metadata.findings[:0] = passed_over
    metadata.has_passed_over = bool(passed_over)
    metadata.is_whole = metadata.is_whole and not passed_over
    return metadata


def _no_snapshot(partition: Partition) -> Metadata:
    return Metadata(partition.shown)


def _started_snapshot(partition: Partition) -> Metadata:
    """Return what a start reads of the newest snapshot, whole or cut, as `RecordsSnapshotReader` does."""
    metadata = Metadata(partition.shown)
    newest = max(snapshots(partition.names, 0).items(), default=None)
    if newest is not None:
        (epoch, end_offset), file = newest
        with suppress(FileError), DataFile(os.path.join(partition.path, file)) as data:
            metadata.read(data, os.path.join(partition.shown, shown(file)))
        metadata.end_offset, metadata.quorum = end_offset, None
        metadata.image.offset, metadata.image.epoch = end_offset - 1, epoch
    return metadata


def cluster_image(target: Target) -> Image | None:
    """Return the cluster metadata that the broker of a target has; None where there is none to be read."""
    metadata = _cluster_metadata(target)
    return None if metadata is None else metadata.image


def state_of_replica(target: Target) -> PartitionState | None:
    """Return what the metadata of its broker says of a replica's partition; None where nothing does."""
    image, name = cluster_image(target), target.name
    _, topic = (None, None) if image is None or name is None else image.named(name.topic)
    return None if topic is None or name is None else topic.partitions.get(name.partition)


def undecodable_findings(target: Target) -> Iterator[Finding]:
    """Yield that a record of the cluster metadata that the broker of a target has cannot be decoded."""
    metadata = _cluster_metadata(target)
    yield from () if metadata is None else metadata.undecodable_findings()


def _cluster_metadata(target: Target) -> Metadata | None:
    """Return what is known of the cluster; of a broker that runs anew with each segment and each snapshot."""
    path = metadata_log(target.metadata_dir, target.log_dir)
    if path is None:
        return None
    metadata = _metadata(path, _as_running(path) if is_running(target) else versions_in(path))
    return metadata if isinstance(metadata, Metadata) else None


def image_in(log_dir: str) -> Image | None:
    """Return the cluster metadata that a log dir holds; None where there is none to be read."""
    metadata = metadata_in(log_dir)
    return metadata.image if isinstance(metadata, Metadata) else None


def metadata_in(
    log_dir: str, *, as_started: tuple[int, int] | None = None
) -> Metadata | BrokerError | FileError | None:
    """Return what the metadata log in a log dir holds, or why it does not load; None where there is none.

    `as_started`: with as much of the newest snapshot as the start of a release reads.
    """
    path = metadata_log(log_dir)
    if path is None:
        return None
    versions = _as_running(path) if is_locked(log_dir) else versions_in(path)
    metadata = _metadata(path, versions)
    if as_started is None or not isinstance(metadata, Metadata):
        return metadata
    if not reads_snapshot(metadata, as_started):
        return _metadata(path, versions, _no_snapshot)
    return _metadata(path, versions, _started_snapshot) if metadata.has_passed_over else metadata


def reads_snapshot(metadata: Metadata, release: tuple[int, int]) -> bool:
    """Whether a release reads the newest snapshot: before 3.6 none of a log from 0 (`KafkaRaftClient`)."""
    return release >= SNAPSHOT_FIRST or metadata.log_start_offset > 0


def configuration_of(partition: Partition) -> TopicConfig | None:
    """Return the configuration of the topic of a partition, by its name; None where it is not known."""
    image = cluster_image(partition.target)
    return None if image is None else topic_config(image, partition.topic or "")


@lru_cache(maxsize=8)
def _metadata(
    path: str, _versions: tuple[object, ...], snapshot: Callable[[Partition], Metadata] | None = None
) -> Metadata | BrokerError | FileError:
    partition = metadata_partition(path)
    try:
        loader = LogLoader(partition, checkpoints(partition), exact=True)
        return metadata_of_log(partition, loader.load(), snapshot)
    except (BrokerError, FileError) as error:
        return error


def versions_in(path: str) -> tuple[object, ...]:
    """Return what changes when a file in the directory of a metadata log does."""
    return tuple(version_of(os.path.join(path, name)) for name in _names(path))


class _Runs:
    number = 0


def begin_run() -> None:
    """Let what a running broker appended to its metadata log be read, where a process asks again."""
    _Runs.number += 1


def _as_running(path: str) -> tuple[object, ...]:
    """Return what changes with each run, and with each segment and each snapshot of a metadata log."""
    return (_Runs.number, *_names(path))


def _names(path: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(os.listdir(path)))
    except OSError:
        return ()
