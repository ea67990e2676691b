"""The rows of `replica elect`: each replica as a leader, and what each other one would lose."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import Timestamp, row_type
from kcli.rows.places import Where


class ElectionRow(NamedTuple):
    """One candidate and one follower."""

    where: Where
    candidate: Annotated[str, "partition directory of the replica that leads"]
    candidate_broker_id: Annotated[int | None, "of its meta.properties"]
    follower: Annotated[str, "partition directory of a replica that follows"]
    follower_broker_id: Annotated[int | None, "of its meta.properties"]
    log_start_offset: Annotated[int, "of the candidate's log"]
    log_end_offset: Annotated[int, "of the candidate's log"]
    follower_log_end_offset: Annotated[int, "of the follower's log before it truncates"]
    truncate_to: Annotated[
        int | None,
        "log end offset of the follower after it truncates; as before if it keeps all; null if unknown",
    ]
    outcome: Annotated[
        str,
        "converged; out-of-range where the follower is reset to an end of the candidate's log; stuck where "
        "the same fetch would fail for ever; tiered where it goes on with state from remote storage; unknown "
        "where it truncates to its high watermark, and no checkpoint says that",
    ]
    rounds: Annotated[
        int | None, "answers that make the follower truncate; null where the outcome is unknown"
    ]
    records_lost: Annotated[
        int | None,
        "that the follower removes, but for those below its log start offset; null where they cannot be "
        "counted or the outcome is unknown",
    ]
    bytes_lost: Annotated[int | None, "of .log files that it removes; null where the outcome is unknown"]
    first_lost_timestamp: Annotated[Timestamp | None, "of the first record that is lost"]
    last_lost_timestamp: Annotated[Timestamp | None, "the largest of the records that are lost"]
    committed_records_lost: Annotated[
        int | None,
        "of them that are known to be committed: below its high watermark, or that of a replica that agrees; "
        "null where no high watermark is known",
    ]
    offsets_below_start: Annotated[
        int,
        "of what the follower keeps, below the log start offset of the candidate, which it takes over: it "
        "deletes the segments that end there, and reads nothing below",
    ]
    would_be_elected: Annotated[
        bool | None, "whether Kafka elects the candidate of the replicas here; null if the ISR is unknown"
    ]
    clean: Annotated[bool | None, "whether its election is clean: it is in the ISR or in the ELR"]
    reason: Annotated[str, "why it is elected, or not"]


ELECTION = row_type("election", ElectionRow)

COMMANDS = {"replica elect": (ELECTION,)}
"""The row types that the command can print."""
