"""The checksums of all batches of a window, as `formats.magic.is_valid` finds them one by one.

A call from Python costs more than the checksum of a small batch. So small ones are checked by one call:
snappy's frames have a CRC-32C each, and what precedes the bytes under a batch's checksum has just the size of
what frames need. If one does not match, each is checked by itself. (google/snappy, framing_format.txt)

    batch    | base offset 8 | length 4 | epoch 4 | magic 1 | crc 4 | attributes ... records |
    frames   | fe, length 9   3+1 | 9 bytes of padding | 01, length 1+3 | masked crc 4 | the same bytes |
"""

from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from formats.batch import CRC_FROM, LOG_OVERHEAD
from formats.bulk import Headers
from formats.crc import crc32c_function
from formats.legacy import MESSAGE_CRC_FROM as LEGACY_CRC_FROM
from formats.magic import is_legacy
from formats.types import Buffer

SMALL_BATCH = 2048
"""Below this mean size a slice for each batch costs more than copies of their bytes."""
STREAM_BEGINS = b"\xff\x06\x00\x00sNaPpY"
LARGEST_FRAME = 1 << 16
"""Bytes of data."""
FRAMES = np.dtype([("padding", "<u4"), ("", "V9"), ("data", "<u4"), ("sum", "<u4")])
PADDING_FRAME, DATA_FRAME = 0xFE | 9 << 8, 0x01
"""A frame is its type, then its length of 3 bytes, little-endian."""


def valid(window: Buffer, batches: Headers) -> NDArray[np.bool_]:
    """Return for each batch, all of them whole in the window, whether its checksum matches."""
    positions, chain_end = batches.chain.positions, batches.chain.next
    if chain_end < SMALL_BATCH * len(positions) and _all_valid(window, batches):
        return np.ones(len(positions), np.bool_)
    data, crc32c = memoryview(window), crc32c_function()
    sums = [
        crc32(data[begin + LEGACY_CRC_FROM : end]) if is_old else crc32c(data[begin + CRC_FROM : end])
        for (begin, end), is_old in zip(
            pairwise([*positions, chain_end]), is_legacy(batches.fields["magic"]).tolist(), strict=True
        )
    ]
    result: NDArray[np.bool_] = np.fromiter(sums, np.uint32, len(sums)) == batches.fields["crc"]
    return result


def _all_valid(window: Buffer, batches: Headers) -> bool:
    """Return whether all checksums are those of magic 2 and match; False is no verdict."""
    import cramjam

    first, chain_end, fields = batches.chain.positions[0], batches.chain.next, batches.fields
    data = fields["batch_length"].astype(np.int64) - (CRC_FROM - LOG_OVERHEAD)
    if is_legacy(fields["magic"]).any() or data.max() > LARGEST_FRAME:
        return False
    frames = np.zeros(len(data), FRAMES)
    frames["padding"] = PADDING_FRAME
    frames["data"] = DATA_FRAME | (data + FRAMES["sum"].itemsize) << 8
    crc = fields["crc"].astype(np.uint64)
    frames["sum"] = ((crc >> 15 | crc << 17) % (1 << 32) + 0xA282EAD8) % (1 << 32)  # as snappy masks it
    stream = np.empty(len(STREAM_BEGINS) + chain_end - first, np.uint8)
    stream[: len(STREAM_BEGINS)] = np.frombuffer(STREAM_BEGINS, np.uint8)
    body = stream[len(STREAM_BEGINS) :]
    body[:] = np.frombuffer(window, np.uint8, len(body), first)
    places = np.ndarray((len(body) - CRC_FROM + 1,), f"V{CRC_FROM}", body.data, strides=(1,))
    places[batches.positions - first] = frames.view(f"V{CRC_FROM}")
    try:
        body_size = cramjam.snappy.decompress_into(stream.data, np.empty(int(data.sum()), np.uint8).data)
    except cramjam.DecompressionError:
        return False
    return bool(body_size == data.sum())
