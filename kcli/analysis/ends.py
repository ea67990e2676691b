"""Where a partition's log begins and ends for a starting broker, and what is to be told about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from formats.names import CLUSTER_METADATA, UNKNOWN, parse_file
from formats.types import TopicPartition
from kcli.analysis.findings import Finding
from kcli.analysis.lookup import floor_segment
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.partition import Partition
from kcli.logdir.segment import LogEnd, OffsetIndexFile, Segment, Stop

SWAPPED_LOG = ".log.swap"
"""KRaft recovers this log from its first segment at every start, however the last one ended (KafkaRaftLog.createLog)."""


def loaded_segments(partition: Partition) -> tuple[Segment, ...]:
    """Return the segments that a start opens: those of the directory, with an interrupted swap finished.

    FileError where the start would fail on the way.
    """
    if not any(name.endswith(SWAPPED_LOG) for name in partition.names):
        return partition.segments
    from kcli.analysis.directory_files import swapped_segments  # noqa: PLC0415 - rare, and it needs the whole loader

    return swapped_segments(partition)


class Ends(NamedTuple):
    """The start and the end of a log, as a starting broker takes them, and what to tell about how they were found.

    `checkpointed_start` is that of log-start-offset-checkpoint, 0 without one. `emptied`: the log ends below it, so
    the broker deletes every segment and begins anew there. `last_base_offset` is the last segment's (-1: not looked at),
    `last_leader_epoch` its last batch's; -1 where none is known.
    """

    checkpointed_start: int
    log_start_offset: int
    log_end_offset: int
    source: str
    emptied: bool
    last_base_offset: int
    last_leader_epoch: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Recovery:
    """Which segments a starting broker recovers before it reads them.

    A recovered segment has new indexes: what its index files say does not count.
    """

    partition: Partition

    @cached_property
    def recovered_from(self) -> int | None:
        """The base offset from which on segments are recovered; None after a clean shutdown, or if nothing tells."""
        facts, name = self.partition.directory, self.partition.target.name
        if name is not None and name.topic == CLUSTER_METADATA:
            return min((segment.base_offset for segment in loaded_segments(self.partition)), default=None)
        if facts.clean_shutdown or self.partition.target.log_dir is None or name is None:
            return None
        point = (facts.recovery_points or {}).get(TopicPartition(name.topic, name.partition), 0)
        bases = [segment.base_offset for segment in loaded_segments(self.partition)]
        return bases[floor_segment(bases, point)] if bases else None

    def is_recovered(self, segment: Segment, index: OffsetIndexFile | None) -> bool:
        """Whether the broker rebuilds the segment's indexes: after an unclean stop, or when it has no offset index.

        Where nothing tells how the broker stopped, a preallocated index says that it did not stop cleanly.
        """
        if index is None:
            return True
        if self.recovered_from is not None:
            return segment.base_offset >= self.recovered_from
        return self.partition.target.log_dir is None and index.has_empty_tail

    def segments(self) -> list[Segment]:
        """Return the segments that are recovered, in that order: those without an index first, then the unflushed ones."""
        all_segments = loaded_segments(self.partition)
        without_index = [segment for segment in all_segments if "index" not in segment.extensions]
        if self.recovered_from is not None:
            return without_index + [
                segment for segment in all_segments if segment.base_offset >= self.recovered_from
            ]
        last = all_segments[-1:]
        return without_index + [
            segment for segment in last if segment not in without_index and self._is_preallocated(segment)
        ]

    def _is_preallocated(self, segment: Segment) -> bool:
        index = segment.offset_index()
        if index is None:
            return False
        with index:
            return self.is_recovered(segment, index)


def checkpointed_log_start(partition: Partition) -> int:
    """Return the partition's offset in log-start-offset-checkpoint, or 0: what the broker takes without one."""
    starts = partition.directory.log_start_offsets
    if not starts or partition.topic is None or partition.number is None:
        return 0
    return starts.get(TopicPartition(partition.topic, partition.number), 0)


def is_tiered(partition: Partition) -> bool:
    """Whether the log begins in remote storage, below its first local segment.

    The broker checkpoints a log start below the first segment for tiered topics alone (LogManager). A retention that
    ran after the last checkpoint looks the same, so the log dir must also have the cache that remote storage makes.
    """
    starts, name = partition.directory.log_start_offsets, partition.target.name
    if not (starts and name and loaded_segments(partition) and partition.directory.remote_storage):
        return False
    start = starts.get(TopicPartition(name.topic, name.partition))
    return start is not None and start < loaded_segments(partition)[0].base_offset


def log_start(partition: Partition) -> int:
    """Return the log start offset: the checkpointed one, or the first base offset if that is higher and nothing is tiered."""
    segments, checkpointed = loaded_segments(partition), checkpointed_log_start(partition)
    return (
        checkpointed if not segments or is_tiered(partition) else max(checkpointed, segments[0].base_offset)
    )


def local_log_start(partition: Partition, found: "Ends") -> int:
    """Return the first offset on local disk: above the log start offset only in a tiered log."""
    return (
        found.log_start_offset
        if found.emptied or not loaded_segments(partition)
        else max(found.log_start_offset, loaded_segments(partition)[0].base_offset)
    )


def ends(partition: Partition) -> Ends:
    """Return the start and the end of the log by LogLoader's rules; FileError if the last segment cannot be read.

    Headers alone are read: what recovery would find by checksums is left to `startup.load`, and a finding says so.
    """
    checkpointed, start = checkpointed_log_start(partition), log_start(partition)
    segments = loaded_segments(partition)
    if not segments:
        _refuse_foreign(partition)
        found = Finding(
            "LOG-007",
            "no .log file; the log end offset is taken as the log start offset",
            dir=partition.shown,
        )
        return Ends(
            checkpointed,
            start,
            start,
            "scan",
            emptied=False,
            last_base_offset=-1,
            last_leader_epoch=-1,
            findings=(found,),
        )
    last = segments[-1]
    end = last.log_end()
    findings = [*_recovery_findings(partition, segments), *log_end_findings(partition, last, end)]
    if end.next_offset < checkpointed:
        findings.append(
            Finding(
                "LOG-006",
                "the log ends below its checkpointed log start offset; the broker starts with an empty log there",
                dir=partition.shown,
                expected=f"{checkpointed} or more",
                found=end.next_offset,
            )
        )
        start = log_end_offset = checkpointed
        return Ends(
            checkpointed, start, log_end_offset, end.source, True, last.base_offset, -1, tuple(findings)
        )
    return Ends(
        checkpointed,
        start,
        end.next_offset,
        end.source,
        emptied=False,
        last_base_offset=last.base_offset,
        last_leader_epoch=end.leader_epoch,
        findings=tuple(findings),
    )


def _refuse_foreign(partition: Partition) -> None:
    """Raise FileError for a directory that is named like a partition, but holds only things that Kafka does not know."""
    if partition.names and not any(parse_file(name).kind != UNKNOWN for name in partition.names):
        raise FileError(
            partition.path, "not-a-partition", "nothing in this directory is a file that Kafka writes"
        )


def _recovery_findings(partition: Partition, segments: Sequence[Segment]) -> Iterator[Finding]:
    """Yield what a start does first that headers alone do not show."""
    if Recovery(partition).recovered_from is not None and partition.target.log_dir is not None:
        message = "not stopped cleanly, or running: a start checks the checksums of unflushed segments; here they were not"
        yield Finding("START-005", message, dir=shown(partition.target.log_dir))
    if any(segment.suffix for segment in segments):
        yield Finding(
            "START-003",
            "an interrupted swap is taken as finished, as a start finishes it",
            dir=partition.shown,
        )


def log_end_findings(partition: Partition, segment: Segment, end: LogEnd) -> list[Finding]:
    """Return what is to be told about how the end of a segment was found."""
    index = segment.file("index")
    findings = []
    if end.trouble == "no-index":
        findings.append(
            Finding("IDX-001", "no offset index; the log was scanned", dir=partition.shown, file=index)
        )
    elif end.preallocated_index:
        findings.append(
            Finding("IDX-003", "the offset index has its preallocated tail", dir=partition.shown, file=index)
        )
    elif end.trouble in {"index-beyond-log", "chain"}:
        message = (
            "its last entry points past the log"
            if end.trouble == "index-beyond-log"
            else "its last entry leads to no batch"
        )
        findings.append(
            Finding("IDX-002", f"{message}; the log was scanned", dir=partition.shown, file=index)
        )
    if end.file_grown:
        findings.append(
            Finding(
                "LOG-005",
                f"the file {'grew' if end.file_grown > 0 else 'shrank'} by {abs(end.file_grown)} bytes while it was read",
                dir=partition.shown,
                file=segment.file("log"),
            )
        )
    findings.extend(stop_findings(partition, segment, end.stop, moving=end.file_grown != 0))
    return findings


STOPS = {
    "short": ("LOG-001", "fewer bytes are left than a batch needs to begin"),
    "incomplete": ("LOG-001", "the last batch runs past the end of the file"),
    "bad-length": ("LOG-002", "no batch can have this length"),
    "bad-magic": ("LOG-002", "no batch can have this magic"),
    "zeros": ("LOG-004", "only zeros to the end of the file"),
}


def stop_findings(
    partition: Partition, segment: Segment, stop: Stop, *, moving: bool = False
) -> list[Finding]:
    """Return what is to be told about where a walk over a segment ended; nothing if that was the end of the file."""
    if stop.reason == "end" or (moving and stop.reason in {"short", "incomplete"}):
        return []
    code, message = STOPS[stop.reason]
    refused = (
        stop.reason == "zeros"
        and partition.directory.clean_shutdown
        and (partition.topic != CLUSTER_METADATA)
    )
    if refused and segment.base_offset == loaded_segments(partition)[-1].base_offset:
        code, message = (
            "LOG-009",
            "zeros after the last batch, and a clean shutdown marker: the broker reads them and refuses the log",
        )
    return [
        Finding(
            code,
            message,
            dir=partition.shown,
            file=segment.file("log"),
            position=stop.position,
            found=stop.found,
        )
    ]
