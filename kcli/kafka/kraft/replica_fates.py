"""What a start makes of a replica's directory, and what is to be said of it and of the others around it."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from formats.names import CLUSTER_METADATA, FUTURE, NORMAL
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.meta_properties import NEWEST, StartFailure, Version
from kcli.kafka.kraft.partition_start import log_end_in
from kcli.logdir.log_dirs import directory_facts, is_running
from kcli.logdir.targets import Target

LOADS: Final = "loads"
STRAY: Final = "stray"
WILL_BE_DELETED: Final = "deleted"
FateOutcome: TypeAlias = Literal["loads", "stray", "deleted", "future-promoted"]
NO_TOPIC_ID, NOT_ASSIGNED, LEFT_STRAY, FORMER = "no-topic-id", "not-assigned", "left-stray", "former"
TAKES_PLACE, REPLACED, EMPTIED = "promoted", "replaced", "emptied"
"""Rules of fates."""

DIRECTORY_IDS = (3, 7)
"""From here on replicas have directory ids, a stray log is renamed to -stray, and an abandoned -future log
takes its place. Before, a stray log is deleted, and one without a topic id gets that of its name."""


class Fate(NamedTuple):
    """What becomes of a partition directory that loads, by which rule, and why in words.

    `replaced_by`: the -future directory that takes a current one's place, or the current one beside a -stray
    one. `topic_id`: of the name, for a stray log and for one that gets it (`LogManager.getOrCreateLog`).
    """

    outcome: FateOutcome
    rule: str
    reason: str = ""
    replaced_by: str | None = None
    topic_id: str | None = None


USUAL = Fate(LOADS, "usual")
RENAME = "stop the broker, and rename the directory to TOPIC-PARTITION"
UNKNOWN_STRAY = Fate(
    STRAY,
    LEFT_STRAY,
    "no metadata here knows the topic id: put the metadata log back that has it, else the directory becomes "
    f"-stray again; {RENAME}",
)
"""A -stray directory where no metadata says more."""
FATE_CODES = {
    NOT_ASSIGNED: "START-013",
    TAKES_PLACE: "START-016",
    REPLACED: "START-016",
    EMPTIED: "START-020",
}
LEFT_RECORDS = "START-024"
"""Rule of a fate -> code; a log without a topic id has START-012 or START-017."""
OF_A_REPLICA = frozenset(
    {*FATE_CODES.values(), LEFT_RECORDS, "START-001", "START-008", "START-012", "START-017", "LOG-025"}
)
"""Codes of what becomes of a replica: said of those that were not asked for, too."""
WITHOUT_TOPIC_ID = {
    STRAY: "no partition.metadata: a KRaft broker renames the directory to -stray",
    WILL_BE_DELETED: (
        "no partition.metadata: a broker before 3.7 deletes a log whose topic the metadata has not"
    ),
}


class LogStart(NamedTuple):
    """What the start of a log comes to for its broker; `directory` as shown.

    `failure`: why it does not load. `first_unstable_offset`: once loaded, None without an open transaction.
    """

    directory: str
    log_dir: str | None
    failure: StartFailure | None = None
    first_unstable_offset: int | None = None


class ReplicaFates(NamedTuple):
    """What starts of a release make of brokers' directories; `by_path`: not USUAL, `decided`: log dirs."""

    by_path: Mapping[str, Fate] = {}
    decided: frozenset[str] = frozenset()
    release: Version = NEWEST

    def of(self, target: Target) -> Fate:
        """Return the fate of a directory; one in a -stray directory is never a log of the broker."""
        is_stray = target.name is not None and target.name.kind == STRAY
        return self.by_path.get(target.path, UNKNOWN_STRAY if is_stray else USUAL)

    def findings(self, target: Target, *, has_topic_id: bool, has_records: bool) -> Iterator[Finding]:
        """Yield what the metadata makes of a directory that is no usual replica, or has no topic id.

        A broker makes a directory first, and writes partition.metadata before the first record.
        """
        fate, name = self.of(target), target.name
        if fate.rule == LEFT_STRAY and has_records:
            yield Finding(LEFT_RECORDS, f"records in a -stray directory: {fate.reason}", dir=target.shown)
        is_replaced = fate.rule in FATE_CODES and fate.replaced_by is not None
        if is_replaced and log_end_in(str(fate.replaced_by)) is None:
            return  # what does not load replaces nothing
        if fate.rule in FATE_CODES:
            behind = None if fate.replaced_by is None else _behind(fate.replaced_by, target)
            code = FATE_CODES[fate.rule] if behind is None else FATE_CODES[EMPTIED]
            message = fate.reason if behind is None else f"{fate.reason}; {behind}"
            yield Finding(code, message, dir=target.shown)
        if name is None or name.kind not in {NORMAL, FUTURE} or name.topic == CLUSTER_METADATA:
            return
        outcome = fate.outcome
        if fate.rule != NO_TOPIC_ID:
            if target.log_dir is None or target.log_dir in self.decided or self.release < DIRECTORY_IDS:
                return
            outcome = STRAY if directory_facts(target.log_dir).is_kraft else LOADS
        if not has_topic_id and outcome in WITHOUT_TOPIC_ID and (has_records or not is_running(target)):
            code = "START-012" if has_records else "START-017"
            expected = None if fate is USUAL else fate.topic_id or "a topic id of the metadata"
            yield Finding(code, WITHOUT_TOPIC_ID[outcome], dir=target.shown, expected=expected)


def _behind(future: str, current: Target) -> str | None:
    """Return in words where a -future log ends before the current one that it replaces; None where not."""
    future_end, current_end = log_end_in(future), log_end_in(current.path)
    if future_end is None or current_end is None or future_end >= current_end:
        return None
    return f"it ends at offset {future_end}, the current log at {current_end}"


NO_FATES = ReplicaFates()
