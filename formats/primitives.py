"""The encodings that Kafka's messages and records are made of, read within bounds.

Every reader takes `(buffer, position, field)` and returns `(value, next position)`.
A length or count is compared with the bytes that are left before anything is
sliced or allocated. The truth is `org.apache.kafka.common.utils.ByteUtils` for
varints, `org.apache.kafka.common.Uuid`, and the generated messages of
`org.apache.kafka.common.message` for the rest.

    unsigned varint   7 bits a byte, lowest first, top bit = more; 5 bytes at most
    varint, varlong   zigzag (0, -1, 1, -2 ...) of 32 and 64 bits; 5 and 10 bytes at most
    string            i16 length, UTF-8; -1 is null      compact: uvarint length + 1; 0 is null
    bytes             i32 length; -1 is null             compact: uvarint length + 1; 0 is null
    array             -                                  compact: uvarint count + 1; 0 is null
    uuid              16 bytes; as text 22 characters of base64url
    tagged fields     uvarint count, then per field uvarint tag, uvarint size, data

Lengths and counts are ints of 32 bits, as Java has them: the uvarint 0xffffffff is -1.
Whatever is below 0 is null, but for a count of tagged fields. Kafka writes tags that
rise; its readers take them in any order.
"""

import binascii
import struct

from formats.errors import CorruptError, TruncatedError
from formats.types import Buffer

UUID_SIZE = 16
UUID_LONGEST_TEXT = 24
"""Characters of a UUID's text with its padding: what `Uuid.fromString` accepts at most."""

SMALLEST_TAGGED_FIELD = 2
SHORT_MAX = 0x7FFF
STRING_MAX = SHORT_MAX
"""Bytes of a string, the compact kind too: more stops Kafka's own readers."""

_INT16 = struct.Struct(">h")
_INT32_STRUCT = struct.Struct(">i")
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = str.maketrans("-_+/", "+/??")


def unsigned_varint(buffer: Buffer, position: int, field: str = "unsigned varint") -> tuple[int, int]:
    """Return the low 32 bits of an unsigned varint, as `ByteUtils`, and what follows; 6 bytes are corrupt."""
    # most are one byte
    if position < len(buffer) and (byte := buffer[position]) < 0x80:
        return byte, position + 1
    cursor, end, value, shift = position, len(buffer), 0, 0
    while cursor < end:
        byte = buffer[cursor]
        cursor += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, cursor
        shift += 7
        if shift == 35:
            raise CorruptError(position, field, "a varint of at most 5 bytes", "a longer one")
    raise TruncatedError(position, field, "a varint", f"{max(end - position, 0)} bytes of it")


def short_varint(buffer: Buffer, position: int, field: str = "unsigned varint") -> tuple[int, int]:
    """Return a uvarint of 16 bits as `AbstractApiMessageSerde` reads its frame; above 32767 it is corrupt."""
    value, after = unsigned_varint(buffer, position, field)
    if SHORT_MAX < value < 1 << 31:
        raise CorruptError(position, field, f"at most {SHORT_MAX}", value)
    return ((value & 0xFFFF) ^ 0x8000) - 0x8000, after


def put_varlong(value: int) -> bytes:
    """Return the bytes of a signed (zigzag) varint of 32 or 64 bits."""
    remaining_bits, out = (value << 1) ^ (value >> 63), bytearray()
    while remaining_bits > 0x7F:
        out.append(remaining_bits & 0x7F | 0x80)
        remaining_bits >>= 7
    out.append(remaining_bits)
    return bytes(out)


def varint(buffer: Buffer, position: int, field: str = "varint") -> tuple[int, int]:
    """Return a signed (zigzag) varint of 32 bits and the position after it."""
    # most are one byte: the short way halves the time of reading records
    if position < len(buffer) and (byte := buffer[position]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value, position = unsigned_varint(buffer, position, field)
    return (value >> 1) ^ -(value & 1), position


def varlong(buffer: Buffer, position: int, field: str = "varlong") -> tuple[int, int]:
    """Return the low 64 bits of a zigzag varint, as `ByteUtils`, and what follows; 11 bytes are corrupt."""
    cursor, end, value, shift = position, len(buffer), 0, 0
    while cursor < end:
        byte = buffer[cursor]
        cursor += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFFFFFFFFFF
            return (value >> 1) ^ -(value & 1), cursor
        shift += 7
        if shift == 70:
            raise CorruptError(position, field, "a varlong of at most 10 bytes", "a longer one")
    raise TruncatedError(position, field, "a varlong", f"{max(end - position, 0)} bytes of it")


def java_int(bits: int) -> int:
    """Return the number that Java's int of these 32 bits is."""
    return bits if bits < 1 << 31 else bits - (1 << 32)


def java_long(value: int) -> int:
    """Return the number that Java's long is after a sum: beyond 64 bits it wraps."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def int16(buffer: Buffer, position: int, field: str = "int16") -> tuple[int, int]:
    """Return a signed integer of 16 bits and the position after it."""
    return _fixed(buffer, position, field, _INT16)


def int32(buffer: Buffer, position: int, field: str = "int32") -> tuple[int, int]:
    """Return a signed integer of 32 bits and the position after it."""
    return _fixed(buffer, position, field, _INT32_STRUCT)


def compact_length(buffer: Buffer, position: int, field: str = "length") -> tuple[int, int]:
    """Return the length that a uvarint of one more holds, null below 0, and the position after it."""
    # most are one byte
    if position < len(buffer) and (byte := buffer[position]) < 0x80:
        return byte - 1, position + 1
    value, after = unsigned_varint(buffer, position, field)
    return java_int((value - 1) & 0xFFFFFFFF), after


def string_bytes(buffer: Buffer, position: int, field: str = "string") -> tuple[bytes | None, int]:
    """Return the bytes of a string of i16 length, None for null, and the position after it."""
    return _sized(buffer, position, *_fixed(buffer, position, field, _INT16, "a length of "), field)


def compact_string_bytes(buffer: Buffer, position: int, field: str = "string") -> tuple[bytes | None, int]:
    """Return a compact string's bytes, None for null, and what follows; CorruptError above STRING_MAX."""
    if position < len(buffer) and buffer[position] < 0x80:
        return compact_nullable_bytes(buffer, position, field)
    length, after = compact_length(buffer, position, field)
    if length > STRING_MAX:
        raise CorruptError(position, field, f"at most {STRING_MAX} bytes", length)
    return _sized(buffer, position, length, after, field)


def nullable_bytes(buffer: Buffer, position: int, field: str = "bytes") -> tuple[bytes | None, int]:
    """Return bytes of i32 length, None for null, and the position after them."""
    return _sized(buffer, position, *_fixed(buffer, position, field, _INT32_STRUCT, "a length of "), field)


def utf8(data: bytes, position: int, field: str) -> str:
    """Return the text of a string's bytes; CorruptError, with the first of them, for what is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptError(position, field, "UTF-8", data[:32].hex()) from error


def compact_nullable_bytes(buffer: Buffer, position: int, field: str = "bytes") -> tuple[bytes | None, int]:
    """Return compact bytes, None for null, and the position after them."""
    # most are so short that one byte holds their length, and not cut
    if position < len(buffer) and (size := buffer[position]) < 0x80 and position + size <= len(buffer):
        end = position + size
        return (bytes(buffer[position + 1 : end]), end) if size else (None, position + 1)
    return _sized(buffer, position, *compact_length(buffer, position, field), field)


def uuid_text(raw: bytes) -> str:
    """Return the text of a UUID's 16 bytes as `Uuid.toString` writes it: base64url, 22 characters."""
    return binascii.b2a_base64(raw, newline=False).translate(_TO_URL, b"=").decode("ascii")


def uuid_bytes(text: str, field: str = "uuid") -> bytes:
    """Return the 16 bytes of a UUID's text as `Uuid.fromString` accepts it: with or without its padding."""
    padded = text if text.endswith("=") else text + "=" * (-len(text) % 4)
    try:
        raw = binascii.a2b_base64(padded.translate(_FROM_URL).encode("ascii"), strict_mode=True)
    except ValueError as error:
        raise CorruptError(0, field, "base64url of 16 bytes", text[:UUID_LONGEST_TEXT]) from error
    if len(text) > UUID_LONGEST_TEXT or len(raw) != UUID_SIZE:
        raise CorruptError(0, field, "base64url of 16 bytes", text[:UUID_LONGEST_TEXT])
    return raw


def uuid_hex(raw: bytes) -> str:
    """Return the text of a UUID's 16 bytes as `java.util.UUID` writes it: hexadecimal with dashes."""
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def tag_count(buffer: Buffer, position: int, field: str = "tagged fields") -> tuple[int, int]:
    """Return how many tagged fields follow, and the first's place; below 0 is refused, as since Kafka 4.4."""
    count, after = unsigned_varint(buffer, position, field)
    if java_int(count) < 0:
        raise CorruptError(position, field, "a count of at least 0", java_int(count))
    return count, after


def _fixed(buffer: Buffer, position: int, field: str, form: struct.Struct, what: str = "") -> tuple[int, int]:
    remaining_bytes = len(buffer) - position
    if remaining_bytes < form.size:
        raise TruncatedError(position, field, f"{what}{form.size} bytes", max(remaining_bytes, 0))
    return form.unpack_from(buffer, position)[0], position + form.size


def _sized(buffer: Buffer, position: int, length: int, start: int, field: str) -> tuple[bytes | None, int]:
    if length < 0:
        return None, start
    if length > len(buffer) - start:
        raise TruncatedError(position, field, f"{length} bytes", max(len(buffer) - start, 0))
    return bytes(buffer[start : start + length]), start + length
