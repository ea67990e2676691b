"""The directory of a run: `rows/`, `findings/`, `errors/`, and `run.json`, whole or not at all."""

import json
import os
from collections.abc import Mapping, Sequence

from kcli.analysis.findings import Finding
from kcli.output.files import new_file, nothing
from kcli.output.finding_rows import write_failure_rows, write_finding_rows
from kcli.output.parts import Parts, WrittenPart, settle
from kcli.rows import Failure

ROWS, FINDINGS, ERRORS, RECORD = "rows", "findings", "errors", "run.json"


def keep_run(
    path: str,
    parts: Parts,
    written: Sequence[WrittenPart],
    messages: tuple[list[Finding], list[Failure]],
    record: Mapping[str, object],
) -> int:
    """Make the directory around that of the parts the one at `path`; returns how many rows it has.

    `record` is what run.json says, with the number of rows.
    """
    directory = os.path.dirname(parts.directory)
    output = parts.view.format
    count = settle(parts, written, nothing)
    findings, failures = messages
    for name in (FINDINGS, ERRORS):
        os.mkdir(os.path.join(directory, name))
    extension = output.extension
    write_finding_rows(os.path.join(directory, FINDINGS, f"{FINDINGS}.{extension}"), output, findings)
    write_failure_rows(os.path.join(directory, ERRORS, f"{ERRORS}.{extension}"), output, failures)
    with new_file(os.path.join(directory, RECORD)) as file:
        text = json.dumps({**record, "rows": count}, ensure_ascii=False, indent=1)
        file.write(text.encode(errors="backslashreplace") + b"\n")
    os.rename(directory, path)
    return count
