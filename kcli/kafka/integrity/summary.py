"""What a log holds, in numbers that add up: the summary of parts, in order, is that of the whole.

`merge` is associative and `EMPTY` its identity, so a segment may be split at any batch, and the summary of a
partition is that of its segments. A batch whose checksum is wrong is counted, and nothing else in it is
believed. A magic above 2 is read as 2, as Kafka does.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats import batch
from formats.bulk import Fields
from formats.magic import is_legacy

MOST_IDS = 10_000
"""Producers, epochs or transactions that are counted one by one; of more only that is known."""
NOT_OPENED = -1
CODEC_COUNT = batch.COMPRESSION_CODEC_MASK + 1

Ids: TypeAlias = frozenset[int] | None
"""Different numbers, or None for more than MOST_IDS of them."""


class Tally(NamedTuple):
    """How often something was met, and the offset at which it was first."""

    times: int = 0
    first: int | None = None


class Codec(NamedTuple):
    """Batches of one codec and their bytes; of `opened` ones those of records, stored and decompressed."""

    batches: int = 0
    bytes: int = 0
    packed: int = 0
    unpacked: int = 0
    opened: int = 0


class Transactions(NamedTuple):
    """Open transactions by producer, from their first batch on, and producers of whom one was ended."""

    open: Mapping[int, int]
    ended: frozenset[int]


class Summary(NamedTuple):
    """Batches in a row. Offsets are inclusive, sizes in bytes, times in ms; None where nothing is known.

    `uncounted` wrappers of magic 0 and 1 do not tell their `records`. `min_timestamp`: the smallest that a
    batch begins with. `gaps`: missing offsets, `first` the first; `backwards`: batches that begin at or below
    the last offset before. `producers`, `epochs`, `transactions` are None beyond MOST_IDS.
    """

    batches: int = 0
    bytes: int = 0
    largest: int = 0
    valid: int = 0
    invalid: int = 0
    unchecked: int = 0
    records: int = 0
    uncounted: int = 0
    base_offset: int | None = None
    begins_before: bool = False
    """Whether the first batch is a wrapper, whose offset is that of its last message."""
    last_offset: int | None = None
    min_timestamp: int | None = None
    max_timestamp: int | None = None
    first_epoch: int | None = None
    last_epoch: int | None = None
    epochs: Ids = frozenset()
    producers: Ids = frozenset()
    transactional: int = 0
    control: int = 0
    transactions: Transactions | None = Transactions({}, frozenset())
    codecs: tuple[Codec, ...] = (Codec(),) * CODEC_COUNT
    gaps: Tally = Tally()
    backwards: Tally = Tally()


EMPTY = Summary()


SUMS = (
    *("batches", "bytes", "valid", "invalid", "unchecked", "records", "uncounted"),
    *("transactional", "control"),
)
"""Fields of a summary that add up."""


def merge(a: Summary, b: Summary) -> Summary:
    """Return the summary of batches followed by other batches."""
    if not a.batches or not b.batches:
        return a if a.batches else b
    gaps, backwards = _between(a, b)
    return Summary(
        **{name: getattr(a, name) + getattr(b, name) for name in SUMS},
        largest=max(a.largest, b.largest),
        base_offset=b.base_offset if a.base_offset is None else a.base_offset,
        begins_before=b.begins_before if a.base_offset is None else a.begins_before,
        last_offset=a.last_offset if b.last_offset is None else b.last_offset,
        min_timestamp=_extreme(min, a.min_timestamp, b.min_timestamp),
        max_timestamp=_extreme(max, a.max_timestamp, b.max_timestamp),
        first_epoch=b.first_epoch if a.first_epoch is None else a.first_epoch,
        last_epoch=a.last_epoch if b.last_epoch is None else b.last_epoch,
        epochs=_union(a.epochs, b.epochs),
        producers=_union(a.producers, b.producers),
        transactions=_followed(a.transactions, b.transactions),
        codecs=tuple(
            Codec(*map(sum, zip(codec_a, codec_b, strict=True)))
            for codec_a, codec_b in zip(a.codecs, b.codecs, strict=True)
        ),
        gaps=gaps,
        backwards=backwards,
    )


def _extreme(choose: Any, a: int | None, b: int | None) -> int | None:
    values = [value for value in (a, b) if value is not None]
    return choose(values) if values else None


def _between(a: Summary, b: Summary) -> tuple[Tally, Tally]:
    """Return the gaps and backward steps of both, with what lies between them."""
    gap = back = None
    if a.last_offset is not None and b.base_offset is not None:
        if b.base_offset <= a.last_offset:
            back = b.base_offset
        elif b.base_offset > a.last_offset + 1 and not b.begins_before:
            gap = a.last_offset + 1
    return _tally(a.gaps, gap, b.gaps), _tally(a.backwards, back, b.backwards)


def _tally(a: Tally, between: int | None, b: Tally) -> Tally:
    first = a.first if a.times else b.first if between is None else between
    return Tally(a.times + (between is not None) + b.times, first)


def _union(a: Ids, b: Ids) -> Ids:
    return None if a is None or b is None else _bounded(a | b)


def _bounded(ids: frozenset[int]) -> Ids:
    return ids if len(ids) <= MOST_IDS else None


def _followed(a: Transactions | None, b: Transactions | None) -> Transactions | None:
    if a is None or b is None:
        return None
    if not (b.open or b.ended):
        return a
    still = {producer: offset for producer, offset in a.open.items() if producer not in b.ended}
    return _unless_too_many({**b.open, **still}, a.ended | b.ended)


def _unless_too_many(opened: dict[int, int], ended: frozenset[int]) -> Transactions | None:
    """Return the transactions, unless the producers that had any are too many."""
    return Transactions(opened, ended) if len(ended.union(opened)) <= MOST_IDS else None


def summary(
    fields: Fields,
    valid: NDArray[np.bool_] | None,
    ends: NDArray[np.bool_],
    packed: NDArray[np.int64] | None = None,
    unpacked: NDArray[np.int64] | None = None,
) -> Summary:
    """Return the summary of batches in a row; `valid` is None where checksums were not looked at.

    `ends`: markers. `packed`, `unpacked`: bytes of records stored and decompressed, NOT_OPENED, None: none.
    """
    batches = len(fields)
    if not batches:
        return EMPTY
    matching = 0 if valid is None else int(np.count_nonzero(valid))
    counted = Summary(
        batches=batches,
        valid=matching,
        invalid=0 if valid is None else batches - matching,
        unchecked=batches if valid is None else 0,
    )
    if valid is not None and not valid.all():
        fields, ends = fields[valid], ends[valid]
        packed, unpacked = (None if sizes is None else sizes[valid] for sizes in (packed, unpacked))
        if not len(fields):
            return counted
    return counted._replace(**_believed(fields, ends, packed, unpacked))


def _believed(
    fields: Fields,
    ends: NDArray[np.bool_],
    packed: NDArray[np.int64] | None,
    unpacked: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Return the fields of a summary that come from headers to be trusted, of one batch or more."""
    size = fields["batch_length"].astype(np.int64) + batch.LOG_OVERHEAD
    base = fields["base_offset"].astype(np.int64)
    last = base + fields["last_offset_delta"]
    count = fields["records_count"].astype(np.int64)
    old = is_legacy(fields["magic"])
    wrapper = old & (count < 0)
    attributes = np.where(
        old,
        fields["attributes"] & (batch.COMPRESSION_CODEC_MASK | batch.TIMESTAMP_TYPE_MASK),
        fields["attributes"],
    )
    transactional, control = attributes & batch.TRANSACTIONAL_MASK != 0, attributes & batch.CONTROL_MASK != 0
    epoch = fields["partition_leader_epoch"].astype(np.int64)
    epoch = epoch[epoch != batch.NO_PARTITION_LEADER_EPOCH]
    producer = fields["producer_id"].astype(np.int64)
    newest = fields["max_timestamp"].astype(np.int64)
    shifted = attributes & (batch.TIMESTAMP_TYPE_MASK | batch.DELETE_HORIZON_MASK) != 0
    oldest = np.where(shifted, newest, fields["base_timestamp"])
    oldest, newest = (times[times != batch.NO_TIMESTAMP] for times in (oldest, newest))
    # Nothing is subtracted where it would wrap: what is above another is not the lowest number.
    missing = ((base[1:] > last[:-1]) & (base[1:] - 1 > last[:-1]) & ~wrapper[1:]).nonzero()[0]
    backwards = (base[1:] <= last[:-1]).nonzero()[0]
    return {
        "bytes": int(size.sum()),
        "largest": int(size.max()),
        "records": int(count[count > 0].sum()),
        "uncounted": int(np.count_nonzero(wrapper)),
        "base_offset": int(base[0]),
        "begins_before": bool(wrapper[0]),
        "last_offset": int(last[-1]),
        "min_timestamp": int(oldest.min()) if len(oldest) else None,
        "max_timestamp": int(newest.max()) if len(newest) else None,
        "first_epoch": int(epoch[0]) if len(epoch) else None,
        "last_epoch": int(epoch[-1]) if len(epoch) else None,
        "epochs": _different(epoch),
        "producers": _different(producer[producer != batch.NO_PRODUCER_ID]),
        "transactional": int(np.count_nonzero(transactional)),
        "control": int(np.count_nonzero(control)),
        "transactions": _transactions(producer, base, transactional & ~control, ends),
        "codecs": _codecs(attributes & batch.COMPRESSION_CODEC_MASK, size, packed, unpacked),
        "gaps": Tally(len(missing), int(last[missing[0]]) + 1 if len(missing) else None),
        "backwards": Tally(len(backwards), int(base[backwards[0] + 1]) if len(backwards) else None),
    }


def _different(numbers: NDArray[np.int64]) -> Ids:
    """Return the different numbers: neighbours are mostly equal, so few are looked at."""
    if not len(numbers):
        return frozenset()
    changed = numbers[1:][numbers[1:] != numbers[:-1]]
    return _bounded(frozenset([int(numbers[0]), *changed.tolist()]))


def _transactions(
    producer: NDArray[np.int64], base: NDArray[np.int64], data: NDArray[np.bool_], ends: NDArray[np.bool_]
) -> Transactions | None:
    opened: dict[int, int] = {}
    ended: set[int] = set()
    indices = (data | ends).nonzero()[0]
    for number, offset, marker in zip(
        producer[indices].tolist(), base[indices].tolist(), ends[indices].tolist(), strict=True
    ):
        if marker:
            opened.pop(number, None)
            ended.add(number)
        elif number not in opened:
            opened[number] = offset
    return _unless_too_many(opened, frozenset(ended))


def _codecs(
    codec: NDArray[Any],
    size: NDArray[np.int64],
    packed: NDArray[np.int64] | None,
    unpacked: NDArray[np.int64] | None,
) -> tuple[Codec, ...]:
    codecs = [Codec()] * CODEC_COUNT
    for number in np.bincount(codec, minlength=CODEC_COUNT).nonzero()[0].tolist():
        is_codec = codec == number
        codecs[number] = Codec(int(np.count_nonzero(is_codec)), int(size[is_codec].sum()))
        if packed is not None and unpacked is not None:
            opened = is_codec & (packed != NOT_OPENED)
            sizes = int(packed[opened].sum()), int(unpacked[opened].sum())
            codecs[number] = codecs[number]._replace(
                packed=sizes[0], unpacked=sizes[1], opened=int(np.count_nonzero(opened))
            )
    return tuple(codecs)
