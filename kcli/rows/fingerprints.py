"""The rows of `replica fingerprint`: a hash for each range of offsets of a replica."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import row_type
from kcli.rows.places import Where


class FingerprintRow(NamedTuple):
    """The batches of a replica whose base offsets are in one range."""

    where: Where
    log_start_offset: Annotated[int, "of the log"]
    log_end_offset: Annotated[int, "of the log"]
    range_offsets: Annotated[int, "offsets of a range, the first begins at 0"]
    first_offset: Annotated[int, "of the first batch; of a log without a batch its end"]
    last_offset: Annotated[int, "of the last batch, inclusive"]
    leader_epoch: Annotated[int, "of the first batch; -1 without one"]
    batches: Annotated[int, "in the range"]
    bytes: Annotated[int, "of these batches"]
    hash: Annotated[str, "first half of SHA-256 of their bytes, leader epochs as zeros; hexadecimal"]
    is_last: Annotated[bool, "whether no fingerprint of the replica follows"]


FINGERPRINT = row_type("fingerprint", FingerprintRow)

COMMANDS = {"replica fingerprint": (FINGERPRINT,)}
"""The row types that the command can print."""
