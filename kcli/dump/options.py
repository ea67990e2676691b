"""What `dump` shows, and how: which batches and records, by offset, time, epoch, producer, flags, contents.

A header can only rule a batch out. Times of records need not grow with their offsets, so a batch whose
largest timestamp lies after the range may still hold a record inside it: then its records decide.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from formats.batch import (
    COMPRESSION_CODEC_MASK,
    COMPRESSION_NAMES,
    CONTROL_MASK,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
)
from formats.bounds import LARGEST_BATCH
from formats.magic import is_legacy
from formats.names import (
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    REMOTE_LOG_METADATA,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from kcli.logdir.partition_names import file_name
from kcli.logdir.targets import Target

if TYPE_CHECKING:
    from numpy import bool_
    from numpy.typing import NDArray

    from formats.bulk import Fields
    from formats.record_columns import Ints, RecordColumns

Mask: TypeAlias = "NDArray[bool_]"

LOWEST, HIGHEST = -(2**63), 2**63 - 1

Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """What a batch or a record must have; None, or empty, for anything. Ranges are inclusive, times in ms.

    `key` is the whole key; `grep` is a regular expression, searched in key, value, header keys and values.
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

    def may_match(self, fields: "Fields") -> Mask:
        """Return which batches may hold a matching record, as far as their headers say."""
        import numpy as np

        attributes, is_v2 = fields["attributes"], ~is_legacy(fields["magic"])
        able = np.ones(len(fields), np.bool_)
        if self.offsets is not None:
            # a wrapper of magic 0 or 1 is stored with its last offset: it may begin anywhere before
            first = np.where(
                is_v2 | (attributes & COMPRESSION_CODEC_MASK == 0), fields["base_offset"], LOWEST
            )
            able &= (first <= self.offsets[1]) & (last_offsets(fields) >= self.offsets[0])
        if self.times is not None:
            able &= fields["max_timestamp"] >= self.times[0]
        if self.codecs:
            codecs = [
                codec
                for codec in range(COMPRESSION_CODEC_MASK + 1)
                if COMPRESSION_NAMES.get(codec, str(codec)) in self.codecs
            ]
            able &= np.isin(attributes & COMPRESSION_CODEC_MASK, codecs)
        for asked, name in ((self.epochs, "partition_leader_epoch"), (self.producer_ids, "producer_id")):
            if asked:
                able &= np.isin(fields[name], sorted(asked))
        for is_asked, mask in ((self.transactional, TRANSACTIONAL_MASK), (self.control, CONTROL_MASK)):
            if is_asked is not None:
                able &= ((attributes & mask != 0) & is_v2) == is_asked
        return able

    def is_open(self, fields: "Fields") -> Mask:
        """Return which of the batches that may match are shown only if one of their records does."""
        import numpy as np

        if self.contents:
            return np.ones(len(fields), np.bool_)
        if self.times is None:
            return np.zeros(len(fields), np.bool_)
        late: Mask = fields["max_timestamp"] > self.times[1]
        return late

    def rules_out(self, fields: "Fields") -> Mask:
        """Return which of the batches that may match have times, all of them after the range."""
        import numpy as np

        if self.times is None:
            return np.zeros(len(fields), np.bool_)
        appended = fields["attributes"] & TIMESTAMP_TYPE_MASK != 0
        late: Mask = appended & (fields["max_timestamp"] > self.times[1]) & (fields["magic"] > 0)
        return late

    def matches(self, columns: "RecordColumns") -> "Ints":
        """Return the numbers of the matching records, given batches that may match."""
        import numpy as np

        able = np.ones(len(columns.offset), np.bool_)
        for asked, values in ((self.offsets, columns.offset), (self.times, columns.timestamp)):
            if asked is not None:
                able &= (values >= asked[0]) & (values <= asked[1])
        if self.key is not None:
            able &= (columns.key_length == len(self.key)) & (self.key in columns.data)
            able[able] = [
                data == self.key
                for data in contents_at(columns.data, columns.key_start[able], columns.key_length[able])
            ]
        if self.grep is not None:
            able[able] = _contains(self.grep, columns, able.nonzero()[0])
        return able.nonzero()[0]


def last_offsets(fields: "Fields") -> "Ints":
    """Return the last offset of each batch, inclusive."""
    import numpy as np

    last: Ints = fields["base_offset"].astype(np.int64) + fields["last_offset_delta"].astype(np.int64)
    return last


def _contains(pattern: bytes, columns: "RecordColumns", numbers: "Ints") -> Mask:
    """Return whether a key, a value or a header of each record matches a regular expression."""
    import numpy as np

    search = re.compile(pattern).search

    def matching(name: str, which: "Ints | slice") -> list[bool]:
        starts, lengths = getattr(columns, f"{name}_start")[which], getattr(columns, f"{name}_length")[which]
        parts = contents_at(columns.data, starts, lengths)
        return [part is not None and search(part) is not None for part in parts]

    found = np.array(matching("key", numbers), np.bool_)
    found[~found] = matching("value", numbers[~found])
    for at in (~found & (columns.headers_count[numbers] > 0)).nonzero()[0].tolist():
        first = columns.headers_first[numbers[at]]
        span = slice(first, first + columns.headers_count[numbers[at]])
        found[at] = any(matching("header_key", span)) or any(matching("header_value", span))
    return found


def contents_at(data: bytes, starts: "Ints", lengths: "Ints") -> Iterator[bytes | None]:
    """Yield parts of the data, one at a time; None where a length is below 0."""
    return (
        None if length < 0 else data[start : start + length]
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    )


def in_range(logs: list[Target], asked: RecordFilter) -> list[Target]:
    """Return the logs that can hold the offsets of a filter, by base offsets: segments may overlap."""
    if asked.offsets is None:
        return logs
    last = asked.offsets[1]
    return [target for target in logs if (file_name(target).base_offset or 0) <= last]


LARGEST_INT = 2**31 - 1
EVERYTHING = RecordFilter()
DECODED_TOPICS = (
    CONSUMER_OFFSETS,
    TRANSACTION_STATE,
    SHARE_GROUP_STATE,
    CLUSTER_METADATA,
    REMOTE_LOG_METADATA,
)
"""The internal topics whose records are decoded: those of the messages that are declared."""
STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    """What of the files is shown; the words of kafka-dump-log have its names.

    `decoder` is the internal topic whose decoder shows the contents of records; None shows them as they are,
    unless `decode_by_name`, which takes the decoder of the topic that a directory is named after.
    `key_decoder` and `value_decoder` are the classes that print other contents in text. `tail` is how many of
    the last batches (or records) of each partition are shown, `limit` how many rows at most. `bytes_as` is
    one of kcli.dump.bytes_as.MODES; a `salt` redacts keys and values. `blocks`: rows of logs as Arrow where
    they can be made in bulk. `max_batch_bytes` bounds a batch, compressed and decompressed.
    """

    records: bool = False
    text: bool = False
    blocks: bool = False
    layout: bool = False
    print_data_log: bool = False
    skip_record_metadata: bool = False
    decoder: str | None = None
    decode_by_name: bool = False
    key_decoder: str = STRING_DECODER
    value_decoder: str = STRING_DECODER
    max_bytes: int = LARGEST_INT
    max_message_size: int = 5 << 20
    verify_index_only: bool = False
    index_sanity_check: bool = False
    filter: RecordFilter = EVERYTHING
    tail: int | None = None
    limit: int | None = None
    bytes_as: str | None = None
    salt: bytes | None = None
    max_batch_bytes: int = LARGEST_BATCH

    @property
    def selects(self) -> bool:
        """Whether only some batches are shown, so that other files have nothing to say."""
        return bool(self.filter) or self.tail is not None

    @property
    def is_as_stored(self) -> bool:
        """Whether all rows are shown, and contents as strings or by a decoder."""
        return (
            self.limit is None
            and {self.key_decoder, self.value_decoder} == {STRING_DECODER}
            and self.salt is None
            and self.bytes_as is None
        )
