"""The views of `dump`: batches, records, entries of indexes, and what small files say."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.long_values import beginning
from kcli.output.screen import ASCII, Screen
from kcli.output.table.bars import of_largest
from kcli.output.table.grid import (
    AT_RIGHT,
    COUNT,
    NUMBER,
    RANGE,
    SIZE,
    TEXT,
    TIME,
    DrawnColumn,
    Kind,
    ShownColumn,
)
from kcli.output.table.marks import joined
from kcli.output.table.tables import TableView, draw_table, time_column
from kcli.output.units import counted, moment, number, size
from kcli.output.values import cell, one_line
from kcli.rows.dump import DumpBatchRow, DumpRecordRow

NONE = -1
UNCOMPRESSED = "none"
BAD_CHECKSUM = "wrong checksum"
MOST_BYTES = 300
"""Of a key or a value: no terminal shows more in a column."""
LEAST_KEY, LEAST_VALUE = 10, 24
"""Characters of a key and of a value that are shown at least, where there is room."""
MOST_FIRST = 40
"""Characters of the first field of a decoded value that are never cut."""
TRANSACTION_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
"""By transactionStatus of a TransactionLogValue, as Kafka's TransactionState names them."""


def _or_null(value: int | None) -> int | None:
    return None if value == NONE else value


def draw_batches(
    rows: Sequence[DumpBatchRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield batches with bars of their sizes, and their flags in words."""
    time, day = time_column("NEWEST", "max_timestamp", rows, rank=4)
    view = TableView(
        columns=(
            ShownColumn("AT BYTE", "position", NUMBER),
            ShownColumn("OFFSETS", _offsets, RANGE),
            ShownColumn("COUNT", "count", COUNT, rank=2),
            ShownColumn("SIZE", "size", SIZE),
            DrawnColumn("", of_largest(lambda row: row.size), least=4, most=16, rank=8),
            ShownColumn(
                "CODEC", lambda row: "" if row.compression == UNCOMPRESSED else row.compression, rank=1
            ),
            ShownColumn("EPOCH", lambda row: _or_null(row.partition_leader_epoch), NUMBER, rank=3),
            ShownColumn("PRODUCER", _producer, AT_RIGHT, rank=5),
            time,
            ShownColumn(
                "FLAGS", _flags, rank=1, style=lambda text: "bold red" if BAD_CHECKSUM in text else "yellow"
            ),
        ),
        closing=_batch_total,
        facts=lambda _: day,
    )
    yield from draw_table(view, rows, screen, findings)


def _offsets(row: DumpBatchRow) -> tuple[int, int]:
    return min(row.base_offset, row.last_offset), row.last_offset + 1


def _producer(row: DumpBatchRow) -> str | None:
    return None if row.producer_id == NONE else f"{row.producer_id}/{row.producer_epoch}"


def _flags(row: DumpBatchRow) -> str:
    return joined(
        (
            "" if row.is_valid else BAD_CHECKSUM,
            "control" if row.is_control else "",
            "transactional" if row.is_transactional and not row.is_control else "",
            "LogAppendTime" if row.timestamp_type == "LogAppendTime" else "",
            "delete horizon" if row.delete_horizon_ms is not None else "",
            f"magic {row.magic}" if row.magic < 2 else "",
        )
    )


def _batch_total(rows: Sequence[DumpBatchRow]) -> str:
    codecs = Counter(row.compression for row in rows)
    records = sum(row.count or 0 for row in rows)
    bad = sum(not row.is_valid for row in rows)
    read = size(sum(row.size for row in rows))
    held = f"{counted(len(rows), 'batch', 'batches')}, {counted(records, 'record')}, {read}"
    used = (
        joined(f"{number(count)} {codec}" for codec, count in codecs.most_common())
        if set(codecs) != {UNCOMPRESSED}
        else ""
    )
    checksums = f"{counted(bad, BAD_CHECKSUM)}." if bad else "Every checksum is right."
    return f"{held}{f' ({used})' if used else ''}. {checksums}"


def draw_records(
    rows: Sequence[DumpRecordRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield records with the beginnings of their keys and values; those of internal topics decoded."""
    time, day = time_column("TIME", "timestamp", rows, rank=2)
    key = ShownColumn("KEY", _key, CONTENTS, least=LEAST_KEY, style="cyan")
    if any(row.decoded_key is not None for row in rows):  # a group, a transaction: never cut
        key = key._replace(least=None, may_overflow=True)
    view = TableView(
        columns=(
            ShownColumn("OFFSET", "offset", NUMBER),
            time,
            key,
            ShownColumn("VALUE", _value, CONTENTS, least=_value_width(rows), style=_value_style),
            ShownColumn("HEADERS", _headers, rank=1, least=8),
        ),
        closing=_record_total,
        facts=lambda _: day,
    )
    yield from draw_table(view, rows, screen, findings)


def _key(row: DumpRecordRow) -> Any:
    """Return the key; of a decoded one its values, which say what the record is about."""
    if row.control_type is not None:
        return ""
    if row.decoded_key is None:
        return row.key
    return "/".join(_field(value) for value in row.decoded_key.values())


def _value_width(rows: Sequence[DumpRecordRow]) -> int:
    """Return how narrow the values may become: the first field of a decoded one, an offset, stays whole."""
    firsts = (
        len(_decoded(row.decoded_value).partition(" ")[0]) for row in rows if row.decoded_value is not None
    )
    return min(max(firsts, default=LEAST_VALUE), MOST_FIRST) + len(ASCII.more)


def _value(row: DumpRecordRow) -> Any:
    if row.error is not None:
        return f"{row.error}"
    if row.control_type is not None:
        return f"{row.control_type} marker"
    if row.decoded_value is not None:
        return _decoded(row.decoded_value)
    return row.value


def _decoded(value: dict[str, Any]) -> str:
    """Return the fields of a decoded value in words; of a transaction its state and partitions first."""
    rest = dict(value)
    words = []
    status = rest.pop("transactionStatus", None)
    if isinstance(status, int):
        known = status in range(len(TRANSACTION_STATES))
        partitions = rest.pop("transactionPartitions", None) or []
        words = [TRANSACTION_STATES[status] if known else f"transactionStatus={status}"]
        words += [f"{one['topic']}-{number}" for one in partitions for number in one["partitionIds"]]
    return " ".join(
        [*words, *(f"{name}={_field(inside)}" for name, inside in rest.items() if inside is not None)]
    )


def _field(value: Any) -> str:
    return value[:MOST_BYTES] if isinstance(value, str) else beginning(value, MOST_BYTES)


def _value_style(value: Any) -> str:
    return "dim" if value is None else ""


def _contents(value: Any) -> str:
    """Return the beginning of a key or value: text as it is, other bytes in hex, the rest as JSON."""
    if isinstance(value, bytes):
        try:
            text = value[:MOST_BYTES].decode()
        except UnicodeDecodeError as error:
            # a character that is cut in two is no reason for hex
            text = (
                value[: error.start].decode()
                if error.start > MOST_BYTES - 4
                else f"0x{value[:MOST_BYTES].hex()}"
            )
        return one_line(text)
    return one_line(
        value[:MOST_BYTES]
        if isinstance(value, str)
        else beginning(value, MOST_BYTES)
        if isinstance(value, (list, dict))
        else cell(value)
    )


CONTENTS = Kind(lambda value, _: _contents(value))


def _headers(row: DumpRecordRow) -> str:
    return joined(
        f"{one_line(header.key)}={'' if header.value is None else _contents(header.value)}"
        for header in row.headers
    )


def _record_total(rows: Sequence[DumpRecordRow]) -> str:
    controls = sum(row.control_type is not None for row in rows)
    bad = sum(row.error is not None for row in rows)
    return (
        joined(
            (
                counted(len(rows), "record"),
                counted(controls, "control record") if controls else "",
                f"{number(bad)} not decoded" if bad else "",
            )
        )
        + "."
    )


def _entries(rows: Sequence[Any]) -> str:
    return f"{counted(len(rows), 'entry', 'entries')}."


OFFSET_INDEX = TableView(
    columns=(ShownColumn("OFFSET", "offset", NUMBER), ShownColumn("AT BYTE", "position", NUMBER)),
    closing=_entries,
)
TIME_INDEX = TableView(
    columns=(
        ShownColumn("LARGEST TIMESTAMP (UTC)", "timestamp", Kind(lambda ms, _: moment(ms, with_ms=True))),
        ShownColumn("EPOCH MS", "timestamp", NUMBER, rank=1),
        ShownColumn("OFFSET", "offset", NUMBER),
    ),
    closing=_entries,
)
TXN_INDEX = TableView(
    columns=(
        ShownColumn("PRODUCER", "producer_id", NUMBER),
        ShownColumn("ABORTED OFFSETS", lambda row: (row.first_offset, row.last_offset + 1), RANGE),
        ShownColumn("LAST STABLE OFFSET", "last_stable_offset", NUMBER),
    ),
    closing=lambda rows: f"{counted(len(rows), 'aborted transaction')}.",
)
PRODUCERS = TableView(
    columns=(
        ShownColumn("PRODUCER", "producer_id", NUMBER),
        ShownColumn("EPOCH", "producer_epoch", NUMBER),
        ShownColumn("LAST SEQUENCE", "last_sequence", NUMBER),
        ShownColumn("LAST OFFSET", "last_offset", NUMBER),
        ShownColumn("LAST SEEN (UTC)", lambda row: _or_null(row.last_timestamp), TIME, rank=2),
        ShownColumn("OPEN TRANSACTION FROM", "current_txn_first_offset", NUMBER, rank=1, style="yellow"),
        ShownColumn("COORDINATOR EPOCH", lambda row: _or_null(row.coordinator_epoch), NUMBER, rank=3),
    ),
    closing=lambda rows: f"{counted(len(rows), 'producer')}.",
)
LEADER_EPOCHS = TableView(
    columns=(ShownColumn("EPOCH", "epoch", NUMBER), ShownColumn("BEGINS AT", "start_offset", NUMBER)),
    closing=_entries,
)
CHECKPOINTED_OFFSETS = TableView(columns=(ShownColumn("OFFSET", "offset", NUMBER),), closing=_entries)
META_PROPERTIES = TableView(
    columns=(
        ShownColumn("NODE", "node_id", NUMBER),
        ShownColumn("DIRECTORY ID", "directory_id"),
        ShownColumn("VERSION", "version", NUMBER),
    ),
)
PARTITION_METADATA = TableView(
    columns=(ShownColumn("TOPIC ID", "topic_id"), ShownColumn("VERSION", "version", NUMBER)),
)
QUORUM_STATE = TableView(
    columns=(
        ShownColumn("LEADER", lambda row: _or_null(row.leader_id), NUMBER),
        ShownColumn("EPOCH", "leader_epoch", NUMBER),
        ShownColumn("VOTED FOR", lambda row: _or_null(row.voted_id), NUMBER),
        ShownColumn("VOTED DIRECTORY", "voted_directory_id", rank=1),
        ShownColumn(
            "VOTERS",
            lambda row: None if row.current_voters is None else joined(map(str, row.current_voters)),
            rank=1,
        ),
        ShownColumn("VERSION", "data_version", NUMBER),
    ),
)
CLEAN_SHUTDOWN = TableView(columns=(ShownColumn("BROKER EPOCH", "broker_epoch", NUMBER),))
SEGMENT_MANIFEST = TableView(
    columns=(
        ShownColumn("LOG", "original_file_size", SIZE),
        ShownColumn("STORED", "stored_size", SIZE),
        ShownColumn("CHUNKS", "chunks", NUMBER),
        ShownColumn("OF", "original_chunk_size", SIZE, rank=1),
        ShownColumn("COMPRESSED", "is_compressed"),
        ShownColumn("ENCRYPTED WITH", "encryption_key_id"),
    ),
)
LAYOUT = TableView(
    columns=(
        ShownColumn("AT BYTE", "position", NUMBER),
        ShownColumn("SIZE", "size", NUMBER),
        ShownColumn("STRUCTURE", "structure", least=12),
        ShownColumn("FIELD", "field"),
        ShownColumn("VALUE", "value", least=12, style="bold"),
        ShownColumn("MEANING", "meaning", rank=1, least=16, style="dim"),
    ),
)
FILES = TableView(
    columns=(ShownColumn("KIND", "kind", TEXT), ShownColumn("SIZE", "size_bytes", SIZE)),
    closing=lambda rows: f"{counted(len(rows), 'file')}.",
)
