"""What kcli can find, by stable code: what each finding means, what the broker does, what to do.

Codes are promises: scripts grep for them. The page `findings` of the manual has them all, `kcli explain CODE`
prints one; a test fails when a code is used but not explained, or explained but not used.
"""

import re
from typing import NamedTuple

from kcli.manual import page


class Rule(NamedTuple):
    """What a code means: its severity, what was found, what the broker does, what a person should do."""

    severity: str
    title: str
    broker: str
    action: str


RULE_OF_PAGE = re.compile(
    r"\*\*([A-Z]+-\d{3})\*\* \((\w+)\): (.+)\n\n- The broker: (.+)\n- What to do: (.+)\n"
)
CATALOGUE = {code: Rule(*rule) for code, *rule in RULE_OF_PAGE.findall(page("findings"))}
