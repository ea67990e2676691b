"""How a command reads whole logs beside a broker; `common_options` unfolds it."""

import re
from typing import Annotated, NamedTuple

import typer

from formats.bounds import LARGEST_BATCH
from kcli.cli.options import INT32
from kcli.cli.status import UsageError

MULTIPLES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class ReadingOptions(NamedTuple):
    """How fast files are read, what stays in the page cache, and the largest batch that is opened."""

    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="BYTES",
            help="Read at most 50M a second in each process; implies --cold.",
            show_default=False,
        ),
    ] = None
    cold: Annotated[
        bool,
        typer.Option(
            "--cold", help="Give what was read back to the system: its page cache is left to others."
        ),
    ] = False
    max_batch_bytes: Annotated[
        int,
        typer.Option(
            "--max-batch-bytes",
            metavar="N",
            min=1,
            max=INT32,
            help="Bound on one batch that is decompressed.",
        ),
    ] = LARGEST_BATCH

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
