"""What kcli can find, by stable code: what each finding means, what the broker does, what to do.

Codes are promises: scripts grep for them. `kcli explain CODE` prints an entry; a test fails when a code is
used but not explained, or explained but not used.
"""

from kcli.kafka.findings.catalogue.logs import LOGS
from kcli.kafka.findings.catalogue.questions import QUESTIONS
from kcli.kafka.findings.catalogue.remote import REMOTE
from kcli.kafka.findings.catalogue.starts import STARTS

PARTS = (LOGS, QUESTIONS, STARTS, REMOTE)
CATALOGUE = {code: rule for part in PARTS for code, rule in part.items()}
