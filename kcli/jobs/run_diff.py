"""Two runs that `--out NAME/` kept, compared partition by partition."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.kafka.integrity.run_diffs import UNREADABLE, LogFacts, Noted, PartitionFacts, compared
from kcli.output.run_directory import ERRORS, FINDINGS, RECORD, ROWS, FileRowsError, read_rows
from kcli.rows.places import Where
from kcli.rows.runs import RunDiffRow

MOST_RECORD_BYTES = 1 << 20
UNCHANGED = "unchanged"
TEXTS = frozenset(
    (
        *("dir", "cluster_id", "topic", "path", "file"),
        *("code", "severity", "error", "message", "result", "outcome"),
    )
)
"""Names whose values are text; the others are numbers, and epochs a list."""
NEVER_NULL = frozenset(("code", "severity", "error", "epochs", "epoch", "start_offset"))
Row = Mapping[str, Any]


class RunError(Exception):
    """A directory is not one that can be compared; the message says why."""


class RunRecord(NamedTuple):
    """What run.json says that matters here."""

    path: str
    command: str
    started_timestamp: int


class _Partition(NamedTuple):
    where: Where
    facts: PartitionFacts


def record_of(path: str) -> RunRecord:
    """Return what run.json of a directory says; RunError where there is none, or another text."""
    place = os.path.join(path, RECORD)
    try:
        with open(place, "rb") as file:
            found = json.loads(file.read(MOST_RECORD_BYTES))
        record = RunRecord(path, str(found["command"]), int(found["started_timestamp"]))
    except FileNotFoundError as error:
        raise RunError(f"{place}: not there; expected a directory that --out NAME/ wrote") from error
    except OSError as error:
        raise RunError(f"{place}: {(error.strerror or str(error)).lower()}") from error
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise RunError(f"{place}: this is not what --out NAME/ writes") from error
    if record.command not in READERS:
        raise RunError(f"{place}: a run of {record.command}; expected one of {', '.join(READERS)}")
    return record


def differences(first: RunRecord, last: RunRecord, *, all_of_them: bool) -> Iterator[RunDiffRow | Finding]:
    """Yield a row for each partition that changed, or for each, with the findings about it; RunError."""
    try:
        of_first, of_last = _read(first), _read(last)
    except FileRowsError as error:
        raise RunError(str(error)) from error
    _note_unread(of_first, of_last)
    before, after = _by_key(of_first), _by_key(of_last)
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if (known := new or old) is None:
            continue
        change = compared(old and old.facts, new and new.facts)
        if change.verdict == UNCHANGED and not all_of_them:
            continue
        one, other = (old.facts if old else PartitionFacts()), (new.facts if new else PartitionFacts())
        new_codes, gone_codes = (
            tuple(dict.fromkeys(noted.code for noted in some))
            for some in (change.noted_new, change.noted_gone)
        )
        yield RunDiffRow(
            where=known.where,
            verdict=change.verdict,
            result_before=one.result,
            result_after=other.result,
            log_start_offset_before=one.log_start_offset,
            log_start_offset_after=other.log_start_offset,
            log_end_offset_before=one.log_end_offset,
            log_end_offset_after=other.log_end_offset,
            latest_epoch_before=one.latest_epoch,
            latest_epoch_after=other.latest_epoch,
            log_bytes_before=one.log_bytes,
            log_bytes_after=other.log_bytes,
            segments_before=one.segments,
            segments_after=other.segments,
            segments_new=change.logs_new,
            segments_gone=change.logs_gone,
            segments_changed=change.logs_changed,
            findings_new=new_codes,
            findings_gone=gone_codes,
        )
        for code, message in change.findings:
            yield Finding(code, message, dir=known.where.dir)


def _read(record: RunRecord) -> dict[str, _Partition]:
    """Return what a run says of each partition, by its directory."""
    places: dict[str, Where] = {}
    facts: dict[str, PartitionFacts] = {}
    reader = READERS[record.command]
    for row in _objects(os.path.join(record.path, ROWS)):
        if row.get("dir") is not None and "topic" in row:
            where = Where(*(row[name] for name in Where._fields))
            facts[where.dir] = reader(facts.get(where.dir) or PartitionFacts(logs={}), row)
            places[where.dir] = where
    noted: dict[str, set[Noted]] = {}
    for row in _objects(os.path.join(record.path, FINDINGS)):
        directory = row["dir"] or os.path.dirname(row["path"] or "")
        noted.setdefault(directory, set()).add(
            Noted(row["code"], row["severity"], row["file"], row["position"])
        )
    for row in _objects(os.path.join(record.path, ERRORS)):
        path = row["path"] or ""
        if not path or row["error"] == "nothing-matched":
            if not facts:
                raise RunError(f"{record.path}: this run read nothing: {row['message']}")
            continue  # about no file: a topic that was named and is not there
        directory = next((place for place in (path, os.path.dirname(path)) if place in places), path)
        noted.setdefault(directory, set()).add(
            Noted(row["error"], "error", os.path.basename(path), row["position"])
        )
        if directory not in facts:
            facts[directory] = PartitionFacts(result=UNREADABLE)
    for directory, some in noted.items():
        facts[directory] = facts.get(directory, PartitionFacts())._replace(noted=frozenset(some))
    unknown = Where("", None, None, None, None)
    return {
        directory: _Partition(places.get(directory, unknown._replace(dir=directory)), found)
        for directory, found in facts.items()
    }


class _Fields(dict[str, Any]):
    """An object of a file of a run; what is read of it and is absent, or of another type, is a RunError."""

    def __init__(self, fields: Row, place: str) -> None:
        super().__init__(fields)
        self.place = place

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise RunError(f"{self.place}: a row without {name}")
        value = super().__getitem__(name)
        kind = list if name == "epochs" else str if name in TEXTS else int
        if value is None and name not in NEVER_NULL:
            return None
        if not isinstance(value, kind) or (name == "severity" and value not in SEVERITIES):
            self.refuse(name, value)
        return [self._entry(entry) for entry in value] if isinstance(value, list) else value

    def _entry(self, entry: object) -> "_Fields":
        return _Fields(entry, self.place) if isinstance(entry, Mapping) else self.refuse("epochs", entry)

    def refuse(self, name: str, value: object) -> NoReturn:
        raise RunError(f"{self.place}: {name}: this is not what --out NAME/ writes: {str(value)[:40]!r}")


def _objects(directory: str) -> Iterator[_Fields]:
    for row in read_rows(directory):
        yield _Fields(row, directory)


def _note_unread(before: dict[str, _Partition], after: dict[str, _Partition]) -> None:
    """Add to a later run the partitions of the first that it could not read, or whose log dir."""
    unread = [directory for directory, one in after.items() if one.facts.result == UNREADABLE]
    for directory, one in before.items():
        if any(f"{directory}/".startswith(os.path.join(place, "")) for place in unread):
            found = after.get(directory)
            facts = PartitionFacts(result=UNREADABLE) if found is None else found.facts
            after[directory] = _Partition(one.where, facts)


def _by_key(partitions: dict[str, _Partition]) -> dict[tuple[str, ...], _Partition]:
    """Return partitions by broker and name of the directory, by the whole path where that is not unique."""
    times = Counter(_name(one.where) for one in partitions.values())
    return {
        name if times[name := _name(one.where)] == 1 else (*name, directory): one
        for directory, one in partitions.items()
    }


def _name(where: Where) -> tuple[str, ...]:
    if where.topic is None:
        return ("", os.path.basename(os.path.normpath(where.dir)))
    return (str(where.broker_id), os.path.basename(where.dir))


def _of_ls(_: PartitionFacts, row: Row) -> PartitionFacts:
    return PartitionFacts(
        log_start_offset=row["log_start_offset"],
        log_end_offset=row["log_end_offset"],
        latest_epoch=row["latest_epoch"],
        log_bytes=row["log_bytes"],
        segments=row["segments"],
    )


def _of_scan(known: PartitionFacts, row: Row) -> PartitionFacts:
    last = row["last_offset"]
    if "file" in row:
        contents = (
            *(row[name] for name in ("batches", "records", "base_offset", "last_offset", "max_timestamp")),
            *(row[name] for name in ("first_epoch", "last_epoch", "valid_batches", "damaged_bytes")),
        )
        ends = (row["base_offset"], row["first_epoch"]), (last, row["last_epoch"])
        known.logs[row["file"]] = LogFacts(row["log_bytes"], contents, ends)
        return known
    return known._replace(
        log_start_offset=row["base_offset"],
        log_end_offset=None if last is None else last + 1,
        latest_epoch=row["last_epoch"],
        log_bytes=row["log_bytes"],
        segments=row["segments"],
    )


def _of_check(_: PartitionFacts, row: Row) -> PartitionFacts:
    return PartitionFacts(result=row["result"], log_end_offset=row.get("log_end_offset"))


def _of_startup(_: PartitionFacts, row: Row) -> PartitionFacts:
    epochs = tuple((entry["epoch"], entry["start_offset"]) for entry in row["epochs"])
    return PartitionFacts(
        result=row["outcome"],
        log_start_offset=row["log_start_offset"],
        log_end_offset=row["log_end_offset"],
        latest_epoch=epochs[-1][0] if epochs else None,
        epochs=epochs if row["outcome"] == "loads" else None,
        segments=row["segments"],
    )


READERS: dict[str, Callable[[PartitionFacts, Row], PartitionFacts]] = {
    "ls": _of_ls,
    "check": _of_check,
    "scan": _of_scan,
    "startup": _of_startup,
}
"""What a row of each command adds to what is known of its partition."""
