"""What the catalogue says of a finding."""

from typing import NamedTuple


class Rule(NamedTuple):
    """One entry of the catalogue."""

    severity: str
    title: str
    broker: str
    action: str
