"""What kcli can find: stable codes, what each means, what the broker does about it, what a person should do.

Codes are promises: scripts grep for them. `kcli explain CODE` prints an entry;
a test fails when a code is used but not explained, or explained but not used.
"""

from typing import NamedTuple

SEVERITIES = ("info", "warning", "error")


class Rule(NamedTuple):
    """One entry of the catalogue."""

    severity: str
    title: str
    broker: str
    person: str


class Finding(NamedTuple):
    """Something worth knowing about one file; `dir` and `file` as reached from the argument, position in bytes."""

    code: str
    message: str
    dir: str | None = None
    file: str | None = None
    position: int | None = None
    expected: str | int | None = None
    found: str | int | None = None

    @property
    def severity(self) -> str:
        """The severity that the catalogue gives this code: info, warning or error."""
        return CATALOGUE[self.code].severity


CATALOGUE: dict[str, Rule] = {
    "LOG-001": Rule(
        "warning",
        "The log ends in an incomplete batch.",
        "A clean start stops reading before it and overwrites it with the next append; recovery cuts it off.",
        "Usual after a kill or a power loss. Compare with another replica if acks were given for these bytes.",
    ),
    "LOG-002": Rule(
        "error",
        "A batch length is impossible: the chain of batches breaks here.",
        "A clean start that reads this place fails with CorruptRecordException; recovery truncates the log here.",
        "Do not delete files. Check other replicas; let an unclean start recover, or restore this replica.",
    ),
    "LOG-003": Rule(
        "error",
        "A batch does not match its checksum or structure.",
        "Recovery truncates the log at this batch and deletes every later segment; a clean start does not notice.",
        "Check the disk and the other replicas before this broker starts uncleanly.",
    ),
    "LOG-004": Rule(
        "info",
        "The log ends in preallocated zeros.",
        "Recovery trims them; a clean start over them fails.",
        "Nothing, unless the shutdown was clean: then preallocated space was not trimmed and the start may fail.",
    ),
    "LOG-005": Rule(
        "info",
        "The file is moving: a broker is writing to it.",
        "It goes on appending.",
        "The answer is right for the moment at which the file was opened; run again, or on a copy.",
    ),
    "LOG-006": Rule(
        "warning",
        "The log ends below its log start offset.",
        "At the next start every segment is deleted and the log begins empty at the log start offset.",
        "Find out who removed segments, or whether the log start checkpoint belongs to another replica.",
    ),
    "LOG-007": Rule(
        "warning",
        "A partition directory has no segment.",
        "It creates an empty one at the log start offset.",
        "Harmless for a new partition; otherwise the data is gone.",
    ),
    "IDX-001": Rule(
        "info",
        "A segment has no offset index; the log was scanned.",
        "It recovers the segment and rebuilds its indexes at the next start.",
        "Nothing. Idle active segments of live brokers can look like this.",
    ),
    "IDX-002": Rule(
        "warning",
        "The last index entry does not lead to the end of the log; the log was scanned.",
        "A clean start trusts the entry and may compute a wrong log end offset.",
        "Start uncleanly (remove the clean shutdown marker) so that the broker rebuilds the index.",
    ),
    "IDX-003": Rule(
        "info",
        "An index still has its preallocated tail.",
        "It rebuilds the index during recovery, or trims it when it closes.",
        "Nothing: this is how a running or killed broker leaves its active segment.",
    ),
    "EPOCH-001": Rule(
        "warning",
        "There is no leader-epoch-checkpoint.",
        "It starts with an empty epoch cache: every OffsetForLeaderEpoch answer is undefined (-1, -1).",
        "kcli epoch show --from batches shows the epochs that the batches themselves carry.",
    ),
    "EPOCH-002": Rule(
        "warning",
        "Lines of the leader-epoch-checkpoint contradict each other.",
        "It replays them in file order: a later line erases earlier entries with a higher or equal epoch or offset.",
        "Nobody but a broker should write this file; compare with the other replicas.",
    ),
    "EPOCH-003": Rule(
        "info",
        "Epoch entries start at or past the log end offset.",
        "It drops them when it loads the log: no record of these epochs is here.",
        "Ordinary after a crash or a truncation, whose flush runs in the background.",
    ),
    "EPOCH-004": Rule(
        "info",
        "Epoch entries lie below the log start offset.",
        "It moves the newest of them to the log start offset and drops the others.",
        "Ordinary after records were deleted.",
    ),
    "DIR-001": Rule(
        "warning",
        "An entry of a log dir is not known to Kafka.",
        "A directory whose name is no partition makes loading fail; a file is ignored.",
        "Move it elsewhere before the broker starts.",
    ),
    "DIR-002": Rule(
        "info",
        "Leftover directories were left out (-delete, -stray, -future).",
        "It deletes -delete directories, keeps -stray ones, and goes on with -future ones.",
        "Name --include-leftovers to read them too.",
    ),
    "DIR-003": Rule(
        "warning",
        "A file of the log dir itself could not be used.",
        "It treats an unreadable recovery point or log start file as empty; a bad meta.properties stops it.",
        "The rows show what is known without it.",
    ),
}
