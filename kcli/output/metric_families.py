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


class Metric(NamedTuple):
    """One family of gauges: what it says of rows of a type.

    `name`: what comes after kcli_COMMAND_, with its unit. `labels`: names of columns, or of DERIVED. `value`:
    a column; of times it is written in seconds; None counts rows. A null has no series. `of`: which rows
    count. `join`: of rows with the same labels. `each`: a column of a list, whose items count one by one.
    `every`: values of the last label that always have a series.
    """

    name: str
    help: str
    labels: str
    value: str | None = None
    of: Callable[[Any], Any] = lambda _: True
    join: Callable[[Number, Number], Number] = lambda left, right: left + right
    each: str | None = None
    every: tuple[str, ...] = ()
    rows: RowType = RowType("", ())

    @property
    def is_time(self) -> bool:
        """Whether its value is a time: in rows milliseconds, -1 for none."""
        return any(column.name == self.value and column.kind == "timestamp" for column in self.rows.columns)

    def series(self, row: AnyRow, values: dict[str, Any]) -> Iterator[tuple[Labels, Number]]:
        """Yield the labels and the number of a row, or of each item in it; `values`: its columns."""
        if not self.of(row):
            return
        for item in ({},) if self.each is None else values[self.each]:
            facts = {**values, **item}
            number = 1 if self.value is None else facts[self.value]
            if number is None or (self.is_time and number < 0):
                continue
            labels = (DERIVED[name](row) if name in DERIVED else facts[name] for name in self.labels.split())
            yield tuple(map(_label, labels)), number / 1000 if self.is_time else number


def _label(value: object) -> str:
    """Return the value of a label; a null is an empty one, which to Prometheus is none."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


DERIVED: dict[str, Callable[[Any], object]] = {
    "log_dir": lambda row: os.path.dirname(row.where.dir) or ".",
    "reason": lambda row: row.uncleanable_because,
    "hanging": lambda row: "unknown" if row.hanging is None else row.hanging,
}
"""Labels that are no columns, or whose null has a word."""
RESULTS = (CLEAN, WARNING, DAMAGED, WILL_NOT_LOAD)
DIRECTORY_STATES = ("normal", "delete", "stray", "future")
REPLICA_OUTCOMES = get_args(ReplicaOutcome)
BY_TOPIC, BY_LOG_DIR, BY_SUM, BY_GROUP = "broker_id topic", "broker_id log_dir", "by name", "group_id topic"
STOPS_CLEANING = frozenset({"cleaning-failed", "log.cleaner.enable", "open-transaction"})


def _counts(row: Any) -> bool:
    """Whether a committed offset counts: no tombstone has removed it."""
    return row.removed_by is None


def _flag(name: str, text: str, labels: str, **fields: Any) -> Metric:
    """Return a metric that is 1 where any row has these labels."""
    return Metric(name, text, labels, join=max, **fields)


def _total(name: str, text: str, labels: str, **fields: Any) -> Metric:
    """Return a metric that sums up the column of its name."""
    return Metric(name, text, labels, name, **fields)


def _metrics_of(rows: type[AnyRow], *metrics: Metric) -> tuple[Metric, ...]:
    return tuple(metric._replace(rows=declared_type(rows)) for metric in metrics)


METRICS: dict[str, tuple[Metric, ...]] = {
    "check": _metrics_of(
        CheckRow,
        _flag(
            "result",
            "1 for the result of kcli check of a partition or a log dir that is not clean.",
            "dir topic partition result",
            of=lambda row: row.result != CLEAN,
        ),
        Metric("results", "How many partitions and log dirs have a result.", "result", every=RESULTS),
    ),
    "startup": _metrics_of(
        StartupBrokerRow,
        _flag("outcome", "1 for what becomes of a broker.", "broker_id outcome"),
        _flag(
            "log_dir_outcome", "1 for what becomes of a log dir.", "broker_id dir outcome", each="log_dirs"
        ),
        Metric(
            "lost_records",
            "Records that cannot be read after the start; no series where damage hides the number.",
            "broker_id",
            "records_lost",
        ),
        Metric("read_bytes", "Bytes of logs that the start reads.", "broker_id", "bytes_read"),
        Metric("needed_bytes", "Bytes of disk that the start takes, at least.", "broker_id", "bytes_needed"),
        Metric("estimated_seconds", "How long the start reads, about.", "broker_id", "seconds"),
    )
    + _metrics_of(
        StartupRow,
        Metric("replicas", "Replicas by what becomes of them.", "broker_id outcome", every=REPLICA_OUTCOMES),
        _flag(
            "replica_outcome",
            "1 for a replica that does not load, or whose records are lost, all or some.",
            f"{BY_TOPIC} partition dir outcome",
            of=is_bad_news,
        ),
    )
    + _metrics_of(
        StartupReleaseRow,
        _flag(
            "release_outcome",
            "1 for what becomes of a broker of a release.",
            "broker_id kafka_version outcome",
        ),
    ),
    "ls": _metrics_of(
        PartitionRow,
        Metric("partitions", "Partition directories by state.", "broker_id state", every=DIRECTORY_STATES),
        _total("segments", "Segments on disk.", BY_TOPIC),
        _total("log_bytes", "Bytes of logs.", BY_TOPIC),
        _total("disk_bytes", "Bytes that all files take on disk.", BY_TOPIC),
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
    )
    + _metrics_of(
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
    "rlmm check": _metrics_of(
        RemoteCheckRow,
        _flag(
            "result",
            "1 for the result of a partition that is not clean.",
            "topic partition result",
            of=lambda row: row.result != CLEAN,
        ),
        Metric("results", "How many partitions have a result.", "result", every=RESULTS[:3]),
        Metric("copied_segments", "Remote segments that can be read.", "topic", "copied"),
        Metric("superseded_segments", "Remote segments that no offset leads to.", "topic", "superseded"),
        _total("unfinished_copies", "Copies to remote storage that are not finished.", "topic"),
        _total("unfinished_deletions", "Deletions in remote storage that are not finished.", "topic"),
        _total("remote_bytes", "Bytes of remote segments.", "topic"),
    ),
    "retention": _metrics_of(
        RetentionPartitionRow,
        Metric("log_bytes", "Bytes of logs.", BY_TOPIC, "size"),
        _total(
            "deletable_bytes", "Bytes of segments that the next look deletes, where that is known.", BY_TOPIC
        ),
        Metric(
            "unknown_partitions",
            "Partitions of which it is not known what goes.",
            BY_TOPIC,
            of=lambda row: row.deletable_bytes is None,
        ),
    )
    + _metrics_of(
        RetentionRow,
        Metric(
            "blocked_bytes",
            "Bytes of segments that are past their time behind an older one that stays.",
            BY_TOPIC,
            "size",
            lambda row: row.blocked_by is not None,
        ),
    )
    + _metrics_of(
        RetentionPartitionRow,
        Metric(
            "future_partitions",
            "Partitions with timestamps ahead of the clock.",
            BY_TOPIC,
            of=lambda row: row.future_timestamps,
        ),
        _total("cleanable_bytes", "Bytes that a cleaning would read of compacted logs.", BY_TOPIC),
        _total("dirty_ratio", "Largest dirty ratio of a compacted log.", BY_TOPIC, join=max),
        Metric(
            "uncleanable_partitions",
            "Compacted logs that the cleaner does not clean, or only up to an open transaction.",
            f"{BY_TOPIC} reason",
            of=lambda row: row.uncleanable_because in STOPS_CLEANING,
        ),
    ),
    "group offsets": _metrics_of(
        GroupOffsetRow,
        _total(
            "lag",
            "High watermarks, else log ends, less committed offsets that are not beyond them.",
            BY_GROUP,
            of=lambda row: _counts(row) and row.lag is not None and row.lag >= 0,
        ),
        Metric(
            "partitions",
            "Partitions by what a consumer finds at its committed offset.",
            f"{BY_GROUP} position",
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
            _counts,
            max,
        ),
    ),
    "txn open": _metrics_of(
        OpenTransactionRow,
        Metric("transactions", "Open transactions by whether they hang.", f"{BY_TOPIC} hanging"),
        _flag(
            "hanging",
            "1 for a transaction that no end marker will end.",
            f"{BY_TOPIC} partition producer_id",
            of=lambda row: row.hanging,
        ),
        Metric(
            "waiting_records",
            "Most records that wait behind the last stable offset of a partition.",
            BY_TOPIC,
            "records_waiting",
            join=max,
        ),
        Metric(
            "oldest_start_timestamp_seconds",
            "When the oldest open transaction began.",
            BY_TOPIC,
            "start_timestamp",
            join=min,
        ),
    ),
}
