"""Collects the findings about one file: one per code, the first in full, with how many more there are."""

import os
from collections.abc import Generator
from typing import TypeVar

from kcli.kafka.findings.findings import Finding
from kcli.logdir.buffers import FileError
from kcli.logdir.concurrent_changes import SHRANK
from kcli.logdir.targets import Target

T = TypeVar("T")
Yielded = TypeVar("Yielded")
LIKE_AN_APPEND = ("LOG-001", "DUMP-004")
"""A torn last batch, and index entries that lead past the end of the log as it was when it was opened."""


def collect_findings(reporting: Generator[Yielded, None, T], findings: list[Yielded] | None = None) -> T:
    """Return what a generator, most often of findings, returns; a list that is given gets what it yields."""
    while True:
        try:
            finding = next(reporting)
        except StopIteration as done:
            result: T = done.value
            return result
        if findings is not None:
            findings.append(finding)


class FindingCollector:
    """Findings about one file: one per code, the first in full, with how many more there are.

    What was reported is taken with each piece of a scan; `findings.merged` puts the pieces together.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.origin = 0
        """Byte of the file at which begins what is read: positions count from there."""
        self.first: dict[str, Finding] = {}
        self.repeats: dict[str, int] = {}
        self.gaps = 0
        """Damaged ranges that were met."""
        self.is_cut = False
        """Whether a log is read to a place inside of it, by choice."""
        self.ran_past_end = False
        """Whether a piece of a log went on after its end, or ended where the log does for who reads it."""

    def finding(self, code: str, position: int | None, message: str) -> Finding:
        """Return a finding about the file."""
        directory = os.path.dirname(self.target.shown) or "."
        byte = None if position is None else self.origin + position
        return Finding(code, message, dir=directory, path=self.target.shown, position=byte)

    def add(self, code: str, position: int | None, message: str) -> None:
        """Keep a finding, or count it if there is one of its code."""
        if code in self.first:
            self.repeats[code] += 1
        else:
            self.first[code] = self.finding(code, position, message)
            self.repeats[code] = 0

    def add_error(self, error: FileError) -> None:
        """Keep that the file cannot be read; a broker cut one that shrank, as a roll does an index."""
        self.add("LOG-005" if error.code == SHRANK else "LOG-008", error.position, error.message)

    def take(self) -> list[Finding]:
        """Return the findings since the last call; of a growing log none that an append looks like."""
        if "LOG-005" in self.first:
            for code in LIKE_AN_APPEND:
                self.first.pop(code, None)
        if not self.first:
            return []
        counted = [finding._replace(more=self.repeats[code]) for code, finding in self.first.items()]
        self.first.clear()
        self.repeats.clear()
        return counted
