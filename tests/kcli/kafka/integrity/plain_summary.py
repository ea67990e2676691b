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
    found = Summary()._asdict()
    counts = dict.fromkeys(
        (
            "batches",
            "bytes",
            "valid",
            "invalid",
            "unchecked",
            "records",
            "uncounted",
            "transactional",
            "control",
        ),
        0,
    )
    opened, ended, epochs, producers, codecs, previous, gaps, stop = (
        {},
        set(),
        set(),
        set(),
        {},
        None,
        [],
        None,
    )
    with DataFile(str(path)) as file:
        items = list(verified_batches(file, 0))
    for item in items:
        if isinstance(item, DamagedRange):
            gaps.append(item)
            continue
        if not isinstance(item, VerifiedBatch):
            stop = item
            continue
        header, raw = item.batch.header, item.raw
        counts["batches"] += 1
        counts[("valid" if item.valid else "invalid") if verify else "unchecked"] += 1
        if verify and not item.valid:
            continue
        counts["bytes"] += header.size
        found["largest"] = max(found["largest"], header.size)
        count = header.records_count
        is_wrapper = is_legacy(header.magic) and count < 0
        counts["records"] += max(count, 0)
        counts["uncounted"] += is_wrapper
        if previous is None:
            found["base_offset"], found["begins_before"] = header.base_offset, is_wrapper
        elif header.base_offset <= previous:
            found["backwards"] = Tally(
                found["backwards"].times + 1, first_of(found["backwards"], header.base_offset)
            )
        elif header.base_offset > previous + 1 and not is_wrapper:
            found["gaps"] = Tally(found["gaps"].times + 1, first_of(found["gaps"], previous + 1))
        previous = found["last_offset"] = header.last_offset
        late = not is_legacy(header.magic) and not (
            header.delete_horizon_ms is not None or header.timestamp_type == "LogAppendTime"
        )
        begins = header.base_timestamp if late else header.max_timestamp
        found["min_timestamp"] = min(
            (t for t in (found["min_timestamp"], begins) if t not in {None, -1}), default=None
        )
        found["max_timestamp"] = max(
            (t for t in (found["max_timestamp"], header.max_timestamp) if t not in {None, -1}), default=None
        )
        if header.partition_leader_epoch != -1:
            epochs.add(header.partition_leader_epoch)
            found["last_epoch"] = header.partition_leader_epoch
            if found["first_epoch"] is None:
                found["first_epoch"] = header.partition_leader_epoch
        if header.producer_id != -1:
            producers.add(header.producer_id)
        counts["transactional"] += header.is_transactional
        counts["control"] += header.is_control
        known = codecs.get(header.codec, Codec())
        codecs[header.codec] = Codec(known.batches + 1, known.bytes + header.size)
        if header.is_control and header.producer_id != -1 and ends(raw):
            opened.pop(header.producer_id, None)
            ended.add(header.producer_id)
        elif header.is_transactional and not header.is_control:
            opened.setdefault(header.producer_id, header.base_offset)
    found.update(counts)
    found["epochs"], found["producers"] = frozenset(epochs), frozenset(producers)
    found["transactions"] = summaries.Transactions(opened, frozenset(ended))
    found["codecs"] = tuple(codecs.get(number, Codec()) for number in range(8))
    return Summary(**found), gaps, stop


def first_of(tally, value):
    return tally.first if tally.times else value


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
