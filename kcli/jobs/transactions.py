"""`txn`: what coordinators know of transactional ids, and the copies of partitions that are asked."""

from dataclasses import replace

from formats.names import TRANSACTION_STATE, PartitionDir
from kcli.jobs.common import Yield, partition_job, where
from kcli.jobs.copies import counted_copies, refuse_without
from kcli.kafka.coordinator.loads import load_transactions
from kcli.kafka.coordinator.transactions import TransactionState
from kcli.kafka.kraft.meta_properties import NEWEST, Version
from kcli.logdir.find import FileSet
from kcli.logdir.partition import Partition
from kcli.logdir.targets import ALL_PARTITIONS, Selection
from kcli.rows.transactions import TransactionRow


def coordinator_copies(file_set: FileSet) -> FileSet:
    """Return the same with the copy that counts of each partition of __transaction_state, and no other."""
    counted = counted_copies(file_set, lambda name: name.topic == TRANSACTION_STATE)
    return refuse_without(TRANSACTION_STATE, counted, file_set)


def with_coordinators(file_set: FileSet, selection: Selection) -> FileSet:
    """Return the copies that count: of the partitions that are selected, and of __transaction_state."""
    result = counted_copies(file_set, lambda name: name.topic == TRANSACTION_STATE or selection.wants(name))
    if any(target.name and target.name.topic != TRANSACTION_STATE for target in result.targets):
        return result
    if file_set.failures:
        return replace(result, targets=[])
    error = file_set.lacking("no data partition here matches what was asked for")
    return replace(result, targets=[], failures=[error])


@partition_job
def listed(
    partition: Partition, *, version: Version = NEWEST, selection: Selection = ALL_PARTITIONS
) -> Yield:
    """Yield a row for each transactional id known, or whose transaction holds a selected partition."""

    def wants(state: TransactionState) -> bool:
        names = (PartitionDir(partition.topic, partition.partition) for partition in state.partitions)
        return not selection.names or any(map(selection.wants, names))

    states = yield from load_transactions(partition, version)
    origin = where(partition)
    for transactional_id, state in sorted(states.states.items()):
        if wants(state):
            number = partition.number or 0
            yield TransactionRow(origin, transactional_id, *state[1:], coordinator_partition=number)
