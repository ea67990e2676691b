"""The directory of a run: `rows/`, `findings/`, `errors/`, and `run.json`, whole or not at all."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcli.kafka.findings.findings import Finding
from kcli.output.files import new_file, nothing, write_failure_rows, write_finding_rows
from kcli.output.formats import NDJSON, PARQUET
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
    """Make the directory around the parts the one at `path`, with a run.json; return how many rows it has."""
    directory = os.path.dirname(parts.directory)
    output, head = parts.view.format, parts.view.head
    count = settle(parts, written, nothing)
    findings, failures = messages
    files = {name: os.path.join(directory, name, f"{name}.{output.extension}") for name in (FINDINGS, ERRORS)}
    for name in files:
        os.mkdir(os.path.join(directory, name))
    write_finding_rows(files[FINDINGS], output, findings, head=head)
    write_failure_rows(files[ERRORS], output, failures, head=head)
    with new_file(os.path.join(directory, RECORD)) as file:
        text = json.dumps({**record, "rows": count}, ensure_ascii=False, indent=1)
        file.write(text.encode(errors="backslashreplace") + b"\n")
    os.rename(directory, path)
    return count


class FileRowsError(Exception):
    """A file of a run cannot be read back; the message names it."""


def read_rows(directory: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of all files below a directory of a run, as their JSON has them; FileRowsError."""
    try:
        for folder, names, files in os.walk(directory, onerror=_raise):
            names.sort()
            for name in sorted(files):
                yield from _rows_of(os.path.join(folder, name))
    except OSError as error:
        raise FileRowsError(
            f"{error.filename or directory}: {(error.strerror or str(error)).lower()}"
        ) from error


def _raise(error: OSError) -> None:
    raise error


def _rows_of(path: str) -> Iterator[dict[str, Any]]:
    if path.endswith(f".{NDJSON.extension}"):
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise FileRowsError(f"{path}: line {number}: expected a JSON object") from error
                if not isinstance(row, dict):
                    raise FileRowsError(f"{path}: line {number}: expected a JSON object")
                yield row
    elif path.endswith(f".{PARQUET.extension}"):
        from pyarrow import ArrowException, parquet

        try:
            with parquet.ParquetFile(path) as table:
                for batch in table.iter_batches():
                    yield from batch.to_pylist()
        except ArrowException as error:
            raise FileRowsError(f"{path}: {str(error).splitlines()[0]}") from error
    else:
        raise FileRowsError(f"{path}: expected a run that was written with -o ndjson or parquet")
