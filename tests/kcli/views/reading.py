"""Logs that views read."""

from datetime import UTC, datetime

from pyspark.sql.pandas.types import to_arrow_schema

from kcli.views.reading import Task, record_batches
from kcli.views.schema import view_schema
from tests.partitions import log_dir, offset_entries, segment

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def written(tmp_path, batches, data=None, offsets=None):
    """Write a segment whose index has an entry for every batch but the first, its offset or a small number;
    return its log."""
    folder = log_dir(tmp_path / "d") / "orders-0"
    places = [sum(map(len, batches[:number])) for number in range(len(batches))]
    index = offset_entries(
        *(pair for pair in zip(offsets or range(1, len(places) + 1), places, strict=True) if pair[1])
    )
    segment(folder, 0, b"".join(batches) if data is None else bytes(data), index)
    return folder / f"{0:020}.log"


def read(view, groups):
    schema = to_arrow_schema(view_schema(view), timezone="UTC")
    tasks = [Task(view=view, scan_time=NOW, works=works) for works in groups]
    return [row for task in tasks for batch in record_batches(task, schema) for row in batch.to_pylist()]
