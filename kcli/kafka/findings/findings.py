"""A finding, as every command reports it; what its code means is in `kcli.kafka.findings.catalogue`."""

import os
from collections.abc import Generator, Iterable
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, TypeAlias, TypeVar

from formats.java_text import NUL_FILE

T = TypeVar("T")

SEVERITIES = ("info", "warning", "error")


class Finding(NamedTuple):
    """Something worth knowing about a file or directory.

    Paths as reached from the argument, `position` in bytes. `dir`: of the partition, or of the file; `path`
    is None for a finding about `dir`. `more` like it are not listed; None where each is.
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


Reporting: TypeAlias = Generator[Finding, None, T]  # yields what is wrong, and returns what a caller asks

OFFSETS_FALL = (
    "offsets do not rise here: recovery notices it only where it makes an index entry, each "
    "index.interval.bytes; it then empties the segment"
)
"""The message of START-015."""
NO_SNAPSHOT = "no producer snapshot, and a clean shutdown: the start knows no producer"
NO_LOG_FILE = "no .log file; the log end offset is taken as the log start offset"
"""The message of LOG-007."""


def checksum_message(offset: int) -> str:
    """Return the message of LOG-003 about the batch of a base offset."""
    return f"offset {offset}: the checksum does not match"


def nul_index(size: int) -> str:
    """Return what is wrong with an index of NUL bytes in a closed segment, and what to do."""
    todo = "to do: remove the indexes of the segment while the broker is stopped: the start writes them anew"
    return f"{NUL_FILE.format(size)}; {todo}"


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order of a file's bytes; several of a kind in it are the first, with a count."""
    result: list[Finding] = []
    slots: dict[tuple[str, str | None, str | None], int] = {}
    for finding in findings:
        slot = (
            slots.setdefault((finding.code, finding.dir, finding.path), len(result))
            if finding.more is not None
            else len(result)
        )
        if slot == len(result):
            result.append(finding)
        else:
            first = result[slot]
            result[slot] = first._replace(more=(first.more or 0) + (finding.more or 0) + 1)
    files = groupby(result, key=attrgetter("dir", "path"))
    return [with_count(finding) for _, several in files for finding in sorted(several, key=_order)]


def _order(finding: Finding) -> tuple[bool, int, str]:
    return finding.position is None, finding.position or 0, finding.code


def with_count(finding: Finding) -> Finding:
    """Return a finding with how many more there are in its message."""
    message = f"{finding.message} (and {finding.more} more)" if finding.more else finding.message
    return finding._replace(message=message, more=None)
