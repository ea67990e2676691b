"""Summaries counted batch by batch, and logs to count: what the bulk readers are compared with."""

import random

from formats.magic import is_legacy
from kcli.kafka.integrity import summary as summaries
from kcli.kafka.integrity.damaged import VerifiedBatch, verified_batches
from kcli.kafka.integrity.log_scan import Defects, scan_log
from kcli.kafka.integrity.summary import Codec, Summary, Tally
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import DamagedRange
from tests.builders import put_record, put_records
from tests.partitions import put_range

ABORTED, COMMITTED = 0, 1
TRANSACTIONAL, CONTROL = 0x10, 0x20


def marker(base, producer, kind=COMMITTED, key_version=0, codec=0, **record):
    key = key_version.to_bytes(2, "big") + kind.to_bytes(2, "big")
    fields = {"key": key, "value": bytes(6), **record}
    return put_records(
        [put_record(**fields)],
        codec,
        base_offset=base,
        producer_id=producer,
        attributes=TRANSACTIONAL | CONTROL,
    )


def in_transaction(base, producer, count=2):
    return put_range(
        base, count, producer_id=producer, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL
    )


def plain(data, path, verify=True):
    """The numbers of a log, batch by batch, from the plain readers; and its damage."""
    path.write_bytes(data)
    with DataFile(str(path)) as file:
        items = list(verified_batches(file, 0))
    met = [item for item in items if isinstance(item, VerifiedBatch)]
    valid = [item for item in met if item.valid]
    believed = valid if verify else met
    headers = [item.batch.header for item in believed]
    wrappers = [is_legacy(header.magic) and header.records_count < 0 for header in headers]
    missing, backwards = [], []
    for before, header, is_wrapper in zip(headers, headers[1:], wrappers[1:], strict=False):
        if header.base_offset <= before.last_offset:
            backwards.append(header.base_offset)
        elif header.base_offset > before.last_offset + 1 and not is_wrapper:
            missing.append(before.last_offset + 1)
    epochs = [header.partition_leader_epoch for header in headers if header.partition_leader_epoch != -1]
    opened, ended = {}, set()
    for item, header in zip(believed, headers, strict=True):
        if header.is_control and header.producer_id != -1 and ends(item.raw):
            opened.pop(header.producer_id, None)
            ended.add(header.producer_id)
        elif header.is_transactional and not header.is_control:
            opened.setdefault(header.producer_id, header.base_offset)
    sizes = [[header.size for header in headers if header.codec == codec] for codec in range(8)]
    summary = Summary(
        batches=len(met),
        bytes=sum(map(sum, sizes)),
        largest=max((header.size for header in headers), default=0),
        valid=len(valid) if verify else 0,
        invalid=len(met) - len(valid) if verify else 0,
        unchecked=0 if verify else len(met),
        records=sum(max(header.records_count, 0) for header in headers),
        uncounted=sum(wrappers),
        base_offset=headers[0].base_offset if headers else None,
        begins_before=wrappers[:1] == [True],
        last_offset=headers[-1].last_offset if headers else None,
        min_timestamp=min(filter(is_known, map(begins, headers)), default=None),
        max_timestamp=max(filter(is_known, (header.max_timestamp for header in headers)), default=None),
        first_epoch=epochs[0] if epochs else None,
        last_epoch=epochs[-1] if epochs else None,
        epochs=frozenset(epochs),
        producers=frozenset(header.producer_id for header in headers if header.producer_id != -1),
        transactional=sum(header.is_transactional for header in headers),
        control=sum(header.is_control for header in headers),
        transactions=summaries.Transactions(opened, frozenset(ended)),
        codecs=tuple(Codec(len(each), sum(each)) for each in sizes),
        gaps=Tally(len(missing), missing[0] if missing else None),
        backwards=Tally(len(backwards), backwards[0] if backwards else None),
    )
    return summary, [item for item in items if isinstance(item, DamagedRange)], items[-1]


def begins(header):
    """The first timestamp of a batch, its largest where the header does not have it."""
    has_it = not is_legacy(header.magic) and header.delete_horizon_ms is None
    has_it = has_it and header.timestamp_type != "LogAppendTime"
    return header.base_timestamp if has_it else header.max_timestamp


def is_known(timestamp):
    return timestamp != -1


def ends(raw):
    from formats.control import control_key, control_record
    from formats.errors import FormatError
    from formats.record import batch_records

    try:
        record = next(batch_records(raw, 1 << 20), None)
        if record is None or control_key(record.key).type not in {ABORTED, COMMITTED}:
            return False
        return control_record(record.key, record.value).value is not None
    except FormatError:
        return False


def read(path, **selected):
    with DataFile(str(path)) as file:
        return scan_log(file, **selected)


def compare(path, data):
    expected, gaps, stop = plain(data, path)
    piece = read(path)
    assert piece.summary == expected
    assert (list(piece.gaps), piece.stop) == (gaps, stop)
    assert (piece.gap_count, piece.size) == (len(gaps), len(data))
    assert piece.defects.get("LOG-003", Defects()).batches == expected.invalid
    return piece


def random_batches(seed, count=12):
    rng = random.Random(seed)
    found, offset = [], 0
    for _ in range(count):
        offset += rng.choice([0, 0, 0, 1, 5, -3])
        base, producer = max(offset, 0), rng.randrange(4)
        made = rng.choice([in_transaction, in_transaction, marker, put_range])
        if made is put_range:
            found.append(
                put_range(
                    base,
                    2,
                    epoch=rng.choice([-1, 3, 4]),
                    timestamp=rng.choice([-1, 10, 99]),
                    producer_id=rng.choice([-1, 9]),
                )
            )
        else:
            found.append(made(base, producer))
        offset = base + (1 if made is marker else 2)
    return found
