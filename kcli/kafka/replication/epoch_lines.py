"""The entries of a leader-epoch-checkpoint held against the leader epochs that the batches carry."""

from typing import NamedTuple

from kcli.kafka.storage.epochs import EpochCache, load

EQUAL, MISSING, EXTRA = "equal", "missing", "extra"
SHIFTED, PAST_END, BELOW_START = "shifted", "past-end", "below-start"


class ComparedEpoch(NamedTuple):
    """One epoch: where it starts by the checkpoint and by the batches; None where it is not there.

    `verdict` is `equal`; `missing` from the checkpoint; `extra`: no batch has it; `shifted`: another start;
    `past-end`: at or past the log end; `below-start`: all of it lies below the log start.
    """

    epoch: int
    start_offset: int | None
    batches_start_offset: int | None
    verdict: str


def compared(
    replayed: EpochCache, batches: EpochCache, log_end_offset: int, log_start_offset: int
) -> list[ComparedEpoch]:
    """Return the epochs of both, ascending.

    Starts are compared as a start of the broker leaves them: an entry around the log start moves there.
    """
    loaded = {
        entry.epoch: entry.start_offset for entry in load(replayed, log_end_offset, log_start_offset).entries
    }
    of_batches = {
        entry.epoch: entry.start_offset for entry in load(batches, log_end_offset, log_start_offset).entries
    }
    written = {entry.epoch: entry.start_offset for entry in replayed}
    return [
        ComparedEpoch(
            epoch,
            written.get(epoch),
            of_batches.get(epoch),
            _verdict(written.get(epoch), loaded.get(epoch), of_batches.get(epoch), log_end_offset),
        )
        for epoch in sorted(written.keys() | of_batches.keys())
    ]


def _verdict(written: int | None, loaded: int | None, of_batches: int | None, log_end_offset: int) -> str:
    if written is None:
        return MISSING
    if loaded is None and written >= log_end_offset:
        return PAST_END
    if of_batches is None:
        return BELOW_START if loaded is None else EXTRA
    return EQUAL if loaded == of_batches else SHIFTED
