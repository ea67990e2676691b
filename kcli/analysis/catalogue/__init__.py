"""What kcli can find, by stable code: what each finding means, what the broker does, what to do.

Codes are promises: scripts grep for them. `kcli explain CODE` prints an entry; a test fails when a code is
used but not explained, or explained but not used.
"""

from kcli.analysis.catalogue.checks import CHECKS
from kcli.analysis.catalogue.logs import LOGS
from kcli.analysis.catalogue.metadata import METADATA
from kcli.analysis.catalogue.offsets import OFFSETS
from kcli.analysis.catalogue.remote import REMOTE
from kcli.analysis.catalogue.rule import Rule
from kcli.analysis.catalogue.runs import RUNS
from kcli.analysis.catalogue.starts import STARTS

PARTS = (LOGS, OFFSETS, STARTS, CHECKS, REMOTE, METADATA, RUNS)
CATALOGUE: dict[str, Rule] = {code: rule for part in PARTS for code, rule in part.items()}

__all__ = ["CATALOGUE", "PARTS", "Rule"]
