"""Which files of a partition directory a starting broker keeps, by names alone.

Leftovers of deletion, cleaning and swaps. The truth is the first four passes of `LogLoader.load`: `.deleted`
and `.cleaned` files go, `.swap` files replace what they were made from, an index without a log goes.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from formats.index import OFFSET_INDEX_ENTRY, TXN_INDEX_ENTRY, TXN_VERSION, AbortedTxn
from formats.java_text import LONG_BITS, integer
from formats.names import canonical_name, file_prefix
from kcli.kafka.findings.findings import Finding
from kcli.kafka.storage import log_segment
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import DataFile, FileError, read_whole, shown
from kcli.logdir.partition import Partition, misnamed, shown_path
from kcli.logdir.partition_names import CLEANED, DELETED, SWAP, is_misnamed, leftovers, opened_names

INDEX_KINDS = ("index", "timeindex", "txnindex")
PREALLOCATED = ""
"""In place of a path: an offset index that the start itself creates, full of zeros, beside a .swap log
without one."""


class Files(NamedTuple):
    """The files that stay: logs by base offset, indexes by (base offset, kind), snapshots by offset.

    A path can be PREALLOCATED. `deleted`: name -> reason; `renamed`: a swap's name -> the new one.
    """

    logs: Mapping[int, tuple[str, int]]
    indexes: Mapping[tuple[int, str], str]
    snapshots: Mapping[int, str]
    known_snapshots: frozenset[int]
    deleted: Mapping[str, str]
    renamed: Mapping[str, str]


LEFTOVER_REASONS = {
    DELETED: "left by an interrupted deletion",
    CLEANED: "left by an interrupted cleaning",
    SWAP: "left by an interrupted split of a segment",
}
"""Why a leftover is deleted, by the end of its name."""


def offset_of(partition: Partition, name: str) -> int:
    """Return the offset that a file's name begins with; BrokerError where it begins with no number."""
    offset = integer(name.partition(".")[0], LONG_BITS)
    if offset is None:
        path = os.path.join(partition.path, name)
        raise BrokerError(log_segment.NUMBER_FORMAT, path, None, "the name does not begin with an offset")
    return offset


def surviving_files(partition: Partition, findings: list[Finding]) -> Files:
    """Return the files that are loaded; `findings` gets what is deleted and renamed on the way."""
    present = {name: os.path.join(partition.path, name) for name in partition.names}
    snapshot_offsets = frozenset(offset_of(partition, name) for name in present if name.endswith(".snapshot"))
    deleted, swaps = leftovers(present, lambda name: offset_of(partition, name))
    causes = {name: LEFTOVER_REASONS["." + name.rpartition(".")[2]] for name in deleted}
    causes |= dict.fromkeys(_replaced(partition, present, swaps, deleted), "replaced by what was swapped in")
    for name in causes:
        present.pop(name)
    renamed = {name: name.removesuffix(SWAP) for name in swaps}
    for name, new in renamed.items():
        if new in present:
            causes[new] = f"replaced by {name}"
        present[new] = present.pop(name)
    for name in swaps:
        if name.endswith(".log" + SWAP) and _index_of(name) not in swaps:
            index = _index_of(name).removesuffix(SWAP)
            if index in present:
                causes[index] = f"replaced by a new one for {name}"
            present[index] = PREALLOCATED
    if causes or swaps:
        message = f"leftovers are finished first: {len(causes)} files deleted, "
        message += f"{len(swaps)} renamed from {SWAP}"
        findings.append(Finding("START-003", message, dir=partition.shown))
    files = _classified(partition, present, snapshot_offsets)
    findings += without_log(partition, files.logs, files.indexes)
    return files._replace(deleted=causes, renamed=renamed)


def opened_files(partition: Partition, files: Collection[str]) -> dict[str, str]:
    """Return the names of the files that a start keeps, and those that it gives them, as of `opened_names`.

    Without what a swap replaces, where that is known; of all `files` where there is no swap.
    """
    if not any(name.endswith(SWAP) for name in files):
        return {name: name for name in files}
    try:
        result = surviving_files(partition, [])
    except (BrokerError, FileError):
        return opened_names(partition.names)
    return {name: result.renamed.get(name, name) for name in partition.names if name not in result.deleted}


def without_log(
    partition: Partition, logs: Collection[int], indexes: Mapping[tuple[int, str], str]
) -> Iterator[Finding]:
    """Yield the indexes whose log is gone; one that a broker is deleting has its log as a .deleted file.

    `logs`: base offsets, `indexes`: paths as in Files. A deletion renames the log first
    (`changeFileSuffixes`): beside a .deleted index, the .deleted log is the one that the cleaner replaced.
    """
    of_base: dict[int, list[str]] = {}
    for (base, _), path in sorted(indexes.items()):
        if base not in logs:
            of_base.setdefault(base, []).append(path)
    for base, paths in of_base.items():
        path = paths[0]
        log = os.path.join(partition.path, f"{file_prefix(base)}.log")
        is_replaced = any(os.path.lexists(path + DELETED) for path in paths)
        if not os.path.lexists(path) or (os.path.lexists(log + DELETED) and not is_replaced):
            continue
        log_name = os.path.basename(log)
        packed = [name for name in partition.names if name.startswith(f"{log_name}.") and DELETED not in name]
        message = "there is no log of this segment: its records are lost, and a start deletes its indexes"
        if packed:
            message = f"the log is {shown(packed[0])}: unpack it before a start, which deletes its indexes"
        yield Finding("IDX-011", message, dir=partition.shown, path=shown_path(partition, path))


def _replaced(
    partition: Partition, present: Mapping[str, str], swaps: Sequence[str], deleted: Collection[str]
) -> list[str]:
    ranges = []
    for name in swaps:
        if name.endswith(".log" + SWAP):
            base, path = offset_of(partition, name), present[name]
            offsets = log_segment.file_index(OFFSET_INDEX_ENTRY, present.get(_index_of(name)))
            segment = log_segment.LoadedSegment(base, path, log_segment.size_of(path), offsets)
            ranges.append((base, log_segment.read_next_offset(segment)))
    replaced = []
    for name in present:
        stem = name.partition(".")[0]
        is_numbered = stem.isascii() and stem.isdigit()
        if name in deleted or name.endswith(SWAP) or "." not in name or not is_numbered:
            continue
        if ranges and min(ranges)[0] <= int(stem) < max(end for _, end in ranges):
            replaced.append(name)
    return replaced


def _index_of(swap: str) -> str:
    return swap.removesuffix(".log" + SWAP) + ".index" + SWAP


def _classified(partition: Partition, present: Mapping[str, str], offsets: frozenset[int]) -> Files:
    logs: dict[int, tuple[str, int]] = {}
    indexes: dict[tuple[int, str], str] = {}
    snapshots: dict[int, str] = {}
    for name, path in present.items():
        kind = name.rpartition(".")[2]
        if "." not in name or kind not in {"log", "snapshot", *INDEX_KINDS}:
            continue
        offset = offset_of(partition, name)
        if kind != "snapshot" and name != canonical_name(name):
            # The file of the name that Kafka writes is read instead; an index that has no log goes.
            if is_misnamed(name, present):
                raise misnamed(path, name)
            continue
        if kind == "log":
            with DataFile(path) as file:
                logs[offset] = (path, file.size)
        elif kind == "snapshot":
            snapshots[offset] = path
        else:
            indexes[offset, kind] = path
    return Files(logs, indexes, snapshots, offsets, {}, {})


class TxnIndex(NamedTuple):
    """Entries of a .txnindex, up to one that ends below its segment; the position of that one."""

    entries: tuple[AbortedTxn, ...] = ()
    outside: int | None = None


def read_aborted(path: str, base_offset: int) -> TxnIndex:
    """Return what `TransactionIndex.sanityCheck` makes of a .txnindex; BrokerError for its version."""
    data = read_whole(path) if log_segment.size_of(path) else b""
    entries: list[AbortedTxn] = []
    for number, entry in enumerate(TXN_INDEX_ENTRY.rows(data)):
        position = number * TXN_INDEX_ENTRY.size
        if entry.version != TXN_VERSION:
            raise BrokerError(
                log_segment.KAFKA_EXCEPTION, path, position, f"aborted transaction of version {entry.version}"
            )
        if entry.last_offset < base_offset:
            return TxnIndex(tuple(entries), position)
        entries.append(entry)
    return TxnIndex(tuple(entries))
