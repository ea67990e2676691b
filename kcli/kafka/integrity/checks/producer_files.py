"""What files say of a log's producers, held against its batches: transaction indexes and snapshots."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from formats.index import TXN_INDEX_ENTRY, AbortedTxn
from formats.names import PRODUCER_SNAPSHOT, parse_file
from formats.producer_snapshot import ProducerEntry
from kcli.kafka.findings.findings import NO_SNAPSHOT, nul_index
from kcli.kafka.integrity.checks.producers import NOT_KNOWN, Aborted, ProducerRun


def of_entry(entry: AbortedTxn) -> Aborted:
    """Return the aborted transaction that an entry of a transaction index is about."""
    return Aborted(entry.producer_id, entry.first_offset, entry.last_offset)


def txn_index_misfits(
    entries: tuple[AbortedTxn, ...],
    expected: frozenset[Aborted],
    begins: frozenset[int],
    log_start: int,
    end: int,
) -> Iterator[tuple[str, int | None, str]]:
    """Yield how the entries of a transaction index differ from the aborted transactions of its segment.

    A code, the entry's number and words. Where a transaction's first segment is deleted the entry alone has
    the first offset. The last stable offset is the one after the marker, or where another open transaction
    begins (`begins`): after the marker, too, where a follower appended many batches at once.
    """
    known = set(map(of_entry, entries))
    for number, entry in enumerate(entries):
        one = of_entry(entry)
        if one not in expected and entry.first_offset >= log_start:
            message = f"producer {one.producer_id}, offsets {one.first_offset} to {one.last_offset}"
            message = f"entry {number}: no such aborted transaction ends here: {message}"
            if not any(map(any, entries)):
                message = f"{nul_index(len(entries) * TXN_INDEX_ENTRY.size)}; {message}"
            yield "IDX-008", number, message
        elif not 0 <= entry.last_stable_offset <= end:
            message = (
                f"the last stable offset {entry.last_stable_offset} is not in the log, which ends at {end}"
            )
            yield "IDX-008", number, f"entry {number}: {message}"
        elif entry.last_stable_offset not in {entry.last_offset + 1, *begins} and (
            entry.last_stable_offset >= log_start
        ):
            message = f"no transaction begins at the last stable offset {entry.last_stable_offset}"
            yield "IDX-008", number, f"entry {number}: {message}"
    begun_before = {(one.producer_id, one.last_offset) for one in known if one.first_offset < log_start}
    for one in sorted(expected - known):
        if (one.producer_id, one.last_offset) in begun_before:
            continue
        message = f"producer {one.producer_id}, offsets {one.first_offset} to {one.last_offset}"
        yield "IDX-008", None, f"an aborted transaction without an entry: {message}"


def snapshot_misfits(
    entries: tuple[ProducerEntry, ...],
    runs: Mapping[int, ProducerRun],
    offset: int,
    log_start: int,
    *,
    is_compacted: bool,
) -> Iterator[tuple[str, str]]:
    """Yield how a snapshot at an offset differs from the producers of the batches before: code and words.

    Cleaning after the snapshot removes batches and end markers: of a compacted log it may know of later ones.
    """
    for entry in entries:
        who = f"producer {entry.producer_id}"
        run = runs.get(entry.producer_id)
        if entry.last_offset >= offset:
            yield "PROD-002", f"{who}: last offset {entry.last_offset}, at or past the snapshot's {offset}"
        elif run is None:
            if entry.last_offset >= log_start and not is_compacted:
                yield "PROD-002", f"{who}: no batch of it ends with offset {entry.last_offset}"
        else:
            differences = _differences(entry, run, log_start)
            if is_compacted and not _is_behind(entry, run):
                continue
            yield from (("PROD-002", f"{who}: {difference}") for difference in differences)
    missing = runs.keys() - {entry.producer_id for entry in entries}
    for producer_id in sorted(missing):
        yield "PROD-008", f"producer {producer_id} of the batches before is not in the snapshot"


def _is_behind(entry: ProducerEntry, run: ProducerRun) -> bool:
    """Whether a snapshot does not know of a batch before it, which no cleaning explains."""
    if entry.producer_epoch != run.epoch:
        return entry.producer_epoch < run.epoch
    return entry.last_offset < run.last_offset


def _differences(entry: ProducerEntry, run: ProducerRun, log_start: int) -> Iterator[str]:
    if entry.producer_epoch != run.epoch:
        yield f"epoch {entry.producer_epoch}, the batches say {run.epoch}"
        return
    if run.last_offset != NOT_KNOWN:
        stored = (entry.last_sequence, entry.last_offset, entry.offset_delta)
        expected = (run.last_sequence, run.last_offset, run.offset_delta)
        # releases up to 1.0 took the offset of an end marker for that of a batch
        if stored != expected and entry.last_offset != run.last_end:
            names = "last sequence, last offset and offset delta"
            yield f"{names} {stored}, the batches say {expected}"
    first = entry.current_txn_first_offset
    if first != run.open_since and not (first < log_start and run.first_end is None):
        yield f"its open transaction begins at {first}, by the batches at {run.open_since}"


def producer_snapshots(names: Iterable[str]) -> tuple[int, ...]:
    """Return the offsets of the producer snapshots among the files of a partition."""
    parsed = (parse_file(name) for name in names if name.endswith(".snapshot"))
    offsets = (one.base_offset for one in parsed if one.kind == PRODUCER_SNAPSHOT and not one.suffix)
    return tuple(sorted(offset for offset in offsets if offset is not None))


def snapshot_gaps(
    snapshots: Sequence[int], bases: Sequence[int], log_end: int, *, is_clean: bool, has_producers: bool
) -> Iterator[tuple[str, str]]:
    """Yield which snapshots of a log with segments at `bases` are missing, or above its end: code and words.

    A broker writes one at a roll and a close (`UnifiedLog.roll`, `close`); before 2.8 it kept the last two,
    so only one between others is missed. `has_producers`: whether batches have a producer id.
    """
    for offset in snapshots:
        if offset > log_end:
            yield "PROD-009", f"{offset}.snapshot: the log ends at offset {log_end}"
    if not has_producers:
        return
    if not snapshots:
        if is_clean:
            yield "PROD-007", NO_SNAPSHOT
        elif len(bases) > 1:
            yield "PROD-008", "no producer snapshot: the start reads the log from its beginning"
        return
    offsets = set(snapshots)
    missing = [base for base in bases if min(offsets) < base < max(offsets) and base not in offsets]
    if is_clean and max(offsets) < log_end:
        missing.append(log_end)
    for offset in missing:
        yield "PROD-008", f"no producer snapshot at offset {offset}"
