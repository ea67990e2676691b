"""What names and sizes alone say about the segments of a partition; no byte of them is read."""

import os
from collections.abc import Iterator

from formats.names import LOG, parse_file
from kcli.columns import WHERE, RowType, integer, text
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, where
from kcli.logdir.buffers import file_error
from kcli.logdir.partition import Partition
from kcli.rows import Row

SEGMENT = RowType(
    "segment",
    (
        *WHERE,
        text("file", "name of the .log file"),
        integer("base_offset", "from the name"),
        integer("next_base_offset", "base offset of the next segment; null for the last", null=True),
        integer("size_bytes", "bytes of the .log file"),
        integer("index_bytes", "bytes of the .index file; null without one", null=True),
        integer("timeindex_bytes", "bytes of the .timeindex file; null without one", null=True),
        integer("txnindex_bytes", "bytes of the .txnindex file; null without one", null=True),
    ),
)


def segments(unit: Unit) -> Outcome:
    """Return a row per live segment of a partition directory, in offset order."""
    return answer(unit, _segments)


def _segments(partition: Partition) -> Yield:
    found = [(file.base_offset, name) for name in partition.names if (file := parse_file(name)).kind == LOG and file.suffix == ""]
    logs = sorted((base, name) for base, name in found if base is not None)
    ends = [*(base for base, _ in logs[1:]), None]
    place = where(partition)
    for (base, name), end in zip(logs, ends, strict=True):
        yield Row(SEGMENT.name, (*place, name, base, end, *_sizes(partition, name)))


def _sizes(partition: Partition, name: str) -> Iterator[int | None]:
    stem = os.path.join(partition.path, name.removesuffix(".log"))
    try:
        yield os.stat(f"{stem}.log").st_size
    except OSError as error:
        raise file_error(f"{stem}.log", error) from error
    for extension in ("index", "timeindex", "txnindex"):
        try:
            yield os.stat(f"{stem}.{extension}").st_size
        except FileNotFoundError:
            yield None
        except OSError as error:
            raise file_error(f"{stem}.{extension}", error) from error
