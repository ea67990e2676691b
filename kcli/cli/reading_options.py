"""How a command reads whole logs beside a broker; `common_options` unfolds it."""

import re
from typing import NamedTuple

from formats.bounds import LARGEST_BATCH
from kcli.cli.option import option
from kcli.cli.parsers import INT32
from kcli.cli.status import UsageError

MULTIPLES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class ReadingOptions(NamedTuple):
    """How fast files are read, what stays in the page cache, and the largest batch that is opened."""

    rate: str | None = option("--rate BYTES", "Read at most 50M a second in each process; implies --cold.")
    cold: bool = option("--cold", "Give what was read back to the system: its page cache is left to others.")
    max_batch_bytes: int = option(
        "--max-batch-bytes N",
        "Bound on one batch that is decompressed.",
        default=LARGEST_BATCH,
        min=1,
        max=INT32,
    )

    @property
    def bytes_per_second(self) -> int:
        """The rate in bytes, 0 without one; UsageError for what is no rate."""
        return 0 if self.rate is None else parse_rate(self.rate)

    @property
    def is_cold(self) -> bool:
        """Whether pages that were read are given back."""
        return self.cold or self.rate is not None


def parse_rate(text: str, option: str = "--rate") -> int:
    """Return the bytes of words like 50M: K, M and G are binary."""
    found = re.fullmatch(r"([0-9]{1,12})([KMG]?)", text)
    rate = int(found[1]) * MULTIPLES[found[2]] if found else 0
    if not rate:
        raise UsageError(f"{option} {text}: expected a rate such as 500K, 50M or 1G")
    return rate
