"""The rows of `replica`: ranges of offsets, as two replicas of a partition hold them."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import row_type
from kcli.rows.places import Where


class ReplicaRangeRow(NamedTuple):
    """Offsets of a partition about which one thing is to say."""

    where: Where
    other_dir: Annotated[str, "partition directory of the other replica, as reached from the argument"]
    other_broker_id: Annotated[int | None, "of its meta.properties"]
    first_offset: Annotated[int, "of the range"]
    last_offset: Annotated[int, "inclusive; below first_offset where neither replica has a batch"]
    verdict: Annotated[str, "equal, differs, only-here, only-there, compacted or unknown"]
    reason: Annotated[
        str | None,
        "in what the first batch differs: boundaries, header, records, compression or unreadable; of "
        "fingerprints: fingerprint or partial; missing where the log of the other has a hole",
    ]
    leader_epoch: Annotated[int | None, "of the first batch of the range here; null without one"]
    other_leader_epoch: Annotated[int | None, "of the first batch of the range there"]
    batches: Annotated[int, "of the range here"]
    other_batches: Annotated[int, "of the range there"]
    bytes: Annotated[int, "of these batches here"]
    other_bytes: Annotated[int, "of these batches there"]


REPLICA_RANGE = row_type("replica_range", ReplicaRangeRow)

COMMANDS = {"replica diff": (REPLICA_RANGE,)}
"""The row types that each command can print, first the usual one."""
