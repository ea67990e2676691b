"""What `dump` shows of the files, and how."""

from dataclasses import dataclass

from formats.bounds import LARGEST_BATCH
from kcli.dump.filter import RecordFilter

LARGEST_INT = 2**31 - 1
EVERYTHING = RecordFilter()
STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    """What of the files is shown; the words of kafka-dump-log have its names.

    `decoder` is the internal topic whose decoder shows the contents of records; None shows them as they are,
    unless `decode_by_name`, which takes the decoder of the topic that a directory is named after.
    `key_decoder` and `value_decoder` are the classes that print other contents in text. `tail` is how many of
    the last batches (or records) of each partition are shown, `limit` how many rows at most. `bytes_as` is
    one of kcli.dump.bytes_as.MODES; a `salt` redacts keys and values. `blocks`: rows of logs as Arrow
    where they can be made in bulk. `max_batch_bytes` bounds a batch, compressed and
    decompressed.
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
