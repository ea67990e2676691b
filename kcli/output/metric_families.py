"""Which metrics each command has: what an operator alerts on or plots, and few series.

A log dir may have 10,000 partitions, so numbers are sums by topic, state or outcome, and a partition has a
series of its own only where it is bad news.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias, get_args

from kcli.rows.bad_news import is_bad_news
from kcli.rows.checks import CLEAN, DAMAGED, WARNING, WILL_NOT_LOAD, CheckRow
from kcli.rows.declare import AnyRow, RowType, declared_type
from kcli.rows.groups import GroupOffsetRow
from kcli.rows.partitions import DiskSumRow, PartitionRow
from kcli.rows.remote_segments import RemoteCheckRow
from kcli.rows.retention import RetentionPartitionRow, RetentionRow
from kcli.rows.startup import ReplicaOutcome, StartupBrokerRow, StartupReleaseRow, StartupRow
from kcli.rows.transactions import OpenTransactionRow

Number: TypeAlias = int | float
Labels: TypeAlias = tuple[str, ...]
"""Values, in the order of a metric's labels."""
Value: TypeAlias = Callable[[Any], object]


class Metric(NamedTuple):
    """One family of gauges: what it says of rows of a type.

    `name`: what comes after kcli_COMMAND_, with its unit. `labels`: columns, or a name and what gives its
    value. `value`: a column; of times it is written in seconds; None counts rows. A null has no series.
    `join`: of rows with the same labels. `of`: which rows count. `each`: a column of a list, whose items
    count one by one. `every`: values of the last label that always have a series.
    """

    name: str
    help: str
    labels: tuple[str | tuple[str, Value], ...]
    value: str | None = None
    join: Callable[[Number, Number], Number] = lambda one, other: one + other
    of: Callable[[Any], bool] | None = None
    each: str | None = None
    every: tuple[str, ...] = ()
    rows: RowType = RowType("", ())

    @property
    def label_names(self) -> Labels:
        """The names of its labels."""
        return tuple(label if isinstance(label, str) else label[0] for label in self.labels)

    @property
    def is_time(self) -> bool:
        """Whether its value is a time: in rows milliseconds, -1 for none."""
        return any(column.name == self.value and column.kind == "timestamp" for column in self.rows.columns)

    def series(self, row: AnyRow, values: dict[str, Any]) -> Iterator[tuple[Labels, Number]]:
        """Yield the labels and the number of a row, or of each item in it; `values`: its columns."""
        if self.of is not None and not self.of(row):
            return
        for item in ({},) if self.each is None else values[self.each]:
            own = {**values, **item}
            number = 1 if self.value is None else own[self.value]
            if number is None or (self.is_time and number < 0):
                continue
            given = (own[label] if isinstance(label, str) else label[1](row) for label in self.labels)
            yield tuple(map(_word, given)), number / 1000 if self.is_time else number


def _word(value: object) -> str:
    """Return the value of a label; a null is an empty one, which to Prometheus is none."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


RESULTS = (CLEAN, WARNING, DAMAGED, WILL_NOT_LOAD)
DIRECTORY_STATES = ("normal", "delete", "stray", "future")
BY_NODE, ONE_TOPIC = ("broker_id",), ("topic",)
BY_TOPIC = (*BY_NODE, *ONE_TOPIC)
BY_LOG_DIR = ("broker_id", ("log_dir", lambda row: os.path.dirname(row.where.dir) or "."))
BY_SUM = ("by", "name")
BY_GROUP = ("group_id", "topic")
STOPS_CLEANING = frozenset({"cleaning-failed", "log.cleaner.enable", "open-transaction"})


def _counts(row: Any) -> bool:
    """Whether a committed offset counts: no tombstone has removed it."""
    return row.removed_by is None


def _of(rows: type[AnyRow], *metrics: Metric) -> tuple[Metric, ...]:
    return tuple(metric._replace(rows=declared_type(rows)) for metric in metrics)


METRICS: dict[str, tuple[Metric, ...]] = {
    "check": _of(
        CheckRow,
        Metric(
            "result",
            "1 for the result of kcli check of a partition or a log dir that is not clean.",
            ("dir", "topic", "partition", "result"),
            of=lambda row: row.result != CLEAN,
            join=max,
        ),
        Metric("results", "How many partitions and log dirs have a result.", ("result",), every=RESULTS),
    ),
    "startup": (
        *_of(
            StartupBrokerRow,
            Metric("outcome", "1 for what becomes of a broker.", ("broker_id", "outcome"), join=max),
            Metric(
                "log_dir_outcome",
                "1 for what becomes of a log dir.",
                ("broker_id", "dir", "outcome"),
                each="log_dirs",
                join=max,
            ),
            Metric(
                "lost_records",
                "Records that cannot be read after the start; no series where damage hides the number.",
                BY_NODE,
                "records_lost",
            ),
            Metric("read_bytes", "Bytes of logs that the start reads.", BY_NODE, "bytes_read"),
            Metric("needed_bytes", "Bytes of disk that the start takes, at least.", BY_NODE, "bytes_needed"),
            Metric("estimated_seconds", "How long the start reads, about.", BY_NODE, "seconds"),
        ),
        *_of(
            StartupRow,
            Metric(
                "replicas",
                "Replicas by what becomes of them.",
                ("broker_id", "outcome"),
                every=get_args(ReplicaOutcome),
            ),
            Metric(
                "replica_outcome",
                "1 for a replica that does not load, or whose records are lost, all or some.",
                (*BY_TOPIC, "partition", "dir", "outcome"),
                of=is_bad_news,
                join=max,
            ),
        ),
        *_of(
            StartupReleaseRow,
            Metric(
                "release_outcome",
                "1 for what becomes of a broker of a release.",
                ("broker_id", "kafka_version", "outcome"),
                join=max,
            ),
        ),
    ),
    "ls": (
        *_of(
            PartitionRow,
            Metric(
                "partitions",
                "Partition directories by state.",
                ("broker_id", "state"),
                every=DIRECTORY_STATES,
            ),
            Metric("segments", "Segments on disk.", BY_TOPIC, "segments"),
            Metric("log_bytes", "Bytes of logs.", BY_TOPIC, "log_bytes"),
            Metric("disk_bytes", "Bytes that all files take on disk.", BY_TOPIC, "disk_bytes"),
            Metric("log_dir_disk_bytes", "The same by log dir.", BY_LOG_DIR, "disk_bytes"),
            Metric(
                "leftover_files",
                "Files that an interrupted deletion, cleaning or swap left.",
                BY_LOG_DIR,
                "leftovers",
            ),
            Metric(
                "unknown_log_ends",
                "Partitions whose log end offset cannot be read.",
                BY_TOPIC,
                of=lambda row: row.log_end_offset is None and row.state == DIRECTORY_STATES[0],
            ),
        ),
        *_of(
            DiskSumRow,
            Metric("sum_partitions", "Partition directories, with --by.", BY_SUM, "partitions"),
            Metric("sum_log_bytes", "Bytes of logs, with --by.", BY_SUM, "log_bytes"),
            Metric("sum_disk_bytes", "Bytes that files take on disk, with --by.", BY_SUM, "disk_bytes"),
            Metric(
                "sum_leaving_bytes",
                "Bytes on disk that a running broker frees by itself, with --by.",
                BY_SUM,
                "leaving_bytes",
            ),
        ),
    ),
    "rlmm check": _of(
        RemoteCheckRow,
        Metric(
            "result",
            "1 for the result of a partition that is not clean.",
            ("topic", "partition", "result"),
            of=lambda row: row.result != CLEAN,
            join=max,
        ),
        Metric("results", "How many partitions have a result.", ("result",), every=RESULTS[:3]),
        Metric("copied_segments", "Remote segments that can be read.", ONE_TOPIC, "copied"),
        Metric("superseded_segments", "Remote segments that no offset leads to.", ONE_TOPIC, "superseded"),
        Metric(
            "unfinished_copies",
            "Copies to remote storage that are not finished.",
            ONE_TOPIC,
            "unfinished_copies",
        ),
        Metric(
            "unfinished_deletions",
            "Deletions in remote storage that are not finished.",
            ONE_TOPIC,
            "unfinished_deletions",
        ),
        Metric("remote_bytes", "Bytes of remote segments.", ONE_TOPIC, "remote_bytes"),
    ),
    "retention": (
        *_of(
            RetentionPartitionRow,
            Metric("log_bytes", "Bytes of logs.", BY_TOPIC, "size"),
            Metric(
                "deletable_bytes",
                "Bytes of segments that the next look deletes, where that is known.",
                BY_TOPIC,
                "deletable_bytes",
            ),
            Metric(
                "unknown_partitions",
                "Partitions of which it is not known what goes.",
                BY_TOPIC,
                of=lambda row: row.deletable_bytes is None,
            ),
        ),
        *_of(
            RetentionRow,
            Metric(
                "blocked_bytes",
                "Bytes of segments that are past their time behind an older one that stays.",
                BY_TOPIC,
                "size",
                of=lambda row: row.blocked_by is not None,
            ),
        ),
        *_of(
            RetentionPartitionRow,
            Metric(
                "future_partitions",
                "Partitions with timestamps ahead of the clock.",
                BY_TOPIC,
                of=lambda row: row.future_timestamps,
            ),
            Metric(
                "cleanable_bytes",
                "Bytes that a cleaning would read of compacted logs.",
                BY_TOPIC,
                "cleanable_bytes",
            ),
            Metric("dirty_ratio", "Largest dirty ratio of a compacted log.", BY_TOPIC, "dirty_ratio", max),
            Metric(
                "uncleanable_partitions",
                "Compacted logs that the cleaner does not clean, or only up to an open transaction.",
                (*BY_TOPIC, ("reason", lambda row: row.uncleanable_because)),
                of=lambda row: row.uncleanable_because in STOPS_CLEANING,
            ),
        ),
    ),
    "group offsets": _of(
        GroupOffsetRow,
        Metric(
            "lag",
            "High watermarks, else log ends, less committed offsets that are not beyond them.",
            BY_GROUP,
            "lag",
            of=lambda row: _counts(row) and row.lag is not None and row.lag >= 0,
        ),
        Metric(
            "partitions",
            "Partitions by what a consumer finds at its committed offset.",
            (*BY_GROUP, "position"),
            of=_counts,
        ),
        Metric(
            "unknown_lag_partitions",
            "Partitions whose lag is not known: their log is not here.",
            BY_GROUP,
            of=lambda row: _counts(row) and row.lag is None,
        ),
        Metric(
            "waiting_partitions",
            "Partitions whose consumer waits for ever: no leader has the epoch of its commit.",
            BY_GROUP,
            of=lambda row: row.waits,
        ),
        Metric(
            "last_commit_timestamp_seconds",
            "When the group committed last.",
            BY_GROUP,
            "commit_timestamp",
            max,
            _counts,
        ),
    ),
    "txn open": _of(
        OpenTransactionRow,
        Metric(
            "transactions",
            "Open transactions by whether they hang.",
            (*BY_TOPIC, ("hanging", lambda row: "unknown" if row.hanging is None else row.hanging)),
        ),
        Metric(
            "hanging",
            "1 for a transaction that no end marker will end.",
            (*BY_TOPIC, "partition", "producer_id"),
            of=lambda row: row.hanging,
            join=max,
        ),
        Metric(
            "waiting_records",
            "Most records that wait behind the last stable offset of a partition.",
            BY_TOPIC,
            "records_waiting",
            max,
        ),
        Metric(
            "oldest_start_timestamp_seconds",
            "When the oldest open transaction began.",
            BY_TOPIC,
            "start_timestamp",
            min,
        ),
    ),
}
