"""Which logs `scan` reads: one target for each, however it is named, a directory's together."""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from formats.names import KRAFT_SNAPSHOT, LOG, parse_file
from kcli.kafka.findings.findings import Finding
from kcli.kafka.storage.surviving_files import opened_files
from kcli.logdir.buffers import FileError
from kcli.logdir.classify import LOG_DIR, REMOTE_SEGMENTS
from kcli.logdir.find import FileSet, Note
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import listed, listed_log, unexpected_names
from kcli.logdir.targets import PARTITION, Target, entry_of, partition_of

LOG_ACCEPTS = frozenset({LOG, KRAFT_SNAPSHOT, PARTITION})


def expand(file_set: FileSet, *, starts: bool = False) -> FileSet:
    """Return the same with one target for each log, however often it is named, in the order of base offsets.

    Directories come in the order in which they are named, those of remote segments too. One without a log
    stays; with `starts` every partition directory that is named stays, before its logs. Where a swap was
    interrupted, the logs are those that the next start takes.
    """
    result = replace(file_set, targets=[], failures=list(file_set.failures), notes=list(file_set.notes))
    directories: dict[str, dict[str, Target]] = {}
    real = cache(os.path.realpath)
    for target in file_set.targets:
        if target.kind not in LOG_ACCEPTS | {REMOTE_SEGMENTS}:
            result.targets.append(target)
            continue
        try:
            logs, notes = _logs(target)
        except FileError as error:
            result.miss(target, error)
            continue
        if logs == [target] and target.kind == REMOTE_SEGMENTS:
            if len(file_set.targets) == 1 or any(listed(target.path)):  # an index cache
                result.targets.append(target)
            continue  # of a partition whose segments are all deleted
        files = directories.setdefault(identity(directory_of(target).path, real), {})
        result.notes.extend(notes)
        for log in [target, *logs] if starts and target.kind != REMOTE_SEGMENTS else logs:
            name = "" if log.kind == PARTITION else os.path.basename(log.path)
            files.setdefault(name, _beside(next(iter(files.values())), log, name) if files else log)
    result.targets.extend(files[name] for files in directories.values() for name in sorted(files, key=_order))
    return result


def _logs(target: Target) -> tuple[list[Target], list[Note]]:
    """Return the logs of a directory, else the target itself, and notes on entries only named like one."""
    if target.kind == REMOTE_SEGMENTS:
        files, other_names = listed(target.path)
    else:
        files, other_names = listed_log(target.path) if target.kind == PARTITION else ([], [])
    is_partition = target.kind == PARTITION
    opened = opened_files(Partition(target), files) if is_partition else {name: name for name in files}
    logs = [entry_of(target, name, LOG) for name, new in opened.items() if _is_log(new)]
    # names of remote segments are none of a log
    names = [] if target.kind == REMOTE_SEGMENTS else files
    return logs or [target], list(unexpected_names(target, names, other_names))


def unread(file_set: FileSet) -> frozenset[str]:
    """Return the partition directories, by `identity` as shown, with a log that is not read."""
    paths = [failure.path for failure in file_set.failures] + [
        note.path for note in file_set.notes if note.kind == "no-file"
    ]
    unexpected = (note.path for note in file_set.notes if note.kind in {"no-offset", "non-canonical-name"})
    named = [path for path in paths if _is_log(os.path.basename(path))] + [
        path for path in unexpected if path.endswith((".log", ".log.swap"))
    ]
    return frozenset(identity(os.path.dirname(path) or ".", os.path.realpath) for path in named)


def removed_segment(findings: Iterable[Finding]) -> int | None:
    """Return the base offset of a segment that was removed after it was listed; None without one."""
    paths = (finding.path for finding in findings if finding.code == "LOG-014")
    names = (parse_file(os.path.basename(path)) for path in paths if path)
    return next((name.base_offset for name in names if name.kind == LOG), None)


def directory_of(target: Target) -> Target:
    """Return the directory that a target is, or the partition directory that it lies in."""
    return target if target.kind in {PARTITION, LOG_DIR, REMOTE_SEGMENTS} else partition_of(target)


def identity(directory: str, real: Callable[[str], str]) -> str:
    """Return the same for all ways to name a directory; one that is a link itself is not what it leads to."""
    parent, name = os.path.split(directory)
    return real(directory) if name in {"", ".", ".."} else os.path.join(real(parent), name)


def _beside(first: Target, target: Target, name: str) -> Target:
    """Return a target reached by the way on which another of its directory was reached first."""
    directory = directory_of(first)
    return entry_of(directory, name, target.kind) if name else directory


def _order(name: str) -> tuple[bool, int, str]:
    """Return the sort key of a file in its directory: segments by base offset and name, then snapshots."""
    parsed = parse_file(name)
    return parsed.kind == KRAFT_SNAPSHOT, parsed.base_offset or 0, name


def _is_log(name: str) -> bool:
    parsed = parse_file(name)
    return parsed.kind == LOG and not parsed.is_inactive
