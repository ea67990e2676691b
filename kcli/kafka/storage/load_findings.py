"""What a start reports: where it cuts, where a scan sees another end, what leader-epoch-checkpoint lacks."""

import os
from collections.abc import Generator, Iterator, Sequence

from formats.batch import BatchHeader
from formats.checkpoint import EpochEntry
from kcli.kafka.findings.findings import Finding
from kcli.kafka.storage.leader_epochs import EpochCache, replay
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment, LogTail, has_zero_tail, last_offset
from kcli.logdir.buffers import DataFile
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition, shown_path
from kcli.logdir.segment import END, TORN, ZEROS, Stop, Walk, describe_torn, only_zeros

NOT_RECOVERED = "START-005"
STOPS = {
    "bad-length": ("LOG-002", "no batch can have this length"),
    "bad-magic": ("LOG-002", "no batch can have this magic"),
    ZEROS: ("LOG-004", "only zeros to the end of the file"),
}


class Reporter:
    """Collects the findings of one partition, in the order in which the start comes to them."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.findings: list[Finding] = []

    def report(
        self,
        code: str,
        message: str,
        path: str | None,
        position: int | None = None,
        *,
        expected: int | None = None,
        found: int | None = None,
    ) -> None:
        """Add a finding about a file of the partition; about the directory itself where `path` is None."""
        where = None if path is None else shown_path(self.partition, path)
        finding = Finding(code, message, self.partition.shown, where, position, expected, found)
        self.findings.append(finding)

    def report_unknown_start(self, log_start: int, first_base_offset: int) -> None:
        """Add that the log starts at its first segment, or below if its topic is tiered."""
        message = (
            f"taken as not tiered: the log start is {first_base_offset}, of the first segment; it is "
            f"{log_start}, of the checkpoint, if the topic is tiered"
        )
        self.report("START-006", message, None, expected=log_start, found=first_base_offset)

    def report_cut(
        self, segment: LoadedSegment, position: int, truncated: int, reason: BrokerError | None
    ) -> None:
        """Add what recovery cuts, and why, without `reason` a torn batch; or that a broker appends."""
        path = segment.log_path or ""
        if reason is None:
            with segment.log() as log:
                grown = log.size + log.grown(is_torn=True) - segment.log_size
            if grown:
                self.report_growth(path, grown)
            else:
                message = f"recovery cuts {truncated} bytes: the batch at byte {position} is not whole"
                self.report("LOG-001", message, path, position)
            return
        with segment.log() as log:
            zeros = only_zeros(log, position, segment.log_size)
        code, why = STOPS[ZEROS] if zeros else ("START-001", reason.message)
        self.report(code, f"recovery cuts {truncated} bytes: {why}", path, position)

    def report_growth(self, path: str, grown: int) -> None:
        """Add by how many bytes a file has grown while it was read (negative: it shrank)."""
        how = "grew" if grown > 0 else "shrank"
        self.report("LOG-005", f"the file {how} by {abs(grown)} bytes while it was read", path)

    def compare_with_scan(self, last: LoadedSegment, tail: LogTail) -> None:
        """Report if a scan of the last segment sees another end than the broker, which trusts the index."""
        index = last.offset_index
        if index.path and has_zero_tail(index):
            self.report("IDX-003", "the offset index has its preallocated tail", index.path)
        if tail.end == last.log_size and _entry_leads_to(last, tail):
            return
        with last.log() as log:
            _, header, stop = walk_to_end(log, 0, last.log_size)
        scanned = last.base_offset if header is None else header.last_offset + 1
        if scanned != tail.next_offset:
            message = (
                f"the log ends at offset {tail.next_offset} for the broker, a scan sees it end at {scanned}"
            )
            self.report(
                "IDX-002", message, index.path or last.log_path, expected=tail.next_offset, found=scanned
            )
        self.findings.extend(stop_finding(self.partition, last.log_path or "", stop))


def _entry_leads_to(segment: LoadedSegment, tail: LogTail) -> bool:
    """Whether the last index entry leads to a batch at or below its offset, and the log reaches it."""
    index = segment.offset_index
    if not index.entries:
        return True
    with index.reader() as get:
        entry = get(index.entries - 1)
    if not entry.position or tail.first is None or tail.last is None:
        return not entry.position
    offset = segment.base_offset + entry.relative_offset
    with segment.log() as log:
        return tail.first.base_offset <= offset <= last_offset(log, tail.last)


def stop_finding(partition: Partition, path: str, stop: Stop) -> Iterator[Finding]:
    """Yield where a walk over a log broke off; nothing if it came to the end of the file."""
    if stop.reason != END:
        code, message = ("LOG-001", describe_torn(stop)) if stop.reason in TORN else STOPS[stop.reason]
        path = shown_path(partition, path)
        yield Finding(code, message, dir=partition.shown, path=path, position=stop.position, found=stop.found)


def walk_to_end(
    log: DataFile, position: int, end: int
) -> tuple[BatchHeader | None, BatchHeader | None, Stop]:
    """Return the first and the last header from a position on, and where the walk stopped."""
    walk = Walk(log, position, end)
    first = last = None
    for _, last in walk:
        first = first or last
    assert walk.stop is not None, "a walk that has ended says where"
    return first, last, walk.stop


def lacks_epochs(loaded: LoadedLog) -> bool:
    """Whether there is no leader-epoch-checkpoint, and a segment begins with a batch of a leader epoch."""
    if loaded.epoch_lines is not None:
        return False
    for segment in reversed(loaded.segments):
        if segment.log_path is not None:
            with segment.log() as log:
                first = next(iter(Walk(log, 0, segment.log_size)), None)
            if first is not None and first.header.partition_leader_epoch >= 0:
                return True
    return False


def no_epochs(partition: Partition, message: str = "no such file; the cache starts empty") -> Finding:
    """Return the finding about a partition whose leader-epoch-checkpoint is missing, or lacks its epochs."""
    path = os.path.join(partition.shown, LEADER_EPOCH_CHECKPOINT)
    return Finding("EPOCH-001", message, dir=partition.shown, path=path)


def contradicting_lines(partition: Partition, lines: Sequence[EpochEntry]) -> Iterator[Finding]:
    """Yield that lines of leader-epoch-checkpoint erase one another."""
    entries = replay(lines)
    if tuple(lines) != entries:
        path = os.path.join(partition.shown, LEADER_EPOCH_CHECKPOINT)
        message = f"{len(lines)} lines leave {len(entries)} entries: {list_epochs(entries)}"
        yield Finding(
            "EPOCH-002", message, dir=partition.shown, path=path, expected=len(lines), found=len(entries)
        )


def checkpointed_epochs(
    partition: Partition, loaded: LoadedLog | None, *, running: bool = False
) -> Generator[Finding, None, EpochCache]:
    """Yield what leader-epoch-checkpoint shows; return it replayed, with what recovery adds."""
    path = os.path.join(partition.shown, LEADER_EPOCH_CHECKPOINT)
    lines = partition.epoch_entries() if loaded is None else loaded.epoch_lines
    if lines is None if loaded is None else lacks_epochs(loaded):
        yield no_epochs(partition)
    yield from contradicting_lines(partition, lines or ())
    before = replay(lines or ())
    if running or loaded is None or loaded.recovered_epochs == before:
        return before
    if loaded.recovered_epochs:
        message = f"from the batches of recovered segments: {list_epochs(loaded.recovered_epochs)}"
        yield Finding("EPOCH-003", message, dir=partition.shown, path=path)
    return loaded.recovered_epochs


def dropped_epochs(partition: Partition, entries: EpochCache, log_end: int) -> Iterator[Finding]:
    """Yield that a start drops the entries of a cache that begin at or past the log end."""
    if entries:
        is_held = entries[0].start_offset == log_end
        hint = "; a broker that runs still holds it (--broker running)" if is_held else ""
        message = f"dropped, at or past the log end offset {log_end}: {list_epochs(entries)}{hint}"
        path = os.path.join(partition.shown, LEADER_EPOCH_CHECKPOINT)
        yield Finding("EPOCH-003", message, dir=partition.shown, path=path)


def list_epochs(entries: EpochCache) -> str:
    """Return the first five epochs with their start offsets, and how many more there are."""
    texts = [f"epoch {entry.epoch} from {entry.start_offset}" for entry in entries[:5]]
    return ", ".join(texts + [f"and {len(entries) - 5} more"] * (len(entries) > 5))
