"""A log or a KRaft snapshot in a bundle: as many bytes, each batch in its place, no payload.

A header stays but for its checksum, which is made anew: right where it was right, wrong where it was wrong.
Records stay with keys, values and headers as long as they were, of zeros. Those of a compressed batch are
compressed anew behind WITHOUT_PAYLOAD, with zeros up to the size that the header says; where they have no
room, or cannot be read, it is alone. What is no batch is filled, so that a walk ends where it did: zeros stay
zeros, other bytes do not stay.
"""

import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from formats.batch import (
    BATCH,
    HEADER_SIZE,
    LENGTH_POSITION,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    MAX_INT,
    BatchHeader,
)
from formats.bounds import LARGEST_BATCH
from formats.compression import WITHOUT_PAYLOAD
from formats.errors import FormatError
from formats.index import OFFSET_INDEX_ENTRY, is_relative
from formats.legacy import MESSAGE_CRC_FROM, MESSAGE_V0
from formats.magic import (
    LARGEST_HEADER,
    LATEST,
    LENGTH_SIZE,
    format_of,
    is_legacy,
    is_valid,
    magic_of,
    read_header,
)
from formats.message_set import message_set, messages
from formats.names import CLUSTER_METADATA, REMOTE_LOG_METADATA
from formats.record import unpacked
from formats.types import LeaderEpoch, Offset
from kcli.jobs.bundle.records import (
    MASKED_TOPICS,
    key_without_secrets,
    value_without_secrets,
    without_payload,
    without_secrets,
)
from kcli.kafka.integrity.checks.segments import FOREIGN
from kcli.kafka.integrity.damaged import HIGHEST_CODEC, KNOWN_ATTRIBUTES, verified_batches
from kcli.kafka.integrity.verified_batch import WINDOW, VerifiedBatch, leads_to_a_batch
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.segment import Stop, next_batch

FILL = b"x"
FILLED = b"\0" + FILL * 255
"""What bytes become of which nothing may stay: others than zero."""
WRONG = 0xFFFFFFFF
CRC_AT = BATCH.span("crc")[0]
LEGACY_CRC_AT = MESSAGE_V0.span("crc")[0]
LEGACY_CODEC_AT = MESSAGE_V0.span("attributes")[0]
NO_HEADER = BATCH.pack(BatchHeader(Offset(0), 0, LeaderEpoch(-1), LATEST, WRONG, 0, 0, -1, -1, -1, -1, -1, 1))
"""The fields of a header that is none: they say nothing of times, epochs, producers."""
ABOVE_LATEST, NEGATIVE = LATEST + 1, 0xFF
"""Magics that no batch has."""
SMALLEST_TEXT = 1 << 29
"""Four bytes of text are no less."""
LATEST_TIME = (1 << 42) - 1
"""In ms: of the year 2109."""
NEAR = 1 << 40
"""Offsets and ids are so near to zero or to a base offset: of payload five bytes in a row may be, too."""
VERIFIED_TOPICS = frozenset({CLUSTER_METADATA, REMOTE_LOG_METADATA})
"""Topics whose batches are read only where the checksum is right."""
SHORT_INDEX = 1 << 16
LONGEST_WORD = 6
"""So many printable bytes in a row are text, and no fields of a header."""


@dataclass(slots=True)
class BundledFile:
    """What is known of a log or an index: its topic, the base offset in its name, then what was seen in it.

    `counts`: good `batches`, `bad_checksums`, `removed_batches` of which no record stays, `damaged_bytes`,
    `filled_entries`. `overlaid`: bytes by position to which a wrong length leads a walk, in later batches.
    """

    topic: str | None = None
    base: int | None = None
    counts: Counter[str] = field(default_factory=Counter)
    overlaid: dict[int, int] = field(default_factory=dict)


def log_without_payload(file: DataFile, facts: BundledFile) -> Iterator[bytes]:
    """Yield the bytes of a log; counts in `facts`."""
    for position in _last_indexed(file.path):
        _overlay(file, position, facts)
    at = 0
    for item in verified_batches(file, 0):
        if isinstance(item, VerifiedBatch):
            header, position = item.batch.header, item.batch.position
            if not item.valid:
                continue
            yield from _damaged(file, at, position, facts)
            facts.counts["batches"] += 1
            at = position + header.size
            if item.raw is not None:
                yield _batch(item.raw, header, facts, position)
            else:
                yield from _large_batch(file.read(position, LARGEST_HEADER), header, facts)
        elif not isinstance(item, Stop):
            yield from _damaged(file, at, item.end, facts)
            at = item.end
    yield from _damaged(file, at, file.size, facts)


def _batch(raw: bytes, header: BatchHeader, facts: BundledFile, position: int, wrong: int = 0) -> bytes:
    """Return a batch without payload; its checksum is right, or `wrong`."""
    form = format_of(header.magic)
    is_decoded = facts.topic in MASKED_TOPICS or (header.is_control and not wrong)
    inside = range(position + form.layout.size, position + len(raw))
    overlaid = {} if is_decoded else {at: byte for at, byte in facts.overlaid.items() if at in inside}
    if is_legacy(header.magic):
        new = _message(raw, header, facts)
    else:
        is_read = (
            not overlaid and header.magic == LATEST and (not wrong or facts.topic not in VERIFIED_TOPICS)
        )
        body = _records(raw, header, facts.topic, is_valid=not wrong) if is_read else None
        facts.counts["removed_batches"] += body is None
        new = bytearray(raw[:HEADER_SIZE])
        new += WITHOUT_PAYLOAD.ljust(len(raw), b"\0")[: len(raw) - HEADER_SIZE] if body is None else body
    for place, byte in overlaid.items():
        new[place - position] = byte
    at = LEGACY_CRC_AT if is_legacy(header.magic) else CRC_AT
    checksum = form.checksum(memoryview(new)[form.crc_from :], 0) ^ wrong
    new[at : at + 4] = checksum.to_bytes(4, "big")
    return bytes(new)


def _large_batch(head: bytes, header: BatchHeader, facts: BundledFile) -> Iterator[bytes]:
    """Yield a batch that is too large to be read at once: none of its records stays."""
    form = format_of(header.magic)
    new = bytearray(head[: form.layout.size]) + WITHOUT_PAYLOAD
    rest = header.size - len(new)
    checksum = form.checksum(memoryview(new)[form.crc_from :], 0)
    for start in range(0, rest, WINDOW):
        checksum = form.checksum(bytes(min(WINDOW, rest - start)), checksum)
    at = LEGACY_CRC_AT if is_legacy(header.magic) else CRC_AT
    new[at : at + 4] = checksum.to_bytes(4, "big")
    facts.counts["removed_batches"] += 1
    yield bytes(new)
    for start in range(0, rest, WINDOW):
        yield bytes(min(WINDOW, rest - start))


def _records(raw: bytes, header: BatchHeader, topic: str | None, *, is_valid: bool) -> bytes | None:
    """Return the records of a batch without payload or secrets, as many bytes; None where that cannot be.

    That it has a marker of a transaction is believed where its checksum is right.
    """
    try:
        body = unpacked(raw, LARGEST_BATCH)[1]
        if topic in MASKED_TOPICS or (header.is_control and is_valid):
            kept = without_secrets(body, header, topic)
        else:
            kept = without_payload(body, header.records_count)
    except FormatError:
        return None
    size = len(raw) - HEADER_SIZE
    return _packed(kept, size) if header.codec and header.records_count else kept.ljust(size, b"\0")


def _packed(data: bytes, size: int) -> bytes | None:
    """Return data compressed in the place of a codec's stream of so many bytes; None where it is larger."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    stream = WITHOUT_PAYLOAD + packer.compress(data) + packer.flush()
    return stream.ljust(size, b"\0") if len(stream) <= size else None


def _message(raw: bytes, header: BatchHeader, facts: BundledFile) -> bytearray:
    """Return a message of magic 0 or 1, of a wrapper also those inside, without payload; checksums aside."""
    new = _plain_message(raw, facts.topic)
    if not header.codec:
        return new
    try:
        opened = message_set(raw, LARGEST_BATCH)
        assert opened.stream is not None, "a wrapper has a stream"
        body = bytearray(len(opened.body))
        body[opened.end : opened.end + LOG_OVERHEAD] = opened.body[opened.end : opened.end + LOG_OVERHEAD]
        for one in messages(opened):
            inner = _plain_message(bytes(one.data), facts.topic)
            checksum = zlib.crc32(memoryview(inner)[MESSAGE_CRC_FROM:]) ^ (0 if is_valid(one.data) else WRONG)
            inner[LEGACY_CRC_AT : LEGACY_CRC_AT + 4] = checksum.to_bytes(4, "big")
            body[one.position : one.position + len(inner)] = inner
        size = int.from_bytes(raw[opened.stream - LENGTH_SIZE : opened.stream], "big")
        packed = _packed(bytes(body), size)
        new[opened.stream : opened.stream + size] = packed or WITHOUT_PAYLOAD.ljust(size, b"\0")[:size]
    except FormatError:
        packed = None
    facts.counts["removed_batches"] += packed is None
    return new


def _plain_message(raw: bytes, topic: str | None) -> bytearray:
    """Return a message with key and value filled, or as `records` keeps them; their sizes stay."""
    at = format_of(raw[MAGIC_POSITION]).layout.size
    new = bytearray(raw[:at].ljust(len(raw), b"\0"))
    key: bytes | None = None
    for is_value in (False, True):
        start = at + LENGTH_SIZE
        if start > len(raw):
            break
        new[at:start] = raw[at:start]
        size = max(int.from_bytes(raw[at:start], "big", signed=True), 0)
        data = raw[start : start + size]
        if len(data) < size:
            break
        kept = value_without_secrets(topic, key, data) if is_value else key_without_secrets(topic, data)
        new[start : start + size] = kept
        key, at = data, start + size
    return new


def _damaged(file: DataFile, start: int, end: int, facts: BundledFile) -> Iterator[bytes]:
    """Yield what stays of bytes that are no good batches: where a walk goes through them, and ends.

    That is what says how a batch that is wrong, or cut off, is met: base offset, length and magic. A whole
    header stays after a good batch, or where its numbers are possible.
    """
    at, is_first = start, True
    while at < end:
        batch = next_batch(file, at, file.size)
        head = file.read(at, LARGEST_HEADER)
        is_whole = batch is not None and at + batch.size <= end and len(head) == LARGEST_HEADER
        if is_whole and batch is not None and _is_header(head, facts.base, is_first=is_first):
            raw, is_first = file.read(at, min(batch.size, LARGEST_BATCH)), False
            facts.counts["bad_checksums"] += 1
            yield _batch(raw, read_header(raw), facts, at, WRONG)
            yield from _filled(file, at + len(raw), at + batch.size)
            at += batch.size
            continue
        after = end if batch is None else at + batch.size
        facts.counts["damaged_bytes"] += min(after, end) - at
        skeleton = _skeleton(file, at, facts.base, is_first=is_first)[: end - at]
        yield skeleton
        yield from _filled(file, at + len(skeleton), min(after, end))
        at, is_first = after, False
    if at > end:
        _overlay(file, at, facts)


def _overlay(file: DataFile, at: int, facts: BundledFile) -> None:
    """Keep where a walk goes on that begins at a byte, and what it meets, up to a good batch."""
    while 0 <= at < file.size and not leads_to_a_batch(file, at):
        facts.overlaid.update(enumerate(_skeleton(file, at, facts.base, is_first=False), at))
        batch = next_batch(file, at, file.size)
        at = file.size if batch is None else at + batch.size


def _last_indexed(path: str) -> set[int]:
    """Return where the index of a log leads last, for a start reads on there; zeros at its end aside, too."""
    if not path.endswith(".log"):
        return set()
    entry = OFFSET_INDEX_ENTRY.size
    with suppress(FileError), DataFile(f"{path[:-4]}.index") as index:
        end = index.size - index.size % entry
        start = max(0, end - SHORT_INDEX)
        tail = index.read(start, end - start)
        last = -(-len(tail.rstrip(b"\0")) // entry) * entry
        return {OFFSET_INDEX_ENTRY.read(tail, place - entry).position for place in {last, len(tail)} if place}
    return set()


def _is_header(head: bytes, base: int | None, *, is_first: bool) -> bool:
    """Whether the bytes of a header are one, and no payload that lies there."""
    if head[MAGIC_POSITION] > LATEST:
        return False
    header = read_header(head)
    if header.batch_length < format_of(header.magic).smallest_length:
        return False
    if is_first:
        return not _has_text(head[: format_of(header.magic).layout.size])
    count, delta = header.records_count, header.last_offset_delta
    return (
        (base is None or is_relative(header.base_offset, base))
        and 0 <= header.attributes <= KNOWN_ATTRIBUTES
        and header.codec <= HIGHEST_CODEC
        and (is_legacy(header.magic) or 0 <= count <= delta + 1)
    )


def _has_text(head: bytes) -> bool:
    return b"\1" * LONGEST_WORD in bytes(32 < byte < 127 for byte in head)


def _skeleton(file: DataFile, at: int, base: int | None, *, is_first: bool) -> bytes:
    """Return what stays of the bytes at which a walk looks and finds no good batch.

    After a good batch, and where they are no text, offset and length stay. Else what leads a walk on does;
    other numbers become such at which it ends in the same way.
    """
    head = file.read(at, LARGEST_HEADER)
    if len(head) == LARGEST_HEADER and _is_header(head, base, is_first=False):
        crc_at = LEGACY_CRC_AT if is_legacy(magic_of(head)) else CRC_AT
        whole = head[: format_of(magic_of(head)).layout.size]
        return whole[:crc_at] + FILL * 4 + whole[crc_at + 4 :]
    kept = bytearray(head[: MAGIC_POSITION + 1].translate(FILLED))
    prefix = next((each for each, _ in FOREIGN if not at and head.startswith(each)), b"")
    if len(head) <= MAGIC_POSITION or prefix:
        return prefix or bytes(kept)
    is_exact = is_first and not _has_text(head[: MAGIC_POSITION + 1])
    offset, length = (int.from_bytes(head[start:end], "big", signed=True) for start, end in ((0, 8), (8, 12)))
    away = offset - (base or 0)
    if is_exact or 0 <= away < SMALLEST_TEXT:
        kept[:LENGTH_POSITION] = head[:LENGTH_POSITION]
    elif offset < 0:
        kept[:LENGTH_POSITION] = b"\xff" * LENGTH_POSITION
    if not is_exact:
        length = -1 if length < 0 else MAX_INT if length > file.size - at else length
    kept[LENGTH_POSITION:LOG_OVERHEAD] = length.to_bytes(4, "big", signed=True)
    magic = magic_of(head)
    kept[MAGIC_POSITION] = min(magic, ABOVE_LATEST) if magic >= 0 else NEGATIVE
    if magic == LATEST and len(head) == LARGEST_HEADER:
        return bytes(kept[:LOG_OVERHEAD]) + NO_HEADER[LOG_OVERHEAD:]
    return bytes(kept) + head[MAGIC_POSITION + 1 : LEGACY_CODEC_AT + 1] * is_legacy(magic)


def _filled(file: DataFile, start: int, end: int) -> Iterator[bytes]:
    """Yield bytes of a file of which nothing stays but where they are zero."""
    for position in range(start, end, WINDOW):
        yield file.read(position, min(WINDOW, end - position)).translate(FILLED)
