"""`--out`: which targets are refused; rows in a file, in a directory of parts, or in that of a run."""

import errno
import os
import re
import socket
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from kcli import __version__
from kcli.cli.boundary import say
from kcli.cli.command import Output
from kcli.cli.status import ExitStatus, MissingError, RefusedError, UsageError, reason_of
from kcli.cli.summary import DESTINATIONS, RunSummary
from kcli.cli.targets import refuse_log_dirs
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.logdir.find import FileSet
from kcli.logdir.targets import PARTITION
from kcli.output.files import IncompleteError, Text, in_batches, write_rows
from kcli.output.formats import HTML, MARKDOWN, PROMETHEUS, TEXT, format_of, is_run_directory
from kcli.output.parts import Parts, WrittenPart, keep_parts, new_directory
from kcli.output.run_directory import ROWS, keep_run
from kcli.output.values import iso
from kcli.output.view import View
from kcli.rows import Failure, Item
from kcli.rows.head import HeadColumn, head_of
from kcli.words import clock_ms

LABEL = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,62})=(.{0,1024})")
NO_PLACE = frozenset(
    {errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.EEXIST, errno.ELOOP}
)
"""What is wrong with a name to write to, whoever writes."""
IN_ONE_PROCESS = frozenset({TEXT.name, PROMETHEUS.name, HTML.name, MARKDOWN.name})
"""Formats that no worker of Spark writes a part of, and no run's directory holds."""


@dataclass(frozen=True, slots=True)
class Out:
    """The target of --out.

    `name`: as given. `path`: absolute, without symlinks in its directory. `by_workers`: Spark's workers write
    the rows, to a directory. `labels` are columns, and in run.json. `announces`: a line on stderr says what
    was written.
    """

    name: str
    path: str
    format: str
    by_workers: bool
    labels: dict[str, str]
    announces: bool

    @property
    def is_run(self) -> bool:
        """Whether it is a directory for rows, findings, errors and run.json."""
        return is_run_directory(self.name)

    def head(self, summary: RunSummary) -> tuple[HeadColumn, ...]:
        """The columns before those of each row."""
        return head_of(socket.gethostname(), str(iso(summary.started_ms)), self.labels)

    def refuse_inputs(self, file_set: FileSet) -> None:
        """Refuse a target that is an input, or inside any log dir or partition directory."""
        guarded = {
            *file_set.named_log_dirs,
            *(target.log_dir for target in file_set.targets if target.log_dir is not None),
        }
        guarded |= {target.path for target in file_set.targets if target.kind == PARTITION}
        directories = set(map(os.path.realpath, guarded))
        refuse_log_dirs(f"--out {self.name}", os.path.dirname(self.path), directories)
        paths = (target.path for target in file_set.targets)
        same_name = [path for path in paths if self.path.endswith(f"/{os.path.basename(path)}")]
        if os.path.realpath(self.path) in map(os.path.realpath, same_name):
            raise RefusedError(
                f"--out {self.name}: this is one of the inputs, and kcli would replace it; choose another "
                "name"
            )

    @contextmanager
    def parts(self, view: View) -> Iterator[Parts | None]:
        """Give the directory of the rows, gone unless `write` keeps it; None where they go to a file."""
        if not (self.by_workers or self.is_run):
            yield None
            return
        with ExitStack() as stack:
            with _explained(self):
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
                directory = stack.enter_context(new_directory(self.path))
                if self.is_run:
                    directory = os.path.join(directory, ROWS)
                    os.mkdir(directory)
            yield Parts(directory, view, by_type=self.is_run and len(view.types) > 1)

    def write(
        self, rows: Iterable[Item], view: View, summary: RunSummary, *, text: Text | None, parts: Parts | None
    ) -> bool:
        """Write the rows; write none, and return False, of a run that is cut short or has no answer."""

        def complete() -> tuple[list[Finding], list[Failure]]:
            says_so = self.is_run or view.format.is_summary
            if not (summary.is_complete if says_so else summary.has_answers):
                raise IncompleteError
            return summary.messages() if view.format.is_whole else summary.tail()

        try:
            with _explained(self):
                if parts is None:
                    os.makedirs(os.path.dirname(self.path), exist_ok=True)
                    lines = text if self.format == TEXT.name else None
                    count = write_rows(self.path, rows, view, complete, lines)
                else:
                    written = _written(rows, parts, summary, by_workers=self.by_workers)
                    complete()
                    if self.is_run:
                        record = {**run_record(view, summary), "format": self.format, "labels": self.labels}
                        count = keep_run(self.path, parts, written, summary.messages(), record)
                    else:
                        count = keep_parts(self.path, parts, written, complete)
        except IncompleteError:
            return False
        if self.announces:
            say(f"{count} {view.format.counts} written to {self.name}")
        return True


def _written(
    rows: Iterable[Item], parts: Parts, summary: RunSummary, *, by_workers: bool
) -> list[WrittenPart]:
    """Return what has all the rows, in their order."""
    if by_workers:
        for _ in rows:  # the workers have them
            pass
        return [part for receipt in summary.parts if isinstance(receipt, tuple) for part in receipt]
    chosen = replace(parts, view=parts.view._replace(sort=(), limit=None, where=None))
    with chosen() as part:
        for batch in in_batches(parts.view.chosen(rows)):
            part.write(batch)
    return [*(part.receipt or ())]


def out_of(name: str, options: Output, *, by_workers: bool) -> Out:
    """Return what --out says; UsageError and RefusedError for what cannot be."""
    form = _format(name, options)
    if options.label and form in IN_ONE_PROCESS:
        raise UsageError(f"--label is for rows: --out NAME/ or FILE.parquet, .csv, .ndjson, not {name}")
    by_workers = by_workers and form not in IN_ONE_PROCESS
    if by_workers and (options.sort is not None or options.limit is not None):
        raise UsageError(
            "--sort and --limit need all rows in one process, but with --spark the workers write --out: use "
            "only one of them"
        )
    folder, base = os.path.split(name.rstrip("/"))
    out = Out(
        name=name,
        path=f"{os.path.realpath(folder or ('/' if name[0] == '/' else '.'))}/{base}",
        format=form,
        by_workers=by_workers,
        labels=labels_of(options.label),
        announces=not options.quiet and (options.verbose > 0 or sys.stderr.isatty()),
    )
    if options.findings not in DESTINATIONS and os.path.realpath(options.findings) == out.path:
        raise UsageError(f"--out {name}: --findings names the same file")
    _refuse_what_is_there(out)
    return out


def _format(name: str, options: Output) -> str:
    output = format_of(options.format, name, is_terminal=False)
    if is_run_directory(name):
        if "\0" in name or output is None or output.extension is None or output.name in IN_ONE_PROCESS:
            raise UsageError(f"--out {name}: a directory has ndjson, csv or parquet, not {options.format}")
        return output.name
    if "\0" in name or output is None or (output == TEXT and options.format != TEXT.name):
        raise UsageError(
            f"--out {name}: expected a file that ends in .parquet, .csv, .ndjson, .html or .md (or in .txt, "
            "with -o text, or in .prom, for metrics), or a directory, NAME/"
        )
    if options.format not in {None, output.name}:
        raise UsageError(f"--out {name}: the file's name says {output.name}, -o says {options.format}")
    return output.name


def _refuse_what_is_there(out: Out) -> None:
    try:
        mode = os.stat(out.path).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"--out {out.name}: {reason_of(error)}") from error
    if stat.S_ISDIR(mode) and out.is_run and not os.listdir(out.path):
        return
    if stat.S_ISDIR(mode):
        raise RefusedError(f"--out {out.name}: this is a directory; remove it, or choose another name")
    if out.by_workers or out.is_run:
        why = "" if out.is_run else "with --spark "
        raise RefusedError(
            f"--out {out.name}: {why}this becomes a directory, and there is a file of this name; "
            "remove it, or choose another name"
        )
    if not stat.S_ISREG(mode):
        raise RefusedError(
            f"--out {out.name}: this is not a regular file, and kcli would replace it; choose another name"
        )


@contextmanager
def _explained(out: Out) -> Iterator[None]:
    """Turn an error of writing into one line."""
    try:
        yield
    except OSError as error:
        reason = reason_of(error)
        if error.errno in NO_PLACE:
            raise UsageError(f"--out {out.name}: cannot write there: {reason}") from error
        raise MissingError(f"--out {out.name}: cannot write: {reason}") from error


def labels_of(assignments: list[str] | None) -> dict[str, str]:
    """Return the labels of --label KEY=VALUE; UsageError for other words, and for a key given twice."""
    labels: dict[str, str] = {}
    for assignment in assignments or ():
        pair = LABEL.fullmatch(assignment)
        if pair is None:
            raise UsageError(f"--label {assignment}: expected KEY=VALUE, the key of letters, digits, _ . -")
        if pair[1] in labels:
            raise UsageError(f"--label {assignment}: {pair[1]} has a value already")
        labels[pair[1]] = pair[2]
    return labels


def run_record(view: View, summary: RunSummary) -> dict[str, object]:
    """Return what run.json says of a run that is complete; times are epoch milliseconds."""
    findings, failures = summary.messages()
    severities = Counter(finding.severity for finding in findings)
    status = summary.status()
    return {
        "command": view.command,
        "arguments": sys.argv[1:],
        "kcli_version": __version__,
        "host": socket.gethostname(),
        "run": iso(summary.started_ms),
        "started_timestamp": summary.started_ms,
        "ended_timestamp": clock_ms(),
        "inputs": summary.inputs,
        "answered": summary.inputs - summary.unread,
        "findings": {severity: severities[severity] for severity in SEVERITIES},
        "errors": len(failures),
        "exit_status": int(status),
        "verdict": ExitStatus(status).name.lower().replace("_", "-"),
    }
