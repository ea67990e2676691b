"""How the contents of internal topics' records are printed in the text of kafka-dump-log."""

from formats.errors import FormatError
from formats.message_set import LegacyRecord
from formats.messages.printed import printed
from formats.record import Record
from formats.remote_metadata import decode
from kcli.analysis.remote import java_text, unreadable
from kcli.output.dump_log import Shown, plain

REMOTE_LOG_METADATA = "__remote_log_metadata"


def shown_by(decoder: str | None, record: Record | LegacyRecord) -> tuple[Shown, str | None]:
    """Return what is printed of a record's key and value by the decoder of a topic, and what is wrong with them."""
    if decoder is None:
        return plain(record), None
    if decoder == REMOTE_LOG_METADATA:
        return _remote(record)
    told = printed(decoder, record.offset, record.key, record.value)
    return Shown(told.key, told.payload), None if told.error is None else str(told.error)


def _remote(record: Record | LegacyRecord) -> tuple[Shown, str | None]:
    try:
        decoded = decode(record.value or b"")
        trouble = unreadable(decoded)
        if trouble is None:
            return Shown(None, java_text(decoded)), None
    except FormatError as error:
        trouble = str(error)
    return Shown(None, f"Error at offset {record.offset}, skipping. {trouble}"), trouble
