"""What the catalogue says of a finding."""

from typing import NamedTuple


class Rule(NamedTuple):
    """What a code means: its severity, what was found, what the broker does, what a person should do."""

    severity: str
    title: str
    broker: str
    action: str
