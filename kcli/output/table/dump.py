"""The views of `dump`: batches, records, entries of indexes, and what small files say."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

from formats.messages.metadata import name_of_code
from formats.messages.transaction import TRANSACTION_STATES
from kcli.output.table.columns import ShownColumn, contents
from kcli.output.table.fitted_table import table
from kcli.output.table.table_view import TableInput, TableView, table_view
from kcli.output.units import counted, joined, moment, size, sums, tally
from kcli.output.values import one_line
from kcli.rows.dump import DumpBatchRow, DumpRecordRow

NONE = -1
UNCOMPRESSED = "none"
BAD_CHECKSUM = "wrong checksum"
METADATA_TYPE, TRANSACTION_STATUS = "_RECORD", "transactionStatus"
METADATA_FIRST = ("brokerId", "controllerId", "fenced", "inControlledShutdown", "leader")
Meaning: TypeAlias = Callable[[str, object], str | None]
"""What gives the name behind a code or an id in a field; None for others."""
LEAST_KEY, LEAST_DECODED_KEY, LEAST_VALUE = 10, 20, 28
"""Characters of a key and of a value that are shown at least, where there is room."""


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
    bad = sum(not row.is_valid for row in rows)
    records, length = sums(rows, "count", "size")
    total = f"{counted(len(rows), 'batch', 'batches')}, {counted(records, 'record')}, {size(length)}"
    used = f" ({tally(dict(codecs.most_common()))})" if set(codecs) != {UNCOMPRESSED} else ""
    return f"{total}{used}. {f'{counted(bad, BAD_CHECKSUM)}.' if bad else 'Every checksum is right.'}"


DUMP_BATCH = table_view(
    ShownColumn("AT BYTE", "position", "number"),
    ShownColumn("OFFSETS", lambda row: (min(row.base_offset, row.last_offset), row.last_offset + 1), "range"),
    ShownColumn("COUNT", "count", "count", rank=2),
    ShownColumn("SIZE", "size", "size"),
    ShownColumn("CODEC", lambda row: "" if row.compression == UNCOMPRESSED else row.compression, rank=1),
    ShownColumn("EPOCH", "partition_leader_epoch", "defined", rank=3),
    ShownColumn(
        "PRODUCER",
        lambda row: None if row.producer_id == NONE else f"{row.producer_id}/{row.producer_epoch}",
        "right text",
        rank=5,
    ),
    ShownColumn("NEWEST (UTC)", "max_timestamp", "time of day", rank=4),
    ShownColumn("FLAGS", _flags, rank=1, style=lambda text: "bold red" if BAD_CHECKSUM in text else "yellow"),
    closing=_batch_total,
)


def draw_dump_record(answer: TableInput) -> TableView:
    """Return the view of records, of internal topics decoded; one record alone is shown whole."""
    names = _topic_names(answer.rows)
    if len(answer.rows) == 1:
        fields = list(_fields(answer.rows[0], names))
        return table_view(below=lambda _, screen: [table(FIELD_COLUMNS, fields, screen)])
    is_metadata = any((row.record_type or "").endswith(METADATA_TYPE) for row in answer.rows)
    key = ShownColumn("KEY", _key, "contents", least=LEAST_KEY, style="cyan", is_cut=True)
    if any(row.decoded_key is not None for row in answer.rows):  # a group, a transaction: never cut
        key = key._replace(least=LEAST_DECODED_KEY, is_cut=False)
    return table_view(
        ShownColumn("OFFSET", "offset", "number"),
        ShownColumn("TIME (UTC)", "timestamp", "time of day", rank=2),
        *([] if is_metadata else [key]),
        ShownColumn(
            "VALUE",
            partial(_value, names=names),
            "contents",
            least=LEAST_VALUE,
            is_cut=True,
            style=lambda value: "dim" if value is None else "",
        ),
        ShownColumn("HEADERS", _headers, rank=1, least=8, is_cut=True),
        closing=_record_total,
    )


def _topic_names(rows: Sequence[DumpRecordRow]) -> dict[str, str]:
    """Return the names of topics by id: of the records here, else of the metadata log that they are from."""
    of_topics = [
        (row.source.where.dir, row.decoded_value)
        for row in rows
        if (row.record_type or "").endswith(METADATA_TYPE) and "topicId" in (row.decoded_value or ())
    ]
    names = {value["topicId"]: value["name"] for _, value in of_topics if value and "name" in value}
    if any(value and value["topicId"] not in names for _, value in of_topics):
        from kcli.kafka.kraft.metadata_loader import Metadata, metadata_in

        for log_dir in {os.path.dirname(path) for path, _ in of_topics}:
            if isinstance(metadata := metadata_in(log_dir), Metadata):
                names |= {topic.topic_id: topic.name for topic in metadata.image.removed}
                names |= {topic_id: topic.name for topic_id, topic in metadata.image.topics.items()}
    return names


def _key(row: DumpRecordRow) -> Any:
    """Return the key; of a decoded one its values, which say what the record is about."""
    if row.control_type is not None:
        return ""
    if row.decoded_key is None:
        return row.key
    return "/".join(map(contents, row.decoded_key.values()))


def _value(row: DumpRecordRow, names: Mapping[str, str]) -> Any:
    """Return the value; of a record without a key its type first, and topics by their `names`."""
    if row.error is not None:
        return row.error
    if row.decoded_value is None:
        return row.value if row.control_type is None else f"{row.control_type} marker"
    if row.control_type is not None:
        return f"{row.control_type} {_of_quorum(row.decoded_value)}".rstrip()
    kind, is_metadata, _ = (row.record_type or "").partition(METADATA_TYPE)
    if not is_metadata:
        return _decoded(row.decoded_value)
    return f"{kind} {_of_metadata(kind, row.decoded_value, names)}".rstrip()


def _of_quorum(value: dict[str, Any]) -> str:
    """Return in words what a control record says; of a voters record each voter on its own."""
    fields = {field: item for field, item in value.items() if field != "version"}
    if not any("endpoints" in voter for voter in fields.get("voters", ())):
        return _decoded(fields)
    return ", ".join(
        " ".join(
            [
                str(voter["voterId"]),
                *map("{name}://{host}:{port}".format_map, voter["endpoints"]),
                f"directory.id {voter['voterDirectoryId']} kraft.version",
                "{minSupportedVersion}-{maxSupportedVersion}".format_map(voter["kRaftVersionFeature"]),
            ]
        )
        for voter in fields["voters"]
    )


def _of_metadata(kind: str, value: dict[str, Any], names: Mapping[str, str]) -> str:
    """Return in words what a record of the metadata log says: what it is about first."""
    fields = {field: name_of_code(field, code, kind) or code for field, code in value.items()}
    topic_id, partition, subject = fields.pop("topicId", None), fields.pop("partitionId", None), []
    if kind == "CONFIG":
        resource = str(fields.pop("resourceType")).lower().replace("_", "-")
        subject = [resource, fields.pop("resourceName") or "(default)"]
        subject.append(f"{fields.pop('name')}={fields.pop('value')}")
    elif kind == "FEATURE_LEVEL":
        subject = [f"{fields.pop('name')}={fields.pop('featureLevel')}"]
    elif topic_id is not None:
        name = fields.pop("name", None)
        subject = [name or names.get(topic_id, topic_id)]
        subject = subject if partition is None else [f"{subject[0]}-{partition}"]
        subject += [] if name is None else [f"topicId={topic_id}"]
    first = {field: fields.pop(field) for field in METADATA_FIRST if field in fields}
    return " ".join([*map(one_line, subject), _decoded({**first, **fields})])


def _decoded(value: dict[str, Any]) -> str:
    """Return the fields of a decoded value in words; of a transaction its state and partitions first."""
    fields = dict(value)
    parts = []
    status = fields.pop(TRANSACTION_STATUS, None)
    if status is not None:
        parts = [dict(enumerate(TRANSACTION_STATES)).get(status, f"transactionStatus={status}")]
        for topic in fields.pop("transactionPartitions", None) or []:
            parts += [f"{topic['topic']}-{partition}" for partition in topic["partitionIds"]]
    parts += [f"{name}={contents(field)}" for name, field in fields.items() if field is not None]
    return " ".join(parts)


def _headers(row: DumpRecordRow) -> str:
    return joined(
        f"{one_line(header.key)}={'' if header.value is None else contents(header.value)}"
        for header in row.headers
    )


Part: TypeAlias = tuple[str, str]
"""What is shown of one record on a line, or on several: its name, and the text."""


def _fields(row: DumpRecordRow, names: Mapping[str, str]) -> Iterator[Part]:
    """Yield what a record is and holds, each header and each field of a decoded value apart."""
    yield "offset", f"{row.offset}, in the batch at byte {row.position}"
    if row.timestamp >= 0:
        yield "time", f"{moment(row.timestamp, with_ms=True)} UTC"
    if row.sequence >= 0:
        yield "sequence", str(row.sequence)
    if row.record_type is not None or row.control_type is not None:
        version = "" if row.record_version is None else f", version {row.record_version}"
        yield "type", f"{row.record_type or f'{row.control_type} marker'}{version}"
    kind, is_metadata, _ = (row.record_type or "").partition(METADATA_TYPE)

    def meaning(field: str, value: object) -> str | None:
        if field == TRANSACTION_STATUS and isinstance(value, int):
            return dict(enumerate(TRANSACTION_STATES)).get(value)
        return name_of_code(field, value, kind) or names.get(str(value)) if is_metadata else None

    yield from _key_or_value("key", row.key, row.decoded_key, meaning)
    yield from _key_or_value("value", row.value, row.decoded_value, meaning)
    for header in row.headers:
        value = "null" if header.value is None else contents(header.value, sys.maxsize)
        yield "header", f"{one_line(header.key)} = {value}"
    if row.error is not None:
        yield "error", row.error


def _key_or_value(
    name: str, value: bytes | None, decoded: dict[str, Any] | None, meaning: Meaning
) -> Iterator[Part]:
    """Yield a key or a value, decoded where it can be, and how long it is; structures a line each."""
    length = "null" if value is None else counted(len(value), "byte")
    if value is None or decoded is not None:
        yield name, length
    else:
        yield f"{name}, {length}", contents(value, sys.maxsize)
    for field, item in (decoded or {}).items():
        for number, entry in enumerate(item if _has_structures(item) else [item]):
            text = _text_of(field, entry, meaning)
            yield "" if number else f"  {field}", text[1:-1] if isinstance(entry, dict) else text


def _has_structures(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _text_of(field: str, value: Any, meaning: Meaning) -> str:
    """Return a part of a decoded value, and behind a code or an id what it means."""
    if isinstance(value, dict):
        return f"{{{' '.join(f'{name}={_text_of(name, item, meaning)}' for name, item in value.items())}}}"
    if _has_structures(value):
        return f"[{', '.join(_text_of(field, item, meaning) for item in value)}]"
    text = "null" if value is None else contents(value, sys.maxsize)
    name = meaning(field, value)
    return text if name is None else f"{text} ({name})"


FIELD_COLUMNS = (ShownColumn("", itemgetter(0), style="dim"), ShownColumn("", itemgetter(1), least=20))


def _record_total(rows: Sequence[DumpRecordRow]) -> str:
    controls = sum(row.control_type is not None for row in rows)
    marked = counted(controls, "control record") if controls else ""
    bad = tally({"not decoded": sum(row.error is not None for row in rows)})
    return f"{joined((counted(len(rows), 'record'), marked, bad))}."


DUMP_PRODUCER = table_view(
    ShownColumn("PRODUCER", "producer_id", "number"),
    ShownColumn("EPOCH", "producer_epoch", "number"),
    ShownColumn("LAST SEQUENCE", "last_sequence", "number"),
    ShownColumn("LAST OFFSET", "last_offset", "number"),
    ShownColumn("LAST SEEN (UTC)", "last_timestamp", "time", rank=2),
    ShownColumn("OPEN TRANSACTION FROM", "current_txn_first_offset", "number", rank=1, style="yellow"),
    ShownColumn("COORDINATOR EPOCH", "coordinator_epoch", "defined", rank=3),
    closing=lambda rows: f"{counted(len(rows), 'producer')}.",
)
DUMP_LAYOUT = table_view(
    ShownColumn("AT BYTE", "position", "number"),
    ShownColumn("SIZE", "size", "number"),
    ShownColumn("STRUCTURE", "structure", least=12, is_cut=True),
    ShownColumn("FIELD", "field"),
    ShownColumn("VALUE", "value", least=12, style="bold", is_cut=True),
    ShownColumn("MEANING", "meaning", rank=1, least=16, style="dim", is_cut=True),
)
