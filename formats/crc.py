"""The two checksums of Kafka's files, resumable, so that a batch may be larger than its window.

CRC-32C (Castagnoli) guards record batches of magic 2 and producer snapshots;
CRC-32 (IEEE 802.3, zlib) guards messages of magic 0 and 1. The truth is
`org.apache.kafka.common.utils.Crc32C` and `java.util.zip.CRC32`.
"""

import zlib

from formats.types import Buffer


def crc32c(data: Buffer, value: int = 0) -> int:
    """Return the CRC-32C of the bytes, continued from `value`, the checksum of the bytes before them."""
    from crc32c import crc32c as checksum  # noqa: PLC0415 - it drags in importlib.metadata

    return int(checksum(data, value))


def crc32(data: Buffer, value: int = 0) -> int:
    """Return the CRC-32 of the bytes, continued from `value`, the checksum of the bytes before them."""
    return zlib.crc32(data, value)
