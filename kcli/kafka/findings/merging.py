"""Findings of the pieces of a file as those of the whole file."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from kcli.kafka.findings.findings import Finding


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings; several of one kind in one file are the first of them, with how many more there are.

    Those of one file come in the order of its bytes, in whatever pieces it was read.
    """
    result: list[Finding] = []
    places: dict[tuple[str, str | None, str | None], int] = {}
    for finding in findings:
        place = (
            places.setdefault((finding.code, finding.dir, finding.path), len(result))
            if finding.more is not None
            else len(result)
        )
        if place == len(result):
            result.append(finding)
        else:
            first = result[place]
            result[place] = first._replace(more=(first.more or 0) + (finding.more or 0) + 1)
    files = groupby(result, key=attrgetter("dir", "path"))
    return [_counted(finding) for _, several in files for finding in sorted(several, key=_place)]


def _place(finding: Finding) -> tuple[bool, int, str]:
    return finding.position is None, finding.position or 0, finding.code


def _counted(finding: Finding) -> Finding:
    words = f"{finding.message} (and {finding.more} more)" if finding.more else finding.message
    return finding._replace(message=words, more=None)
