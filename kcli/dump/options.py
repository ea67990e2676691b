"""What `dump` shows, and how: which batches and records, by offset, time, epoch, producer, flags, bytes."""

from dataclasses import dataclass
from typing import TypeAlias

from formats.batch import MAX_INT
from formats.bounds import LARGEST_BATCH
from formats.names import (
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    REMOTE_LOG_METADATA,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from kcli.logdir.partition_names import file_name
from kcli.logdir.targets import Target

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
        return self != RecordFilter()

    @property
    def contents(self) -> bool:
        """Whether keys, values or headers of records are asked about."""
        return self.key is not None or self.grep is not None


def in_range(logs: list[Target], filters: RecordFilter) -> list[Target]:
    """Return the logs that can hold the offsets of a filter, by base offsets: segments may overlap."""
    if filters.offsets is None:
        return logs
    last = filters.offsets[1]
    return [target for target in logs if (file_name(target).base_offset or 0) <= last]


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
    max_bytes: int = MAX_INT
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
