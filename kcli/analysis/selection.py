"""Which batches and records of a log are wanted: by offset, time, leader epoch, producer, flags, codec, contents.

A header can only rule a batch out. Times of records need not grow with their
offsets, so a batch whose largest timestamp lies behind the wanted range may
still hold a record inside it: then its records decide.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from formats.batch import COMPRESSION_NAMES
from formats.message_set import LegacyRecord
from formats.record import Record
from kcli.logdir.segment import Header

LOWEST, HIGHEST = -(2**63), 2**63 - 1
LOG_APPEND_TIME = "LogAppendTime"

AnyRecord: TypeAlias = Record | LegacyRecord
Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of a batch or a record; None, or empty, asks nothing. Ranges are inclusive, times in epoch ms.

    `key` is the whole key; `grep` is a regular expression that is searched in key, value, header keys and header values.
    """

    offsets: Range | None = None
    times: Range | None = None
    epochs: frozenset[int] = frozenset()
    producer_ids: frozenset[int] = frozenset()
    transactional: bool | None = None
    control: bool | None = None
    codecs: frozenset[str] = frozenset()
    key: bytes | None = None
    grep: bytes | None = None

    def __bool__(self) -> bool:
        return bool(
            self.epochs
            or self.producer_ids
            or self.codecs
            or any(
                asked is not None
                for asked in (self.offsets, self.times, self.transactional, self.control, self.key, self.grep)
            )
        )

    @property
    def contents(self) -> bool:
        """Whether keys, values or headers of records are asked about."""
        return self.key is not None or self.grep is not None


def can_hold(wanted: Wanted, header: Header) -> bool:
    """Whether a batch may hold a wanted record, as far as its header tells."""
    return (
        (
            wanted.offsets is None
            or (_first(header) <= wanted.offsets[1] and header.last_offset >= wanted.offsets[0])
        )
        and (wanted.times is None or header.max_timestamp >= wanted.times[0])
        and (not wanted.epochs or header.partition_leader_epoch in wanted.epochs)
        and (not wanted.producer_ids or header.producer_id in wanted.producer_ids)
        and (wanted.transactional is None or header.is_transactional is wanted.transactional)
        and (wanted.control is None or header.is_control is wanted.control)
        and (not wanted.codecs or COMPRESSION_NAMES.get(header.codec, str(header.codec)) in wanted.codecs)
    )


def holds(wanted: Wanted, header: Header, records: Iterable[AnyRecord]) -> bool:
    """Whether a batch that may hold a wanted record holds one; its records are read only where the header leaves it open."""
    if wanted.times is not None and header.max_timestamp > wanted.times[1]:
        return header.timestamp_type != LOG_APPEND_TIME and any(
            wanted.times[0] <= record.timestamp <= wanted.times[1] for record in records
        )
    return True


def is_wanted(wanted: Wanted, record: AnyRecord) -> bool:
    """Whether a record of a batch that may hold wanted ones is wanted itself."""
    return (
        (wanted.offsets is None or wanted.offsets[0] <= record.offset <= wanted.offsets[1])
        and (wanted.times is None or wanted.times[0] <= record.timestamp <= wanted.times[1])
        and (wanted.key is None or record.key == wanted.key)
        and (wanted.grep is None or _has(wanted.grep, record))
    )


def _first(header: Header) -> int:
    """Return the lowest offset that a batch can hold: a wrapper of magic 0 or 1 is stored with its last."""
    return header.base_offset if header.records_count is not None else LOWEST


def _has(pattern: bytes, record: AnyRecord) -> bool:
    search = searcher(pattern)
    if any(search(data) for data in (record.key, record.value) if data is not None):
        return True
    headers = record.headers if isinstance(record, Record) else ()
    return any(search(key) or (value is not None and search(value)) for key, value in headers)


@cache
def searcher(pattern: bytes) -> Callable[[bytes], re.Match[bytes] | None]:
    """Return what looks for a regular expression in bytes."""
    return re.compile(pattern).search
