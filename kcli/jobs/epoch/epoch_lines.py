"""`epoch check` and `epoch rebuild`: the leader-epoch-checkpoint, and the one that the batches would give."""

from collections.abc import Generator, Iterable, Iterator

from formats.checkpoint import EpochEntry
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, where
from kcli.jobs.epoch.epoch import epochs_of_batches, no_epochs
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.start import start
from kcli.kafka.replication.epoch_lines import EXTRA, MISSING, PAST_END, SHIFTED, compared
from kcli.kafka.storage import epochs
from kcli.kafka.storage.epochs import EpochCache
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.start_files import epoch_bytes
from kcli.logdir.partition import Partition
from kcli.rows import Item
from kcli.rows.epochs import EpochCheckRow, EpochRebuildRow


def is_wrong(row: Item) -> bool:
    """Whether a row of `epoch check` is about an epoch whose start followers would get wrong."""
    if not isinstance(row, EpochCheckRow):
        return False
    if row.verdict == SHIFTED:
        assert row.start_offset is not None
        assert row.batches_start_offset is not None
        return row.start_offset > row.batches_start_offset
    return row.verdict == MISSING


def check(unit: Unit) -> Outcome:
    """Return a row for each epoch of the checkpoint or of the batches."""
    return answer(unit, _check)


def rebuild(unit: Unit) -> Outcome:
    """Return the entries of the checkpoint that the batches give, and findings about what they cannot say."""
    return answer(unit, _rebuild)


def checkpoint_lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield the lines of a leader-epoch-checkpoint with the entries of a partition; none without entries."""
    entries = tuple(
        EpochEntry(row.epoch, row.start_offset) for row in rows if isinstance(row, EpochRebuildRow)
    )
    if entries:
        yield from epoch_bytes(entries).decode().splitlines()


def _both(partition: Partition) -> Generator[Finding, None, tuple[LoadedLog, EpochCache, EpochCache]]:
    loaded = yield from start(partition)
    lines = loaded.epoch_lines
    if lines is None:
        yield no_epochs(partition)
    of_batches = yield from epochs_of_batches(partition, loaded)
    return loaded, epochs.replay(lines or ()), of_batches


def _check(partition: Partition) -> Yield:
    loaded, replayed, of_batches = yield from _both(partition)
    place = where(partition)
    start_offset = loaded.checkpoints.log_start_offset
    for found in compared(replayed, of_batches, loaded.log_end_offset, start_offset):
        yield EpochCheckRow(place, *found)


def _rebuild(partition: Partition) -> Iterable[Item | Finding]:
    loaded, replayed, of_batches = yield from _both(partition)
    start_offset = loaded.checkpoints.log_start_offset
    found = compared(replayed, of_batches, loaded.log_end_offset, start_offset)
    rebuilt = epochs.load(of_batches, loaded.log_end_offset, start_offset).entries
    known = {one.epoch: one.verdict for one in found}
    place = where(partition)
    for entry, end in zip(rebuilt, epochs.ends(rebuilt, loaded.log_end_offset), strict=True):
        yield EpochRebuildRow(place, *entry, end_offset=end, verdict=known[entry.epoch])
    yield from _lost(partition, [one.epoch for one in found if one.verdict in {EXTRA, PAST_END}])


def _lost(partition: Partition, without_records: list[int]) -> Iterator[Finding]:
    if without_records:
        listed = ", ".join(map(str, without_records))
        yield Finding("EPOCH-010", f"in the checkpoint, but of no record: {listed}", dir=partition.shown)
