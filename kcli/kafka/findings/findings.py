"""A finding, as every command reports it; what its code means is in `kcli.kafka.findings.catalogue`."""

import os
from typing import NamedTuple

SEVERITIES = ("info", "warning", "error")


class Finding(NamedTuple):
    """Something worth knowing about a file or directory.

    Paths as reached from the argument, `position` in bytes. `dir` is the directory of the partition, or of
    the file. `path` is the file; None for a finding about `dir` itself. `more` counts the findings of the
    same code in the same file that are not listed; None where each is listed.
    """

    code: str
    message: str
    dir: str | None = None
    path: str | None = None
    position: int | None = None
    expected: str | int | None = None
    found: str | int | None = None
    more: int | None = None

    @property
    def file(self) -> str | None:
        """The base name of the file; None for a finding about a directory."""
        return None if self.path is None else os.path.basename(self.path)

    @property
    def place(self) -> str | None:
        """The path of the file, or of the directory where no file is to blame."""
        return self.path or self.dir

    @property
    def severity(self) -> str:
        """The severity that the catalogue gives this code: info, warning or error."""
        from kcli.kafka.findings.catalogue import CATALOGUE  # most answers have no finding

        return CATALOGUE[self.code].severity


OFFSETS_FALL = (
    "offsets do not rise here: recovery notices it only where it makes an index entry, each "
    "index.interval.bytes; it then empties the segment"
)
"""The message of START-015."""
NO_LOG_FILE = "no .log file; the log end offset is taken as the log start offset"
"""The message of LOG-007."""
