"""The two checksums of Kafka's files, resumable, so that a batch may be larger than its window.

CRC-32C (Castagnoli) guards record batches of magic 2 and producer snapshots;
CRC-32 (IEEE 802.3, zlib) guards messages of magic 0 and 1. The truth is
`org.apache.kafka.common.utils.Crc32C` and `java.util.zip.CRC32`.
"""

import sys
import zlib
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from formats.types import Buffer

Checksum: TypeAlias = Callable[..., int]


def crc32c(data: Buffer, value: int = 0) -> int:
    """Return the CRC-32C of the bytes, continued from `value`, the checksum of the bytes before them."""
    return crc32c_extension()(data, value)


def crc32(data: Buffer, value: int = 0) -> int:
    """Return the CRC-32 of the bytes, continued from `value`, the checksum of the bytes before them."""
    return zlib.crc32(data, value)


@cache
def crc32c_extension() -> Checksum:
    """Return the function of the crc32c package itself, for loops in which a call more for each batch counts.

    It is loaded without its package, which asks importlib.metadata for its own version: a tenth of a command's start.
    """
    from importlib.machinery import PathFinder  # noqa: PLC0415 - at hand in any process, but not wanted by all
    from importlib.util import find_spec, module_from_spec  # noqa: PLC0415

    package = None if "crc32c" in sys.modules else find_spec("crc32c")
    extension = (
        None
        if package is None
        else PathFinder.find_spec("_crc32c", list(package.submodule_search_locations or ()))
    )
    if extension is None or extension.loader is None:
        from crc32c import crc32c as checksum  # noqa: PLC0415

        return checksum
    module = module_from_spec(extension)
    extension.loader.exec_module(module)
    found: Checksum = module.crc32c
    return found


__all__ = ["crc32", "crc32c", "crc32c_extension"]
