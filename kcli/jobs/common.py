"""What every job shares: planning units, the columns that say where a row is from, and the error boundary."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

from formats.names import LOG, REMOTE_LOG_METADATA, parse_file
from kcli.engine.contract import Outcome, Unit
from kcli.kafka.findings.findings import Finding
from kcli.logdir.archives import UNPACK_IT, UNREAD
from kcli.logdir.buffers import CANNOT_READ, IRREGULAR, WRITING_MS, FileError, irregular, shown
from kcli.logdir.classify import LOG_DIR, REMOTE_SEGMENTS
from kcli.logdir.concurrent_changes import SHRANK, changed_since, removal
from kcli.logdir.find import FileSet, Note
from kcli.logdir.log_dirs import INCOMPLETE, NO_DIRECTORY, DirectoryFacts, directory_facts
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Target, shown_as
from kcli.rows import Failure, Item, described
from kcli.rows.partitions import FromFile, Where

T = TypeVar("T")
P = ParamSpec("P")
PARTITIONS_ONLY = frozenset({PARTITION})
NO_EVENTS = f"no partition of {REMOTE_LOG_METADATA}, and no file of its events, is here"
ATTEMPTS = 6  # how often a directory is read that changes while it is read
ABOUT_FILES = ("LOG-", "IDX-", "EPOCH-", "START-", "TRUNC-003")
"""Codes of findings that a change of the files can cause."""
NOTES = {
    "leftover": ("DIR-002", "left out; name --include-leftovers to read it"),
    "unknown-directory": ("DIR-006", "its name is no partition's"),
    "no-file": ("LOG-012", None),
    "no-offset": ("LOG-010", "the name does not begin with an offset"),
    "non-canonical-name": ("LOG-010", "a broker opens another name for this offset, and nothing is there"),
    "removed": ("LOG-014", None),
    "nfs": (
        "LOG-014",
        "a silly rename of NFS: deleted while a process had it open; its directory stays as long",
    ),
    "twice": ("START-009", None),
    "not-together": ("START-009", None),
    "clusters": ("DIR-008", None),
    "quorum-state": ("DIR-010", None),
    "copies": ("REPL-007", None),
    "missing-partitions": ("COORD-004", None),
    "uncounted-partitions": ("COORD-005", None),
    "undecodable": ("META-001", None),
    "settings": ("META-009", "no metadata of its topics is here"),
}
"""Code and message of what is noted of an entry, by the kind of note; None: as the note says."""
DIRECTORY_NOTES = frozenset(
    {"missing-partitions", "uncounted-partitions", "leftover", "twice", "removed", "copies", "settings"}
)
PROBLEMS = ((IRREGULAR, "LOG-012"), (CANNOT_READ, "LOG-008"), ({INCOMPLETE}, "DIR-008"))
"""Codes of the problem of a log dir's own file -> the finding about it, the first that fits."""
FIRST_PAUSE = 0.01  # seconds between the first two attempts; each further pause is twice as long

Yield: TypeAlias = Iterable[Item | Finding]  # what the work of a job gives
YieldAndReturn: TypeAlias = Generator[Item | Finding, None, object]
"""The same of work that also returns something: the partial of its outcome."""


def plan(file_set: FileSet, accepts: frozenset[str]) -> tuple[list[Unit], list[Failure]]:
    """Return a unit for every target of an accepted kind, and a failure for each argument of another kind."""
    failures = [failure_of(error) for error in file_set.failures]
    expected = f"one of {', '.join(sorted(accepts))}"
    if accepts - {LOG_DIR} == PARTITIONS_ONLY:
        expected = "a log dir or a partition directory"
    for target in file_set.targets:
        if target.kind not in accepts:
            is_remote = target.kind == REMOTE_SEGMENTS
            description = "a directory of remote segments" if is_remote else f"a file of kind {target.kind}"
            message = UNPACK_IT if UNREAD.search(target.path) else f"this is {description}; name {expected}"
            failures.append(Failure(target.shown, "wrong-kind", None, None, message))
    accepted = (target for target in file_set.targets if target.kind in accepts)
    return [Unit(number=number, targets=(target,)) for number, target in enumerate(accepted)], failures


def notes_as_findings(notes: Iterable[Note]) -> Iterator[Finding]:
    """Yield findings for directory entries that are not read, or are not what their names say."""
    for note in notes:
        code, message = NOTES.get(note.kind, ("DIR-001", "not a name that Kafka knows in a log dir"))
        if note.kind in DIRECTORY_NOTES:
            yield Finding(code, message or note.message, dir=note.path)
        else:
            directory = None if code in {"DIR-001", "DIR-006"} else os.path.dirname(note.path)
            yield Finding(code, message or note.message, dir=directory, path=note.path)


def where(partition: Partition) -> Where:
    """Return the columns that say which partition directory a row is about."""
    facts = partition.directory
    topic = None if partition.topic is None else shown(partition.topic)
    return Where(partition.shown, facts.broker_id, facts.cluster_id, topic, partition.number)


def facts_around(target: Target) -> DirectoryFacts:
    """Return what the files of the log dir around a target say; empty facts without one."""
    return NO_DIRECTORY if target.log_dir is None else directory_facts(target.log_dir)


def source_of(target: Target, facts: DirectoryFacts | None = None) -> FromFile:
    """Return the columns that say which file a row is from; `facts` of its log dir are read unless given."""
    directory, name = os.path.split(target.shown)
    facts = facts or facts_around(target)
    topic, number = (shown(target.name.topic), target.name.partition) if target.name else (None, None)
    return FromFile(Where(directory or ".", facts.broker_id, facts.cluster_id, topic, number), name)


def failure_of(error: FileError) -> Failure:
    """Return the row-like form of a file error."""
    return Failure(error.path, error.code, error.position, error.field, error.message)


def internal_failure(path: str, error: BaseException) -> Failure:
    """Return the error row of a bug of kcli: the place in the code, no guess about the file."""
    return Failure(path, "internal", None, None, described(error))


def partition_job(
    work: Callable[Concatenate[Partition, P], Yield],
) -> Callable[Concatenate[Unit, P], Outcome]:
    """Make a job of `work` on a partition: it answers about that of a unit, with the same options."""

    @wraps(work)
    def run(unit: Unit, /, *arguments: P.args, **options: P.kwargs) -> Outcome:
        return answer(unit, lambda partition: work(partition, *arguments, **options))

    return run


def unit_job(
    work: Callable[Concatenate[Partition, Unit, P], Yield],
) -> Callable[Concatenate[Unit, P], Outcome]:
    """Make a job of `work` on a partition that needs the further targets of its unit, too."""

    @wraps(work)
    def run(unit: Unit, /, *arguments: P.args, **options: P.kwargs) -> Outcome:
        return answer(unit, lambda partition: work(partition, unit, *arguments, **options))

    return run


def answer(unit: Unit, work: Callable[[Partition], Yield]) -> Outcome:
    """Return what `work` gives of the unit's partition: all of it, or the error that it raises."""
    return undisturbed(unit.target, lambda: answer_once(unit, work))


def undisturbed(target: Target, attempt: Callable[[], Outcome]) -> Outcome:
    """Return the outcome of an attempt that no change disturbed: one without trouble, or the last."""
    pause = FIRST_PAUSE
    for _ in range(ATTEMPTS - 1):
        began = time.time_ns()
        outcome = attempt()
        is_torn = any(finding.code in {"LOG-001", "PROD-001"} for finding in outcome.findings)
        since = began - is_torn * WRITING_MS * 1_000_000  # a write may have begun before
        is_gone = any(finding.code == "LOG-014" and finding.path is None for finding in outcome.findings)
        if is_gone or not (_is_troubled(outcome) and changed_since(target.path, since)):
            return outcome
        time.sleep(pause)
        pause *= 2
    return attempt()


def until_whole(unit: Unit, attempt: Callable[[], T], error_of: Callable[[T], Failure | None]) -> T:
    """Return what an attempt finds; a whole log is read anew where a broker cut or removed files."""
    outcome = attempt()
    for _ in range(ATTEMPTS - 1):
        error = error_of(outcome)
        if error is None or error.error != SHRANK or unit.start or unit.end:
            break
        outcome = attempt()
    return outcome


def _is_troubled(outcome: Outcome) -> bool:
    """Whether a change of the directory may be the cause of what an outcome lacks or finds."""
    if outcome.error is not None:
        return True
    return any(
        finding.code == "LOG-014"
        or (finding.code == "LOG-005" and not outcome.rows)
        or (finding.severity != "info" and finding.code.startswith(ABOUT_FILES))
        for finding in outcome.findings
    )


def failed(unit: Unit, error: FileError) -> Outcome:
    """Return the outcome of a unit that met an error: a finding where a running broker is the cause."""
    paths = {error.path, os.path.dirname(error.path)}
    target = next((target for target in unit.targets if target.path in paths), unit.target)
    finding = moved(target, error)
    if finding is not None:
        return Outcome(number=unit.number, findings=[finding])
    path = shown_as(target, error.path)
    return Outcome(number=unit.number, error=failure_of(FileError(path, *error.args[1:])))


def moved(target: Target, error: FileError) -> Finding | None:
    """Return the finding about a file that a running broker removed, renamed or cut; None for others."""
    change = removal(error)
    path = shown_as(target, error.path if change is None else change.path)
    directory = os.path.dirname(path) or "."
    if change is not None:
        is_file = change.path == error.path and not (target.kind == PARTITION and change.path == target.path)
        return Finding("LOG-014", change.message, *((directory, path) if is_file else (path, None)))
    if error.code == SHRANK and parse_file(os.path.basename(error.path)).kind != LOG:
        return Finding("LOG-005", error.message, directory, path, error.position)
    return None


def answer_once(unit: Unit, work: Callable[[Partition], Yield]) -> Outcome:
    """Do as `answer`, whether or not the directory changes."""
    partition = Partition(unit.target)
    rows, findings = list[Item](), list[Finding]()
    try:
        partial = _sort(iter(work(partition)), rows, findings)
        findings.extend(directory_findings(partition))
    except FileError as error:
        outcome = failed(unit, error)
        findings.extend(directory_findings(partition))
        return replace(outcome, findings=[*findings, *outcome.findings])
    except Exception as error:  # noqa: BLE001 - the one boundary: a bug on one input must not stop the others
        return Outcome(number=unit.number, error=internal_failure(unit.target.shown, error))
    return Outcome(number=unit.number, rows=rows, findings=findings, partial=partial)


def _sort(items: Iterator[Item | Finding], rows: list[Item], findings: list[Finding]) -> object:
    """Keep rows and findings apart; return what a generator of them returns, None of an iterator."""
    while True:
        try:
            item = next(items)
        except StopIteration as end:
            return end.value
        if isinstance(item, Finding):
            findings.append(item)
        else:
            rows.append(item)


def other_identity(partition: Partition, other_partition: Partition) -> Iterator[Finding]:
    """Yield that two directories of one name are not of one partition: of other clusters, of other topics."""
    for noun, own_id, other_id in (
        ("cluster", partition.directory.cluster_id, other_partition.directory.cluster_id),
        ("topic id", topic_id_of(partition), topic_id_of(other_partition)),
    ):
        if own_id is not None and other_id is not None and own_id != other_id:
            message = f"another {noun} than {other_partition.shown}: no replicas of one partition"
            yield Finding("REPL-003", message, dir=partition.shown, expected=other_id, found=own_id)


def topic_id_of(partition: Partition) -> str | None:
    """Return the topic id; None where partition.metadata is missing or damaged, as a start reports."""
    try:
        return partition.topic_id()
    except FileError:
        return None


def directory_findings(partition: Partition) -> Iterator[Finding]:
    """Yield findings about the log dir's own files, and about entries that are not what their names say."""
    yield from log_dir_findings(partition.target, partition.directory)
    try:
        notes = partition.unexpected_names
    except FileError:
        return  # it cannot be listed, and its error says so
    yield from notes_as_findings(notes)


def log_dir_findings(target: Target, facts: DirectoryFacts | None = None) -> Iterator[Finding]:
    """Yield what kcli, or the broker, could not use of the files of the log dir around a target."""
    if target.log_dir is None:
        return
    for problem in (facts or directory_facts(target.log_dir)).problems:
        code = next((code for codes, code in PROBLEMS if problem.code in codes), "DIR-005")
        message = None
        if problem.code in IRREGULAR:
            message = irregular(os.path.join(target.log_dir, os.path.basename(problem.path)))
        directory = shown(target.log_dir)
        yield Finding(code, message or problem.message, directory, problem.path, problem.position)
