"""What a file may ask for at most, unless whoever runs kcli allows more."""

from formats.errors import FormatError, LimitError

LARGEST_BATCH = 10 << 20
"""Bytes of a batch, packed and unpacked, whose records are read; a larger one is shown by its header.

Shown, it takes up to six times its bytes: no more than 64 MiB.
"""
LARGEST_BATCH_GROWN = LARGEST_BATCH // 2
"""The same where Arrow is given bytes as text, which takes twice as much."""

LARGEST_CONTROL_BATCH = 1 << 20
"""Bytes of a control batch that is read for its marker, whatever is allowed."""

CONTROL_SHARE = 64
"""The value of a control record that is read may have this part of the bytes that a batch may have."""

RAISES_THE_BOUND = "; --max-batch-bytes raises the bound"


def describe(error: FormatError) -> str:
    """Return an error in words; one about a bound names the switch that raises it."""
    return f"{error}{RAISES_THE_BOUND}" if isinstance(error, LimitError) else str(error)
