"""A log or a KRaft snapshot in a bundle: as many bytes, each batch in its place, no payload.

Of a batch of right checksum the header stays, and its checksum is made anew. Records stay with keys, values
and headers as long as they were, of zeros. Those of a compressed batch are compressed anew behind
WITHOUT_PAYLOAD, with zeros up to the size that the header says; where they have no room, or cannot be read,
it is alone. What no checksum proves may be payload at a wrong place: of that a walk finds what leads it on, a
wrong checksum and the times, as far as these are possible numbers. All else is filled: zeros stay zeros,
other bytes do not stay.
"""

import zlib
from array import array
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
    MAX_LONG,
    NO_TIMESTAMP,
    BatchHeader,
)
from formats.bounds import LARGEST_BATCH
from formats.compression import WITHOUT_PAYLOAD
from formats.errors import FormatError
from formats.index import OFFSET_INDEX_ENTRY
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
from formats.record import unpacked
from formats.types import Buffer, LeaderEpoch, Offset
from kcli.jobs.bundle.records import (
    MASKED_TOPICS,
    key_without_secrets,
    value_without_secrets,
    without_payload,
    without_secrets,
)
from kcli.kafka.integrity.checks.segments import FOREIGN
from kcli.kafka.integrity.damaged import (
    KNOWN_ATTRIBUTES,
    WINDOW,
    VerifiedBatch,
    leads_to_a_batch,
    verified_batches,
)
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.segment import Stop, next_batch

FILL = b"x"
FILLED = b"\0" + FILL * 255
"""What bytes become of which nothing may stay: others than zero."""
WRONG = 0xFFFFFFFF
CRC_AT = BATCH.span("crc")[0]
LEGACY_CRC_AT = MESSAGE_V0.span("crc")[0]
LEGACY_CODEC_AT = MESSAGE_V0.span("attributes")[0]
NO_HEADER = BatchHeader(Offset(0), 0, LeaderEpoch(-1), LATEST, WRONG, 0, 0, -1, -1, -1, -1, -1, 1)
"""The fields of a header that is none: they say nothing of times, epochs, producers."""
ABOVE_LATEST, NEGATIVE = LATEST + 1, 0xFF
"""Magics that no batch has."""
SMALLEST_TEXT = 1 << 29
"""Four bytes of text are no less."""
LATEST_TIME = (1 << 42) - 1
"""In ms: of the year 2109."""
NEAR, FAR_BELOW = 1 << 40, b"\x80" + FILL * 7
"""Offsets and ids are so near to zero or to a base offset: of payload five bytes in a row may be, too."""
SHORT_INDEX = 1 << 16


@dataclass(slots=True)
class BundledFile:
    """What is known of a log or an index: its topic, the base offset in its name, then what was seen in it.

    `log`: of an index. `positions`: the end of a log, and where batches begin; `times`: their largest, late
    ones where a checksum proves them. `counts`: good `batches`, `bad_checksums`, `removed_batches` of which
    no record stays, `damaged_bytes`, `filled_entries`. `overlaid`: bytes by position to which a wrong length
    leads a walk, in later batches.
    """

    topic: str | None = None
    base: int | None = None
    log: "BundledFile | None" = None
    positions: "array[int]" = field(default_factory=lambda: array("q"))
    times: "array[int]" = field(default_factory=lambda: array("q"))
    counts: Counter[str] = field(default_factory=Counter)
    overlaid: dict[int, int] = field(default_factory=dict)


def log_without_payload(file: DataFile, facts: BundledFile) -> Iterator[bytes]:
    """Yield the bytes of a log; counts in `facts`."""
    for position in _last_indexed(file.path):
        _overlay(file, position, facts)
    good_end = 0
    for item in verified_batches(file, 0):
        if isinstance(item, VerifiedBatch):
            header, position = item.batch.header, item.batch.position
            facts.positions.append(position)
            if item.valid or _time(header.max_timestamp) == header.max_timestamp:
                facts.times.append(header.max_timestamp)
            if not item.valid:
                continue
            yield from _damaged(file, good_end, position, facts)
            facts.counts["batches"] += 1
            good_end = position + header.size
            if item.raw is not None:
                yield _batch(item.raw, header, facts, position)
            else:
                yield from _large_batch(file.read(position, LARGEST_HEADER), header, facts)
        elif not isinstance(item, Stop):
            yield from _damaged(file, good_end, item.end, facts)
            good_end = item.end
    yield from _damaged(file, good_end, file.size, facts)


def _batch(raw: bytes, header: BatchHeader, facts: BundledFile, position: int) -> bytes:
    """Return a batch of right checksum without payload; its checksum is right again."""
    inside = range(position + format_of(header.magic).layout.size, position + len(raw))
    is_decoded = _is_decoded(header, facts)
    overlaid = {} if is_decoded else {at: byte for at, byte in facts.overlaid.items() if at in inside}
    if is_legacy(header.magic):
        new = _message(raw, header, facts)
    else:
        is_read = not overlaid and header.magic == LATEST
        body = _records(raw, header, facts) if is_read else None
        facts.counts["removed_batches"] += body is None
        new = bytearray(raw[:HEADER_SIZE])
        new += WITHOUT_PAYLOAD.ljust(len(raw), b"\0")[: len(raw) - HEADER_SIZE] if body is None else body
    for byte_position, byte in overlaid.items():
        new[byte_position - position] = byte
    return _sealed(new, header, facts)


def _sealed(new: bytearray, header: BatchHeader, facts: BundledFile, zeros: int = 0) -> bytes:
    """Return a batch with what stays of its base offset, and its checksum; so many zeros follow."""
    form = format_of(header.magic)
    new[:LENGTH_POSITION] = _offset(new, facts.base)
    checksum = form.checksum(memoryview(new)[form.crc_from :], 0)
    for start in range(0, zeros, WINDOW):
        checksum = form.checksum(bytes(min(WINDOW, zeros - start)), checksum)
    crc_position = LEGACY_CRC_AT if is_legacy(header.magic) else CRC_AT
    new[crc_position : crc_position + 4] = checksum.to_bytes(4, "big")
    return bytes(new)


def _is_decoded(header: BatchHeader, facts: BundledFile) -> bool:
    return facts.topic in MASKED_TOPICS or header.is_control


def _large_batch(head: bytes, header: BatchHeader, facts: BundledFile) -> Iterator[bytes]:
    """Yield a batch that is too large to be read at once: none of its records stays."""
    new = bytearray(head[: format_of(header.magic).layout.size]) + WITHOUT_PAYLOAD
    zeros = header.size - len(new)
    facts.counts["removed_batches"] += 1
    yield _sealed(new, header, facts, zeros=zeros)
    for start in range(0, zeros, WINDOW):
        yield bytes(min(WINDOW, zeros - start))


def _records(raw: bytes, header: BatchHeader, facts: BundledFile) -> bytes | None:
    """Return the records of a batch without payload or secrets, as many bytes; None where that cannot be."""
    try:
        body = unpacked(raw, LARGEST_BATCH)[1]
        if _is_decoded(header, facts):
            records = without_secrets(body, header, facts.topic)
        else:
            records = without_payload(body, header.records_count)
    except FormatError:
        return None
    size = len(raw) - HEADER_SIZE
    return _packed(records, size) if header.codec and header.records_count else records.ljust(size, b"\0")


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
        for message in messages(opened):
            inner = _plain_message(bytes(message.data), facts.topic)
            mask = 0 if is_valid(message.data) else WRONG
            checksum = zlib.crc32(memoryview(inner)[MESSAGE_CRC_FROM:]) ^ mask
            inner[LEGACY_CRC_AT : LEGACY_CRC_AT + 4] = checksum.to_bytes(4, "big")
            body[message.position : message.position + len(inner)] = inner
        size = int.from_bytes(raw[opened.stream - LENGTH_SIZE : opened.stream], "big")
        packed = _packed(bytes(body), size)
        new[opened.stream : opened.stream + size] = packed or WITHOUT_PAYLOAD.ljust(size, b"\0")[:size]
    except FormatError:
        packed = None
    facts.counts["removed_batches"] += packed is None
    return new


def _plain_message(raw: bytes, topic: str | None) -> bytearray:
    """Return a message with key and value filled, or as `records` keeps them; their sizes stay."""
    position = format_of(raw[MAGIC_POSITION]).layout.size
    new = bytearray(raw[:position].ljust(len(raw), b"\0"))
    key: bytes | None = None
    for is_value in (False, True):
        start = position + LENGTH_SIZE
        if start > len(raw):
            break
        new[position:start] = raw[position:start]
        size = max(int.from_bytes(raw[position:start], "big", signed=True), 0)
        data = raw[start : start + size]
        if len(data) < size:
            break
        masked = value_without_secrets(topic, key, data) if is_value else key_without_secrets(topic, data)
        new[start : start + size] = masked
        key, position = data, start + size
    return new


def _damaged(file: DataFile, start: int, end: int, facts: BundledFile) -> Iterator[bytes]:
    """Yield what stays of bytes that are no good batches: where a walk goes through them, and ends."""
    position = start
    while position < end:
        batch = next_batch(file, position, file.size)
        after = end if batch is None else position + batch.size
        new = bytearray(_unverified(file, position, facts.base))
        if batch is None or after > end:
            facts.counts["damaged_bytes"] += min(after, end) - position
        else:
            facts.counts["bad_checksums"] += 1
            facts.counts["removed_batches"] += 1
            new += WITHOUT_PAYLOAD if new[MAGIC_POSITION] == LATEST else b""
        new = new[: min(after, end) - position]
        yield bytes(new)
        yield from _filled(file, position + len(new), min(after, end))
        position = after
    if position > end:
        _overlay(file, position, facts)


def _overlay(file: DataFile, position: int, facts: BundledFile) -> None:
    """Keep where a walk goes on that begins at a byte, and what it meets, up to a good batch."""
    while 0 <= position < file.size and not leads_to_a_batch(file, position):
        facts.overlaid.update(enumerate(_unverified(file, position, facts.base), position))
        batch = next_batch(file, position, file.size)
        position = file.size if batch is None else position + batch.size


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
        return {OFFSET_INDEX_ENTRY.read(tail, edge - entry).position for edge in {last, len(tail)} if edge}
    return set()


def _offset(head: Buffer, base: int | None) -> bytes:
    """Return the base offset of a batch, which no checksum covers; another where it may be payload.

    That is far from the segment's and from zero, without its sign, too.
    """
    offset = int.from_bytes(head[:LENGTH_POSITION], "big", signed=True)
    if min(abs(offset), abs(offset - (base or 0)), offset & MAX_LONG) < NEAR:
        return bytes(head[:LENGTH_POSITION])
    return FILL * LENGTH_POSITION if offset > 0 else FAR_BELOW


def _unverified(file: DataFile, position: int, base: int | None) -> bytes:
    """Return what stays of the bytes at which a walk looks and finds no good batch.

    That is what leads a walk on, for other bytes may be payload; numbers that are not possible become such at
    which it ends in the same way.
    """
    head = file.read(position, LARGEST_HEADER)
    masked = bytearray(head[: MAGIC_POSITION + 1].translate(FILLED))
    prefix = next((signature for signature, _ in FOREIGN if not position and head.startswith(signature)), b"")
    if len(head) <= MAGIC_POSITION or prefix:
        return prefix or bytes(masked)
    masked[:LENGTH_POSITION] = _offset(head, base)
    length = int.from_bytes(head[LENGTH_POSITION:LOG_OVERHEAD], "big", signed=True)
    masked[LENGTH_POSITION:LOG_OVERHEAD] = _bounded(length, SMALLEST_TEXT).to_bytes(4, "big", signed=True)
    magic = magic_of(head)
    masked[MAGIC_POSITION] = min(magic, ABOVE_LATEST) if magic >= 0 else NEGATIVE
    if is_legacy(magic):
        codec = head[MAGIC_POSITION + 1 : LEGACY_CODEC_AT + 1]
        with suppress(FormatError):
            message_set(file.read(position, min(LOG_OVERHEAD + length, LARGEST_BATCH)), LARGEST_BATCH)
            codec = b"\0"  # what takes the place of its stream cannot be opened
        return bytes(masked) + codec
    if magic != LATEST or len(head) < LARGEST_HEADER:
        return bytes(masked)
    header = read_header(head)
    new = NO_HEADER._replace(
        attributes=header.attributes & KNOWN_ATTRIBUTES,
        last_offset_delta=_bounded(header.last_offset_delta, SMALLEST_TEXT),
        base_timestamp=_time(header.base_timestamp),
        max_timestamp=_time(header.max_timestamp),
        records_count=_bounded(header.records_count, SMALLEST_TEXT),
    )
    return bytes(masked[:LOG_OVERHEAD]) + BATCH.pack(new)[LOG_OVERHEAD:]


def _bounded(number: int, most: int) -> int:
    """Return a number of four bytes, or one that is as impossible."""
    return number if -1 <= number <= most else MAX_INT if number > 0 else -MAX_INT


def _time(number: int) -> int:
    return number if 0 <= number <= LATEST_TIME else NO_TIMESTAMP


def _filled(file: DataFile, start: int, end: int) -> Iterator[bytes]:
    """Yield bytes of a file of which nothing stays but where they are zero."""
    for position in range(start, end, WINDOW):
        yield file.read(position, min(WINDOW, end - position)).translate(FILLED)
