"""`epoch check`: the leader-epoch-checkpoint against the leader epochs of the batches."""

from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, where
from kcli.jobs.epoch.epoch_cache import epochs_of_batches, no_epochs
from kcli.kafka.kraft.start import start
from kcli.kafka.replication.epoch_comparison import MISSING, SHIFTED, compare_with_batches
from kcli.kafka.storage import epochs
from kcli.logdir.partition import Partition
from kcli.rows import Item
from kcli.rows.epochs import EpochCheckRow


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


def _check(partition: Partition) -> Yield:
    loaded = yield from start(partition)
    if loaded.epoch_lines is None:
        yield no_epochs(partition)
    of_batches = yield from epochs_of_batches(partition, loaded)
    place, start_offset = where(partition), loaded.checkpoints.log_start_offset
    replayed = epochs.replay(loaded.epoch_lines or ())
    for found in compare_with_batches(replayed, of_batches, loaded.log_end_offset, start_offset):
        yield EpochCheckRow(place, *found)
