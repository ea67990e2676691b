"""`diff`: two runs that `--out NAME/` kept, compared partition by partition."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.output.run_directory import ERRORS, FINDINGS, RECORD, ROWS, FileRowsError, read_rows
from kcli.rows.checks import RunDiffRow
from kcli.rows.partitions import Where

UNREADABLE = "unreadable"
RANKED = ("starts", "loads", "clean", "warning", "damaged", "fails", "will-not-load", UNREADABLE)
"""The better first."""
COMPARED = ("result", "log_start_offset", "log_end_offset", "latest_epoch", "log_bytes", "segments")
COLUMNS: dict[str, dict[str, str]] = {
    "ls": {name: name for name in COMPARED[1:]},
    "check": {name: name for name in ("result", "log_end_offset")},
    "scan": {
        "log_start_offset": "base_offset",
        "latest_epoch": "last_epoch",
        "log_bytes": "log_bytes",
        "segments": "segments",
    },
    "startup": {
        "result": "outcome",
        **{name: name for name in ("log_start_offset", "log_end_offset", "segments", "epochs")},
    },
}
"""What the rows of each command say of a partition, and in which column."""
FALLS = {
    "log_end_offset": "the log ended at {} before, it ends at {} now",
    "log_start_offset": "the log began at {} before, it begins at {} now",
    "latest_epoch": "the newest leader epoch was {} before, it is {} now",
}
"""What is said of a number that no log makes smaller by itself."""
ANSWERED = (0, 1, 4)  # exit statuses of runs that read something
NOT_WRITTEN = "this is not what --out NAME/ writes"

Facts: TypeAlias = dict[str, Any]
"""What a run says of a partition: `where`, what is COMPARED, `epochs` (epoch, start offset), `findings`."""


class RunError(Exception):
    """A directory is not one that can be compared; the message says why."""


class RunRecord(NamedTuple):
    """What run.json says that matters here. `has_answers`: it came to its end and read something."""

    path: str
    command: str
    started_timestamp: int
    host: str
    labels: dict[str, str]
    has_answers: bool

    @property
    def kind(self) -> str:
        """What runs that can be compared share, in words."""
        labels = (f"{key}={value}" for key, value in sorted(self.labels.items()))
        return " ".join((self.command, "of", self.host, *labels))


class RunFinding(NamedTuple):
    """A finding of a run, or an error; those that are equal are the same one. `rank`: 0 info to -2 error."""

    rank: int
    code: str
    file: str
    position: int


def record_of(path: str) -> RunRecord:
    """Return what run.json of a directory says; RunError where there is none, or another text."""
    file_path = os.path.join(path, RECORD)
    try:
        with open(file_path, "rb") as file:
            fields = json.load(file)
        record = RunRecord(
            path,
            str(fields["command"]),
            int(fields["started_timestamp"]),
            str(fields.get("host")),
            dict(fields.get("labels", ())),
            fields.get("exit_status") in ANSWERED,
        )
    except FileNotFoundError as error:
        raise RunError(f"{file_path}: not there; expected a directory that --out NAME/ wrote") from error
    except OSError as error:
        raise RunError(f"{file_path}: {(error.strerror or str(error)).lower()}") from error
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise RunError(f"{file_path}: {NOT_WRITTEN}") from error
    return record


def compared(record: RunRecord) -> RunRecord:
    """Return a run of a command whose runs can be compared; RunError for another."""
    if record.command not in COLUMNS:
        path = os.path.join(record.path, RECORD)
        raise RunError(f"{path}: a run of {record.command}; expected one of {', '.join(COLUMNS)}")
    return record


def pairs_in(directory: str) -> list[tuple[RunRecord | None, RunRecord]]:
    """Return of runs of the same command, host and labels the newest, and the one before, by what they share.

    Those that read nothing are passed over, but for the newest. None: it is alone. RunError where all are,
    and for a run that has no run.json.
    """
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise RunError(f"{directory}: {(error.strerror or str(error)).lower()}") from error
    if RECORD in names:
        raise RunError(f"{directory}: one run; name an earlier one before it, or the directory around both")
    paths = [os.path.join(directory, name) for name in names if name[0] != "."]  # of a run that is going on
    records = [
        record_of(path)
        for path in paths
        if any(os.path.lexists(os.path.join(path, name)) for name in (RECORD, ROWS))
    ]
    runs: dict[str, list[RunRecord]] = {}
    for run in sorted(records, key=lambda run: (run.started_timestamp, run.path)):
        if run.command in COLUMNS:
            runs.setdefault(run.kind, []).append(run)
    if not runs:
        raise RunError(f"{directory}: no run of {', '.join(COLUMNS)} in it; keep one a night: --out NAME/")
    pairs = []
    for _, (*earlier, newest) in sorted(runs.items()):
        before = [run for run in earlier if run.has_answers]
        pairs.append((before[-1] if before else None, newest))
    if all(before is None for before, _ in pairs):
        newest = max((run for _, run in pairs), key=lambda run: run.started_timestamp)
        raise RunError(
            f"{directory}: one run of its kind alone, {newest.path} ({newest.kind}): run it again with --out "
            f"{os.path.join(directory, 'NAME')}/, or name the other run: kcli diff RUN1 {newest.path}"
        )
    return pairs


def differences(first: RunRecord, last: RunRecord, *, all_of_them: bool) -> Iterator[RunDiffRow | Finding]:
    """Yield a row for each partition that changed, or for each, with the findings about it; RunError."""
    of_first, of_last = _read(first), _read(last)
    unread = [directory for directory, facts in of_last.items() if facts.get("result") == UNREADABLE]
    for directory, facts in of_first.items():  # what the later run could not read is not gone
        if any(f"{directory}/".startswith(os.path.join(path, "")) for path in unread):
            later = of_last.get(directory, {"result": UNREADABLE})
            of_last[directory] = {**later, "where": facts["where"]}
    before, after = _by_name(of_first), _by_name(of_last)
    for name in sorted(before.keys() | after.keys()):
        row, findings = compare(before.get(name), after.get(name))
        if all_of_them or row.verdict != "unchanged":
            yield row
            yield from findings


def _read(run: RunRecord) -> dict[str, Facts]:
    """Return what a run says of each partition, by its directory."""
    partitions: dict[str, Facts] = {}
    for name, add in ((ROWS, _add_row), (FINDINGS, _add_finding), (ERRORS, _add_error)):
        directory = os.path.join(run.path, name)
        try:
            for row in read_rows(directory):
                add(partitions, run, row)
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"{directory}: {NOT_WRITTEN}") from error
        except FileRowsError as error:
            raise RunError(str(error)) from error
    for directory, facts in partitions.items():
        facts.setdefault("where", Where(directory, None, None, None, None))
    return partitions


def _add_row(partitions: dict[str, Facts], run: RunRecord, row: Mapping[str, Any]) -> None:
    if row.get("dir") is None or "topic" not in row or (run.command == "scan" and "file" in row):
        return
    where = Where(*(row[name] for name in Where._fields))
    facts = partitions.setdefault(where.dir, {})
    facts |= {"where": where, **{name: row[column] for name, column in COLUMNS[run.command].items()}}
    if run.command == "scan" and row["last_offset"] is not None:
        facts["log_end_offset"] = row["last_offset"] + 1
    if run.command == "startup":
        epochs = [(one["epoch"], one["start_offset"]) for one in row["epochs"]]
        facts["latest_epoch"] = epochs[-1][0] if epochs else None
        facts["epochs"] = epochs if row["outcome"] == "loads" else None


def _add_finding(partitions: dict[str, Facts], _: RunRecord, row: Mapping[str, Any]) -> None:
    directory = row["dir"] or os.path.dirname(row["path"] or "")
    rank = -SEVERITIES.index(row["severity"])
    finding = RunFinding(rank, str(row["code"]), row["file"] or "", row["position"] or 0)
    partitions.setdefault(directory, {}).setdefault("findings", set()).add(finding)


def _add_error(partitions: dict[str, Facts], run: RunRecord, row: Mapping[str, Any]) -> None:
    path = row["path"]
    if not path or row["error"] == "nothing-matched":  # about no file: a topic that is not there
        if not partitions:
            raise RunError(f"{run.path}: this run read nothing: {row['message']}")
        return
    directory = next((one for one in (path, os.path.dirname(path)) if one in partitions), path)
    partitions.setdefault(directory, {"result": UNREADABLE})
    fields = {"dir": directory, "severity": SEVERITIES[-1], "code": row["error"]}
    _add_finding(partitions, run, {**row, **fields, "file": os.path.basename(path)})


def _by_name(partitions: dict[str, Facts]) -> dict[tuple[str, ...], Facts]:
    """Return partitions by broker and name of the directory, by the whole path where that is not unique."""
    times = Counter(_name(facts["where"]) for facts in partitions.values())
    return {
        name if times[name := _name(facts["where"])] == 1 else (*name, directory): facts
        for directory, facts in partitions.items()
    }


def _name(where: Where) -> tuple[str, ...]:
    name = os.path.basename(os.path.normpath(where.dir))
    return ("", name) if where.topic is None else (str(where.broker_id), name)


def compare(before: Facts | None, after: Facts | None) -> tuple[RunDiffRow, list[Finding]]:
    """Return what became of a partition, and the findings about it; None for a run without it."""
    first, last = before or {}, after or {}
    old_findings, new_findings = first.get("findings", set()), last.get("findings", set())
    appeared, gone = sorted(new_findings - old_findings), sorted(old_findings - new_findings)
    where = (after or first)["where"]
    damage, warnings = _damage(first, last, appeared), _new_codes(appeared, -1)
    shrunk, rewritten = _fall("log_end_offset", first, last), _rewritten(first, last)
    messages = (
        ("DIFF-001", damage),
        ("DIFF-002", warnings),
        ("DIFF-003", shrunk),
        ("DIFF-003", rewritten),
        ("DIFF-006", _fall("log_start_offset", first, last)),
        ("DIFF-006", "the later run does not have it" if after is None else None),
    )
    findings = [Finding(code, message, dir=where.dir) for code, message in messages if message]
    is_better = any(one.rank for one in gone) or _rank(last.get("result")) < _rank(first.get("result"))
    applying = (
        ("damaged", damage),
        ("rewritten", rewritten),
        ("shrunk", shrunk),
        ("gone", after is None),
        ("new", before is None),
        ("changed", findings),
        ("repaired", is_better),
        ("grown", _grew("log_end_offset", first, last)),
        ("trimmed", _grew("log_start_offset", first, last)),
        ("unchanged", {**first, "findings": 0, "where": 0} == {**last, "findings": 0, "where": 0}),
        ("grown", _grew("log_bytes", first, last)),
        ("changed", True),
    )
    row = RunDiffRow(
        where=where,
        verdict=next(verdict for verdict, applies in applying if applies),
        **{f"{name}_before": first.get(name) for name in COMPARED},
        **{f"{name}_after": last.get(name) for name in COMPARED},
        findings_new=tuple(dict.fromkeys(finding.code for finding in appeared)),
        findings_gone=tuple(dict.fromkeys(finding.code for finding in gone)),
    )
    return row, findings


def _new_codes(appeared: list[RunFinding], rank: int) -> str | None:
    codes = dict.fromkeys(finding.code for finding in appeared if finding.rank == rank)
    return f"new since the first run: {', '.join(codes)}" if codes else None


def _damage(first: Facts, last: Facts, appeared: list[RunFinding]) -> str | None:
    """Return what is damaged now and was not."""
    before, now = first.get("result"), last.get("result")
    is_worse = _rank(now) > max(_rank(before), RANKED.index("warning"))
    result = f"{before or 'not in the first run'} before, {now} now" if is_worse else None
    return _new_codes(appeared, -2) or result


def _rewritten(first: Facts, last: Facts) -> str | None:
    """Return how the leader epochs differ from what the first history can have become."""
    if first.get("epochs") is None or last.get("epochs") is None:
        return _fall("latest_epoch", first, last)
    starts, log_start = dict(last["epochs"]), last.get("log_start_offset") or 0
    for epoch, start in first["epochs"]:
        now = starts.get(epoch)
        if now != start and (start >= log_start or (now is not None and now < start)):
            is_now = "is not there now" if now is None else f"begins at {now} now"
            return f"leader epoch {epoch} began at {start} before, it {is_now}"
    return None


def _fall(name: str, first: Facts, last: Facts) -> str | None:
    """Return that a number is smaller in the later run."""
    return FALLS[name].format(first[name], last[name]) if _grew(name, last, first) else None


def _rank(result: str | None) -> int:
    return RANKED.index(result) if result in RANKED else -1 if result is None else len(RANKED)


def _grew(name: str, before: Facts, after: Facts) -> bool:
    """Whether a number is larger in the second facts; False where one of both lacks it."""
    old, new = before.get(name), after.get(name)
    return old is not None and new is not None and new > old
