"""Between Spark's classes and kcli: plans as bytes, one for each task, and how they are read again."""

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, nullcontext
from datetime import UTC, datetime
from typing import Any

from kcli.views.definitions import FINDINGS
from kcli.views.filters import Filter, certain, pushed
from kcli.views.options import query
from kcli.views.planning import planned
from kcli.views.reading import Task, record_batches

DECODED = frozenset({"record_type", "record_version", "decoded_key", "decoded_value", "error"})
"""Columns that decode records of internal topics.

Records are read one by one where one of these is selected.
"""


def tasks(
    options: Mapping[str, str],
    filters: Iterable[Filter],
    cores: int | None,
    directory: str | None,
    columns: Iterable[str] = DECODED,
) -> list[bytes]:
    """Return the tasks of a query, in the order of their rows.

    Relative paths start from `directory`, if one is given. `columns` are those that the query selects.
    """
    directory = directory or os.getcwd()
    with chdir(directory):
        request = query(options)
        decodes = not DECODED.isdisjoint(name.lower() for name in columns)
        plan = planned(request, pushed([*request.filters, *certain(filters)]), cores, decodes=decodes)
    now = datetime.now(UTC)
    made = [Task(view=request.view, scan_time=now, works=works) for works in plan.bins]
    if request.view == FINDINGS and (plan.failures or plan.findings):
        known = Task(view=FINDINGS, scan_time=now, failures=plan.failures, findings=plan.findings)
        made.insert(0, known)
    start = None if all(map(os.path.isabs, request.paths)) else directory
    return [pickle.dumps((start, task), pickle.HIGHEST_PROTOCOL) for task in made]


def read(data: bytes, schema: Any) -> Iterator[Any]:
    """Yield the Arrow batches of a task, with the columns of a Spark schema.

    A directory is left as it was entered.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    start, task = pickle.loads(data)  # noqa: S301 - the driver wrote it
    with nullcontext() if start is None else chdir(start):
        yield from record_batches(task, to_arrow_schema(schema, timezone="UTC"))
