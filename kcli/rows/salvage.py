"""The row of `salvage`: what was written of a partition, and what could not be saved."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import row_type
from kcli.rows.places import Where


class LostRange(NamedTuple):
    """Bytes of a log of the partition that are not in the copy: from `start` to `end`, exclusive.

    `first_offset` is that of the batch there; null where there is none. `reason` is damaged, checksum, magic,
    header, offsets, codec, transaction, unreadable or snapshot (of a metadata log that is behind it).
    """

    file: str
    start: int
    end: int
    first_offset: int | None
    reason: str


class SavedFile(NamedTuple):
    """A file that was written, its size in bytes."""

    file: str
    size: int


class SalvageRow(NamedTuple):
    """What was written of a partition."""

    where: Where
    out_dir: Annotated[str, "the directory of the copy"]
    what: Annotated[str, "all or indexes"]
    segments: Annotated[int, "segments in the copy"]
    batches: Annotated[int | None, "batches in its logs; null where indexes alone were written"]
    bytes: Annotated[int, "of its logs"]
    log_start_offset: Annotated[int, "first offset of its first segment"]
    log_end_offset: Annotated[int, "as a broker that opens the copy takes it"]
    batches_lost: Annotated[int, "batches that were left out"]
    bytes_lost: Annotated[int, "bytes of the logs that were left out"]
    lost: Annotated[tuple[LostRange, ...], "the first 1000 of what was left out"]
    files: Annotated[tuple[SavedFile, ...], "that were written"]


SALVAGE = row_type("salvage", SalvageRow)

COMMANDS = {"salvage": (SALVAGE,)}
"""The row types that each command can print, first the usual one."""
