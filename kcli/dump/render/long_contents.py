"""Key and value of one record as text where they are long: in slices, each a buffer, and nowhere whole."""

from collections.abc import Callable, Iterator

import numpy as np

from formats.types import Buffer
from kcli.dump.block import Block, records_at
from kcli.dump.options import DumpOptions
from kcli.dump.render.batch_columns import is_control
from kcli.dump.render.decoders import DECODER_CLASSES, shown_contents
from kcli.dump.render.lines import INDENT, LONG_TEXT, java_strings
from kcli.dump.shown_bytes import slices_of
from kcli.dump.source import Log
from kcli.kafka.findings.log_findings import inside
from kcli.output.long_values import base64_slices

_SLICES: dict[str, Callable[[bytes], Iterator[str]]] = {
    "org.apache.kafka.tools.api.StringDecoder": java_strings,
    "org.apache.kafka.tools.api.DefaultDecoder": base64_slices,
}
"""Of the decoder classes that print all of what they decode."""


def contents_prefix(options: DumpOptions) -> str:
    """Return what comes before the first of a record's contents."""
    return f"{INDENT} " if options.skip_record_metadata else " "


def is_sliced(block: Block, options: DumpOptions) -> bool:
    """Whether the contents of a block, one record, are printed in slices.

    The decoders of topics refuse what is long, so they are called as for any record.
    """
    records = block.records
    if records is None or not options.print_data_log or options.decoder is not None:
        return False
    return block.is_long and not is_control(block)[records.batch[0]]


def long_contents(log: Log, block: Block) -> list[Buffer]:
    """Return the contents of a block's one record as `lines.contents` has them, in slices.

    Nothing if they are short. What cannot be shown is reported.
    """
    options = log.options
    if block.records is None or not is_sliced(block, options):
        return []
    (record,) = records_at(block.records, np.array([0]))
    shown, trouble = shown_contents(
        record._replace(key=_short(record.key), value=_short(record.value)), options
    )
    if trouble is not None:
        position = int(block.positions[block.records.batch[0]])
        log.findings.add("DUMP-002", position, inside(record.offset, trouble))
    buffers: list[Buffer] = []
    prefix = contents_prefix(options)
    for name, data, words, decoder in (
        ("key", record.key, shown.key, options.key_decoder),
        ("payload", record.value, shown.payload, options.value_decoder),
    ):
        if data is not None:
            parts = _slices(data, decoder, options) if words is None else iter([words])
            buffers.append(f"{prefix}{name}: ".encode())
            buffers.extend(part.encode("utf-8", "backslashreplace") for part in parts)
            prefix = " "
    return buffers


def _short(data: bytes | None) -> bytes | None:
    return None if data is None or len(data) > LONG_TEXT else data


def _slices(data: bytes, decoder: str, options: DumpOptions) -> Iterator[str]:
    if options.salt is not None or options.bytes_as not in {None, "text"}:
        return slices_of(data, options)
    return _SLICES[decoder](data) if decoder in _SLICES else iter([DECODER_CLASSES[decoder](data)])
