"""`diff`: two runs that `--out NAME/` kept, compared partition by partition."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kcli.engine.contract import Outcome
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.output.run_directory import ERRORS, FINDINGS, RECORD, ROWS, FileRowsError, read_rows
from kcli.rows import Failure
from kcli.rows.checks import RunDiffRow
from kcli.rows.partitions import Where
from kcli.words import WordError

UNREADABLE = "unreadable"
RANKED = ("starts", "loads", "clean", "warning", "damaged", "fails", "will-not-load", UNREADABLE)
"""The better first."""
COMPARED = ("result", "log_start_offset", "log_end_offset", "latest_epoch", "log_bytes", "segments")
COLUMNS = {
    "ls": COMPARED[1:],
    "check": ("result", "log_end_offset"),
    "scan": ("base_offset", "last_epoch", "log_bytes", "segments"),
    "startup": ("outcome", "log_start_offset", "log_end_offset", "segments", "epochs"),
}
"""What the rows of each command say of a partition."""
CALLED_HERE = {"base_offset": "log_start_offset", "last_epoch": "latest_epoch", "outcome": "result"}
"""What some of these columns are called here."""
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


class RunRecord(NamedTuple):
    """What run.json says that matters here. `has_answers`: it came to its end and read something.

    `kind`: what runs that can be compared share, in words.
    """

    path: str
    command: str
    started_timestamp: int
    kind: str
    has_answers: bool


class RunFinding(NamedTuple):
    """A finding of a run, or an error; those that are equal are the same one. `rank`: 0 info to -2 error."""

    rank: int
    code: str
    file: str
    position: int


def record_of(path: str) -> RunRecord:
    """Return what run.json of a directory says; FileRowsError where there is none, or another text."""
    file_path = os.path.join(path, RECORD)
    try:
        with open(file_path, "rb") as file:
            fields = json.load(file)
        command, started = str(fields["command"]), int(fields["started_timestamp"])
        labels = (f"{key}={value}" for key, value in sorted(dict(fields.get("labels", ())).items()))
        kind = " ".join((command, "of", str(fields.get("host")), *labels))
        return RunRecord(path, command, started, kind, fields.get("exit_status") in ANSWERED)
    except FileNotFoundError as error:
        raise FileRowsError(f"{file_path}: not there; expected a directory that --out NAME/ wrote") from error
    except OSError as error:
        raise FileRowsError(f"{file_path}: {(error.strerror or str(error)).lower()}") from error
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise FileRowsError(f"{file_path}: {NOT_WRITTEN}") from error


def named_pair(first: str, last: str) -> tuple[RunRecord, RunRecord]:
    """Return two runs; FileRowsError for what is none, WordError for two that cannot be compared."""
    before, now = record_of(first), record_of(last)
    for run in (before, now):
        if run.command not in COLUMNS:
            path = os.path.join(run.path, RECORD)
            raise FileRowsError(f"{path}: a run of {run.command}; expected one of {', '.join(COLUMNS)}")
    if before.command != now.command:
        raise WordError(f"{first} is a run of {before.command}, {last} of {now.command}: compare runs of one")
    if before.started_timestamp > now.started_timestamp:
        raise WordError(f"{first} is the later run: write the earlier one first")
    return before, now


def pairs_in(directory: str) -> list[tuple[RunRecord | None, RunRecord]]:
    """Return of runs of the same command, host and labels the newest, and the one before, by what they share.

    Those that read nothing are passed over, but for the newest. None: it is alone. FileRowsError where all
    are, and for a run that has no run.json.
    """
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise FileRowsError(f"{directory}: {(error.strerror or str(error)).lower()}") from error
    if RECORD in names:
        advice = "name an earlier one before it, or the directory around both"
        raise FileRowsError(f"{directory}: one run; {advice}")
    runs: dict[str, list[RunRecord]] = {}
    for path in (os.path.join(directory, name) for name in names if name[0] != "."):  # . is going on
        if any(os.path.lexists(os.path.join(path, name)) for name in (RECORD, ROWS)):
            run = record_of(path)
            runs.setdefault(run.kind, []).append(run)
    pairs = []
    for _, of_kind in sorted(runs.items()):
        *earlier, newest = sorted(of_kind, key=lambda run: (run.started_timestamp, run.path))
        if newest.command in COLUMNS:
            pairs.append((next((run for run in reversed(earlier) if run.has_answers), None), newest))
    if not pairs:
        commands = ", ".join(COLUMNS)
        raise FileRowsError(f"{directory}: no run of {commands} in it; keep one a night: --out NAME/")
    if all(before is None for before, _ in pairs):
        newest = max((run for _, run in pairs), key=lambda run: run.started_timestamp)
        raise FileRowsError(
            f"{directory}: one run of its kind alone, {newest.path} ({newest.kind}): run it again with --out "
            f"{os.path.join(directory, 'NAME')}/, or name the other run: kcli diff RUN1 {newest.path}"
        )
    return pairs


def outcomes(pairs: Sequence[tuple[RunRecord, RunRecord]], *, all_of_them: bool) -> Iterator[Outcome]:
    """Yield of each pair a row for each partition that changed, or for each, and the findings about it."""
    for number, (first, last) in enumerate(pairs):
        try:
            of_first, of_last = _read(first), _read(last)
        except FileRowsError as error:
            yield Outcome(number=number, error=not_a_run(error))
            continue
        unread = [directory for directory, facts in of_last.items() if facts.get("result") == UNREADABLE]
        for directory, facts in of_first.items():  # what the later run could not read is not gone
            if any(f"{directory}/".startswith(os.path.join(path, "")) for path in unread):
                later = of_last.get(directory, {"result": UNREADABLE})
                of_last[directory] = {**later, "where": facts["where"]}
        before, after = _by_name(of_first), _by_name(of_last)
        outcome, kind = Outcome(number=number), f" ({last.kind})" if len(pairs) > 1 else ""
        for name in sorted(before.keys() | after.keys()):
            row, findings = compare(before.get(name), after.get(name))
            if all_of_them or row.verdict != "unchanged":
                outcome.rows.append(row)
                outcome.findings.extend(one._replace(message=one.message + kind) for one in findings)
        yield outcome


def not_a_run(error: FileRowsError) -> Failure:
    """Return the error about what is no run."""
    return Failure("", "not-a-run", None, None, str(error))


def _read(run: RunRecord) -> dict[str, Facts]:
    """Return what a run says of each partition, by its directory."""
    partitions: dict[str, Facts] = {}
    for name, add in ((ROWS, _add_row), (FINDINGS, _add_finding), (ERRORS, _add_error)):
        directory = os.path.join(run.path, name)
        try:
            for row in read_rows(directory):
                add(partitions, run, row)
        except (KeyError, TypeError, ValueError) as error:
            raise FileRowsError(f"{directory}: {NOT_WRITTEN}") from error
    for directory, facts in partitions.items():
        facts.setdefault("where", Where(directory, None, None, None, None))
    return partitions


def _add_row(partitions: dict[str, Facts], run: RunRecord, row: Mapping[str, Any]) -> None:
    if row.get("dir") is None or "topic" not in row or (run.command == "scan" and "file" in row):
        return
    where = Where(*(row[name] for name in Where._fields))
    facts = {"where": where, **{CALLED_HERE.get(name, name): row[name] for name in COLUMNS[run.command]}}
    if run.command == "scan" and row["last_offset"] is not None:
        facts["log_end_offset"] = row["last_offset"] + 1
    if run.command == "startup":
        epochs = [(one["epoch"], one["start_offset"]) for one in row["epochs"]]
        facts["latest_epoch"] = epochs[-1][0] if epochs else None
        facts["epochs"] = epochs if row["outcome"] == "loads" else None
    partitions[where.dir] = facts


def _add_finding(partitions: dict[str, Facts], _: RunRecord, row: Mapping[str, Any]) -> None:
    directory = row["dir"] or os.path.dirname(row["path"] or "")
    rank = -SEVERITIES.index(row["severity"])
    finding = RunFinding(rank, str(row["code"]), row["file"] or "", row["position"] or 0)
    partitions.setdefault(directory, {}).setdefault("findings", set()).add(finding)


def _add_error(partitions: dict[str, Facts], run: RunRecord, row: Mapping[str, Any]) -> None:
    path = row["path"]
    if not path or row["error"] == "nothing-matched":  # about no file: a topic that is not there
        if not partitions:
            raise FileRowsError(f"{run.path}: this run read nothing: {row['message']}")
        return
    directory = next((one for one in (path, os.path.dirname(path)) if one in partitions), path)
    partitions.setdefault(directory, {"result": UNREADABLE})
    fields = {"dir": directory, "severity": SEVERITIES[-1], "code": row["error"]}
    _add_finding(partitions, run, {**row, **fields, "file": os.path.basename(path)})


def _by_name(partitions: dict[str, Facts]) -> dict[tuple[str, ...], Facts]:
    """Return partitions by broker and name of the directory, by the whole path where that is not unique."""
    names: dict[str, tuple[str, ...]] = {}
    for directory, facts in partitions.items():
        name, where = os.path.basename(os.path.normpath(facts["where"].dir)), facts["where"]
        names[directory] = ("" if where.topic is None else str(where.broker_id), name)
    times = Counter(names.values())
    return {
        name if times[name] == 1 else (*name, directory): partitions[directory]
        for directory, name in names.items()
    }


def compare(before: Facts | None, after: Facts | None) -> tuple[RunDiffRow, list[Finding]]:
    """Return what became of a partition, and the findings about it; None for a run without it."""
    first, last = before or {}, after or {}
    old_findings, new_findings = first.get("findings", set()), last.get("findings", set())
    appeared, gone = sorted(new_findings - old_findings), sorted(old_findings - new_findings)
    where, old, now = (after or first)["where"], first.get("result"), last.get("result")
    damage = _new_codes(appeared, -2)
    if damage is None and _rank(now) > max(_rank(old), RANKED.index("warning")):
        damage = f"{old or 'not in the first run'} before, {now} now"
    shrunk, rewritten = _fall("log_end_offset", first, last), _rewritten(first, last)
    messages = (
        ("DIFF-001", damage),
        ("DIFF-002", _new_codes(appeared, -1)),
        ("DIFF-003", shrunk),
        ("DIFF-003", rewritten),
        ("DIFF-006", _fall("log_start_offset", first, last)),
        ("DIFF-006", "the later run does not have it" if after is None else None),
    )
    findings = [Finding(code, message, dir=where.dir) for code, message in messages if message]
    verdicts = {
        "damaged": damage,
        "rewritten": rewritten,
        "shrunk": shrunk,
        "gone": after is None,
        "new": before is None,
        "changed": findings,
        "repaired": any(one.rank for one in gone) or _rank(now) < _rank(old),
        "grown": _grew("log_end_offset", first, last),
        "trimmed": _grew("log_start_offset", first, last),
        "unchanged": {**first, "findings": 0, "where": 0} == {**last, "findings": 0, "where": 0},
    }
    other = "grown" if _grew("log_bytes", first, last) else "changed"
    row = RunDiffRow(
        where=where,
        verdict=next((verdict for verdict, applies in verdicts.items() if applies), other),
        **{f"{name}_before": first.get(name) for name in COMPARED},
        **{f"{name}_after": last.get(name) for name in COMPARED},
        findings_new=tuple(dict.fromkeys(finding.code for finding in appeared)),
        findings_gone=tuple(dict.fromkeys(finding.code for finding in gone)),
    )
    return row, findings


def _new_codes(appeared: list[RunFinding], rank: int) -> str | None:
    codes = dict.fromkeys(finding.code for finding in appeared if finding.rank == rank)
    return f"new since the first run: {', '.join(codes)}" if codes else None


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
