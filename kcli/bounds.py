"""What a file may ask for at most, unless whoever runs kcli allows more."""

from formats.errors import FormatError, LimitError

LARGEST_BATCH = 6 << 20
"""Bytes of a batch, packed and unpacked, whose records are read; a larger one is shown by its header.

What is made of a value takes up to ten times its size where it is shown whole: with this bound no more than 64 MiB.
"""

RAISES_THE_BOUND = "; --max-batch-bytes raises the bound"


def in_words(error: FormatError) -> str:
    """Return an error in words; one about a bound names the switch that raises it."""
    return f"{error}{RAISES_THE_BOUND}" if isinstance(error, LimitError) else str(error)
