"""What `check` keeps of a segment while it is read, window by window, and what it finds there."""

import os
from typing import NamedTuple

import numpy as np

from formats.batch import LOG_OVERHEAD
from kcli.logdir.bulk import Window


class GoodEnd(NamedTuple):
    """Where the good batches of a segment end that follow its beginning without a break.

    A position in bytes, and the offset after the last of them; None without any.
    """

    position: int = 0
    offset: int | None = None


class SegmentFacts(NamedTuple):
    """What `check` knows of a segment once it is read: of base offset `base`, `size` bytes long."""

    base: int
    file: str
    size: int
    good_end: GoodEnd

    @property
    def is_cut(self) -> bool:
        """Whether recovery of this segment would cut it."""
        return self.good_end.position < self.size


class SegmentJudge:
    """Looks at every window of a segment; `facts` says what it saw."""

    def __init__(self, path: str, base: int) -> None:
        self.path = path
        self.base = base
        self._good = GoodEnd()
        self._is_broken = False

    def observe(self, window: Window) -> None:
        """Look at the batches of a window."""
        if not self._is_broken:
            self._follow(window)

    def _follow(self, window: Window) -> None:
        """Move the end of the good batches."""
        fields, positions = window.fields, window.positions
        count = len(positions)
        if window.valid is not None and not window.valid.all():
            count = int(np.argmin(window.valid))
        self._is_broken = count < len(positions) or int(positions[0]) != self._good.position
        if count and int(positions[0]) == self._good.position:
            last = fields[count - 1]
            self._good = GoodEnd(
                int(positions[count - 1]) + LOG_OVERHEAD + int(last["batch_length"]),
                int(last["base_offset"]) + int(last["last_offset_delta"]) + 1,
            )

    def facts(self, size: int) -> SegmentFacts:
        """Return what is known of the segment, which has so many bytes."""
        return SegmentFacts(self.base, os.path.basename(self.path), size, self._good)
