"""The producers of a partition as the broker tracks them, and the snapshot files that it keeps of them.

The truth is `ProducerStateManager`, `ProducerAppendInfo` and `UnifiedLog.rebuildProducerState`. Of a
producer's batches only the last is kept, as a snapshot keeps it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from formats.batch import CONTROL_MASK, NO_PRODUCER_ID, TRANSACTIONAL_MASK
from formats.bounds import LARGEST_CONTROL_BATCH
from formats.errors import FormatError, LimitError
from kcli.kafka.storage import log_segment
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment
from kcli.kafka.storage.valid_batches import LogBatch, header_batches
from kcli.logdir.buffers import DataFile, file_error, read_whole

EMPTY_SNAPSHOT = bytes.fromhex("0001 48674bc7 00000000")
"""A snapshot of no producer: its checksum is known, so that the usual answer needs none."""


class Producer(NamedTuple):
    """A producer: the timestamp of its last batch or marker, and where its open transaction began.

    Then its epoch, its last batch in it (`offset_delta`: last minus first), its last marker's coordinator;
    -1, 0: none.
    """

    last_timestamp: int
    open_since: int | None
    epoch: int = -1
    last_sequence: int = -1
    last_offset: int = -1
    offset_delta: int = 0
    coordinator_epoch: int = -1

    def of_epoch(self, epoch: int) -> "Producer":
        """Return the producer in an epoch: a change of epoch forgets the last batch."""
        if epoch == self.epoch:
            return self
        return self._replace(epoch=epoch, last_sequence=-1, last_offset=-1, offset_delta=0)


NEW_PRODUCER = Producer(-1, None)


class Ended(NamedTuple):
    """A transaction that a marker ended, with the marker's offset."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class ControlMarker(NamedTuple):
    """A control batch's first record: its type, and of an end marker whether it aborts, and which epoch."""

    timestamp: int
    type: int
    is_abort: bool | None = None
    coordinator_epoch: int = -1


def read_marker(raw: bytes) -> ControlMarker | None:
    """Return what a control batch says, None where cleaning has emptied it; FormatError where it is broken.

    Kafka throws InvalidRecordException for a broken marker. Another type's value, maybe long, is not read.
    """
    from formats.control import ABORT, COMMIT, control_key, control_record
    from formats.record import batch_records

    record = next(batch_records(raw, LARGEST_CONTROL_BATCH), None)
    if record is None:
        return None
    kind = control_key(record.key).type
    if kind not in {ABORT, COMMIT}:
        return ControlMarker(record.timestamp, kind)
    value = control_record(record.key, record.value).value
    epoch = int(str(value.fields["coordinatorEpoch"])) if value else -1
    return ControlMarker(record.timestamp, kind, kind == ABORT, epoch)


Snapshot: TypeAlias = "str | Mapping[int, Producer]"
"""A snapshot file: its path on disk, or the producers that the broker would write into a new one."""


@dataclass(slots=True, kw_only=True)
class ProducerState:
    """The broker's map of producers, changed in place, with the snapshot files it knows.

    `disk`: offset -> snapshot, shared as the directory is; `high_watermark`: of the checkpoint, if any.
    """

    disk: dict[int, Snapshot]
    now_ms: int
    expiration_ms: int
    high_watermark: int | None = None
    snapshots: set[int] = field(default_factory=set)
    producers: dict[int, Producer] = field(default_factory=dict)
    ongoing: dict[int, int] = field(default_factory=dict)
    first_unreplicated: int | None = None
    """Where the first transaction begins that was completed since a snapshot was loaded."""
    first_above_watermark: int | None = None
    """Where the first of them begins whose marker is not below the high watermark."""
    map_end: int = 0
    last_snapshot: int = 0
    bytes_replayed: int = 0
    """Bytes of logs that were followed from a snapshot on."""
    expired: int = 0
    """Producers of the snapshot that was loaded which had expired by then."""

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of an open transaction, or of one completed above the high watermark."""
        unreplicated = () if self.first_unreplicated is None else (self.first_unreplicated,)
        return min((*self.ongoing, *unreplicated), default=None)

    def fresh(self) -> "ProducerState":
        """Return an empty state over the same directory that knows all its snapshots."""
        return ProducerState(
            disk=self.disk, now_ms=self.now_ms, expiration_ms=self.expiration_ms, snapshots=set(self.disk)
        )

    def copy(self) -> "ProducerState":
        """Return an equal state over a copy of the directory."""
        disk, snapshots = dict(self.disk), set(self.snapshots)
        producers, ongoing = dict(self.producers), dict(self.ongoing)
        return replace(self, disk=disk, snapshots=snapshots, producers=producers, ongoing=ongoing)

    def delete_snapshot(self, offset: int) -> None:
        """Delete a snapshot file; one that this state does not know stays."""
        if offset in self.snapshots:
            self.snapshots.discard(offset)
            self.disk.pop(offset, None)

    def take_snapshot(self) -> None:
        """Write a snapshot at the end of the map, unless the last one was as far."""
        if self.map_end > self.last_snapshot:
            self.disk[self.map_end] = dict(self.producers)
            self.snapshots.add(self.map_end)
            self.last_snapshot = self.map_end

    def start_at(self, offset: int) -> None:
        """Forget every producer and delete every known snapshot."""
        self._clear()
        for snapshot in sorted(self.snapshots):
            self.delete_snapshot(snapshot)
        self.last_snapshot, self.map_end = 0, offset

    def remove_stray_snapshots(self, base_offsets: Sequence[int]) -> None:
        """Delete the snapshots at no segment's base, but for the highest if it lies above the last base."""
        strays = sorted(set(self.disk) - set(base_offsets))
        if strays and (not base_offsets or strays[-1] >= max(base_offsets)):
            strays.pop()
        for offset in strays:
            del self.disk[offset]
        self.snapshots = set(self.disk)

    def append(self, log: DataFile, batch: LogBatch) -> Ended | None:
        """Follow one batch of a producer; the transaction that it ends, if any, is still to be completed."""
        is_transactional = bool(batch.attributes & TRANSACTIONAL_MASK)
        old = self.producers.get(batch.producer_id, NEW_PRODUCER)
        open_since = old.open_since
        if batch.attributes & CONTROL_MASK:
            marker = marker_of(log, batch)
            if marker is None:
                self.producers.setdefault(batch.producer_id, NEW_PRODUCER)
                return None
            self.producers[batch.producer_id] = old.of_epoch(batch.producer_epoch)._replace(
                last_timestamp=marker.timestamp, open_since=None, coordinator_epoch=marker.coordinator_epoch
            )
            if open_since is None:
                return None
            return Ended(batch.producer_id, open_since, batch.base_offset, bool(marker.is_abort))
        if open_since is not None and not is_transactional:
            message = outside_message(batch.producer_id, open_since)
            raise BrokerError("InvalidTxnStateException", log.path, batch.position, message)
        if open_since is None and is_transactional:
            open_since = batch.base_offset
            self.ongoing[open_since] = batch.producer_id
        self.producers[batch.producer_id] = Producer(
            batch.max_timestamp,
            open_since,
            batch.producer_epoch,
            batch.last_sequence,
            batch.last_offset,
            batch.last_offset - batch.base_offset,
            old.coordinator_epoch,
        )
        return None

    def last_stable_offset(self, ended: Ended) -> int:
        """Return the last stable offset once a transaction is closed: the first still open of another."""
        begins = [first for first, producer_id in self.ongoing.items() if producer_id != ended.producer_id]
        return min(begins, default=ended.last_offset + 1)

    def complete(self, ended: Ended, path: str, position: int) -> None:
        """Close a transaction that a marker ended."""
        if self.ongoing.pop(ended.first_offset, None) is None:
            message = f"a marker ends a transaction at offset {ended.first_offset} that was not started"
            raise BrokerError(log_segment.ILLEGAL_ARGUMENT, path, position, message)
        first = ended.first_offset
        if self.first_unreplicated is None or first < self.first_unreplicated:
            self.first_unreplicated = first
        if self.high_watermark is None or ended.last_offset < self.high_watermark:
            return
        if self.first_above_watermark is None or first < self.first_above_watermark:
            self.first_above_watermark = first

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int) -> None:
        """Delete snapshots outside (log start, log end]; load the newest unless the map ends there."""
        for offset in sorted(self.snapshots):
            if offset > log_end_offset or offset <= log_start_offset:
                self.delete_snapshot(offset)
        if log_end_offset == self.map_end:
            self.map_end = max(self.map_end, log_start_offset)
            self.last_snapshot = max(self.snapshots, default=log_start_offset)
            return
        self._clear()
        self._load_newest(log_start_offset)

    def keeps(self, producer: Producer) -> bool:
        """Whether a producer of a snapshot is loaded: it has not expired, or has an open transaction."""
        is_recent = self.now_ms - producer.last_timestamp < self.expiration_ms
        return is_recent or producer.open_since is not None

    def _clear(self) -> None:
        self.producers.clear()
        self.ongoing.clear()
        self.first_unreplicated = self.first_above_watermark = None

    def _load_newest(self, log_start_offset: int) -> None:
        while self.snapshots:
            newest = max(self.snapshots)
            loaded = read_snapshot(self.disk[newest])
            if loaded is None:
                self.delete_snapshot(newest)
                continue
            live = {key: producer for key, producer in loaded.items() if self.keeps(producer)}
            self.producers |= live
            self.ongoing |= {
                entry.open_since: key for key, entry in live.items() if entry.open_since is not None
            }
            self.expired = len(loaded) - len(live)
            self.map_end = self.last_snapshot = newest
            return
        self.map_end = self.last_snapshot = log_start_offset


def outside_message(producer_id: int, open_since: int) -> str:
    """Return what is said of a batch that is not transactional, of a producer with an open transaction."""
    return f"producer {producer_id} writes outside its transaction, open since offset {open_since}"


def read_snapshot(snapshot: Snapshot) -> Mapping[int, Producer] | None:
    """Return the producers of a snapshot file by id; None if the broker would find it corrupt."""
    if not isinstance(snapshot, str):
        return snapshot
    data = read_whole(snapshot)
    if data == EMPTY_SNAPSHOT:
        return {}
    from formats.producer_snapshot import read_snapshot as decode_snapshot

    producers = {}
    try:
        for entry in decode_snapshot(data).entries:
            last = (entry.last_sequence, entry.last_offset, entry.offset_delta)
            since = entry.current_txn_first_offset if entry.has_open_transaction else None
            last = last if entry.has_batch else (-1, -1, 0)
            producer = Producer(entry.timestamp, since, entry.producer_epoch, *last, entry.coordinator_epoch)
            producers[entry.producer_id] = producer
    except FormatError:
        return None
    return producers


def marker_of(log: DataFile, batch: LogBatch) -> ControlMarker | None:
    """Return the marker in a control batch, None if cleaning has emptied it; BrokerError for others."""
    if batch.size > LARGEST_CONTROL_BATCH:
        most = f"at most {LARGEST_CONTROL_BATCH} bytes"
        raise file_error(log.path, LimitError(batch.position, "control batch size", most, batch.size))
    try:
        marker = read_marker(log.read(batch.position, batch.size))
    except FormatError as error:
        message = f"a broken control record: {error}"
        raise BrokerError(log_segment.INVALID_RECORD, log.path, batch.position, message) from error
    if marker is not None and marker.is_abort is None:
        message = f"a control record of type {marker.type} where a transaction marker belongs"
        raise BrokerError(log_segment.ILLEGAL_ARGUMENT, log.path, batch.position, message)
    return marker


def rebuild(
    state: ProducerState,
    segments: Sequence[LoadedSegment],
    log_start_offset: int,
    last_offset: int,
    *,
    clean_start: bool,
) -> None:
    """Bring the state to `last_offset`, as `UnifiedLog.rebuildProducerState`.

    The newest snapshot, the batches after it, new snapshots; a clean start without any writes empty ones.
    """
    bases = [segment.base_offset for segment in segments[-2:]]
    if clean_start and not state.snapshots:
        for offset in (*bases, last_offset):
            state.map_end = offset
            state.take_snapshot()
        return
    nothing_before = not state.producers and state.map_end >= last_offset
    state.truncate_and_reload(log_start_offset, last_offset)
    if last_offset > state.map_end and not nothing_before:
        below = [segment for segment in segments if segment.base_offset <= last_offset]
        for segment in log_segment.segments_from(below, state.map_end):
            if segment.base_offset == last_offset:
                break
            start = max(segment.base_offset, state.map_end, log_start_offset)
            state.map_end = start
            if segment.base_offset in bases:
                state.take_snapshot()
            end: int | None = None
            if segment is below[-1]:
                end = log_segment.translate_offset(segment, last_offset)
            replay(state, segment, start, segment.log_size if end is None else end)
    state.map_end = last_offset
    state.take_snapshot()


def replay(state: ProducerState, segment: LoadedSegment, start_offset: int, end_position: int) -> None:
    """Follow the batches of a segment from an offset up to a position, by their headers; markers are read."""
    start = log_segment.translate_offset(segment, start_offset)
    if start is None:
        return
    if end_position < start:
        message = "the batch of a higher offset lies before this one"
        raise BrokerError(log_segment.ILLEGAL_ARGUMENT, segment.log_path or "", start, message)
    ended: list[tuple[Ended, int]] = []
    state.bytes_replayed += end_position - start
    with segment.log() as log:
        for batch in header_batches(log, start, end_position):
            if batch.producer_id > NO_PRODUCER_ID:
                transaction = state.append(log, batch)
                if transaction is not None:
                    ended.append((transaction, batch.position))
        for transaction, position in ended:
            state.complete(transaction, log.path, position)
