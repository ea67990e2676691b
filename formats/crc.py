"""CRC-32C (Castagnoli) of record batches of magic 2 and producer snapshots: Kafka's `Crc32C`.

Resumable, so that a batch may be larger than its window, as `zlib.crc32` is, of messages of magic 0 and 1.
"""

from collections.abc import Callable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from importlib.util import find_spec, module_from_spec
from typing import TypeAlias

from formats.types import Buffer

Checksum: TypeAlias = Callable[..., int]

EXTENSION = "_crc32c"


def crc32c(data: Buffer, value: int = 0) -> int:
    """Return the CRC-32C of the bytes, continued from `value`, the checksum of the bytes before them."""
    return crc32c_function()(data, value)


@cache
def crc32c_function() -> Checksum:
    """Return the crc32c package's own function, loaded alone: the package imports a command line in 30 ms."""
    package = find_spec("crc32c")
    for folder in (package and package.submodule_search_locations) or ():
        spec = FileFinder(folder, (ExtensionFileLoader, EXTENSION_SUFFIXES)).find_spec(EXTENSION)
        if spec is not None and spec.loader is not None:
            extension = module_from_spec(spec)
            spec.loader.exec_module(extension)
            function: Checksum = extension.crc32c
            return function
    from crc32c import crc32c as function

    return function
