"""The checksums of all batches of a window, as `formats.magic.is_valid` finds them one by one.

Small ones are cut out of the window by one format for many of them, which is quicker than a slice for each.
"""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from formats.batch import CRC_FROM, LOG_OVERHEAD
from formats.bulk import Headers
from formats.crc import crc32, crc32c_function
from formats.legacy import MESSAGE_CRC_FROM as LEGACY_CRC_FROM
from formats.magic import is_legacy
from formats.types import Buffer

SMALL_BATCH = 2048
"""Below this mean size a slice for each batch costs more than copies of their bytes."""
SLICES = 1024
LARGEST_WORD = 2048


def valid(window: Buffer, found: Headers) -> NDArray[np.bool_]:
    """Return for each batch, all of them whole in the window, whether its checksum matches."""
    sums = _sums(window, found)
    for number in is_legacy(found.fields["magic"]).nonzero()[0].tolist():
        at, length = found.chain.positions[number], int(found.fields["batch_length"][number])
        sums[number] = crc32(memoryview(window)[at + LEGACY_CRC_FROM : at + LOG_OVERHEAD + length])
    result: NDArray[np.bool_] = np.fromiter(sums, np.uint32, len(sums)) == found.fields["crc"]
    return result


def _sums(window: Buffer, found: Headers) -> list[int]:
    """Return the CRC-32C of every batch, by a call for each."""
    crc32c = crc32c_function()
    positions, ahead = found.chain.positions, found.chain.next
    if ahead >= SMALL_BATCH * len(positions):
        data = memoryview(window)
        return [crc32c(data[at + CRC_FROM : end]) for at, end in pairwise([*positions, ahead])]
    return [value for bodies in _bodies(window, found) for value in map(crc32c, bodies)]


def _bodies(window: Buffer, found: Headers) -> Iterator[tuple[bytes, ...]]:
    """Yield what the checksums of some neighbours cover, cut out by one format.

    For small batches quicker than slices.
    """
    words = _words()
    sizes = (found.fields["batch_length"] + LOG_OVERHEAD).tolist()
    for start in range(0, len(sizes), SLICES):
        some = sizes[start : start + SLICES]
        cut = [words[size] for size in some] if max(some) < len(words) else map(_word, some)
        yield Struct("".join(cut)).unpack_from(window, found.chain.positions[start])


@cache
def _words() -> list[str]:
    return [_word(max(size, CRC_FROM)) for size in range(LARGEST_WORD)]


def _word(size: int) -> str:
    """Return the format of a batch of some size: what lies before the bytes under the checksum, and these."""
    return f"{CRC_FROM}x{size - CRC_FROM}s"
