"""A log that is read as a view, by the tasks that Spark would run."""

from kcli.views.spark import plan_tasks, read_task, view_schema
from tests.partitions import log_dir, offset_entries, segment


def written(tmp_path, batches, data=None, offsets=None):
    """Write a segment whose index has each batch but the first, or a small number; return its log."""
    folder = log_dir(tmp_path / "d") / "orders-0"
    places = [sum(map(len, batches[:number])) for number in range(len(batches))]
    index = offset_entries(
        *(pair for pair in zip(offsets or range(1, len(places) + 1), places, strict=True) if pair[1])
    )
    segment(folder, 0, b"".join(batches) if data is None else bytes(data), index)
    return folder / f"{0:020}.log"


def tasks(view, path, cores=1000, **options):
    columns = view_schema(view).names
    return plan_tasks({"view": view, "path": str(path), **options}, cores, None, columns)


def read(view, planned):
    schema = view_schema(view)
    found = [row for task in planned for batch in read_task(task, schema) for row in batch.to_pylist()]
    return [{**row, "scan_time": 0} for row in found]
