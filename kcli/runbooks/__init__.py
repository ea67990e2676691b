"""The runbooks that `kcli runbook` prints: shell scripts for the person on call; the tests run each.

Two more are not run by a shell: alerting rules and a dashboard over the metrics of kcli.
"""

import json
from importlib import resources
from typing import NamedTuple

SCRIPT, RULES, DASHBOARD = "sh", "yml", "json"


class Runbook(NamedTuple):
    """One of them: its kind, its text, the question that it answers, and how it says the answer."""

    kind: str
    text: str
    question: str
    answer: str


def runbooks() -> dict[str, Runbook]:
    """Return each runbook by its name."""
    files = sorted(resources.files(__name__).iterdir(), key=lambda file: file.name)
    named = [(*file.name.partition(".")[::2], file) for file in files]
    return {
        name: _runbook(kind, file.read_text(encoding="utf-8"))
        for name, kind, file in named
        if kind in {SCRIPT, RULES, DASHBOARD}
    }


def _runbook(kind: str, text: str) -> Runbook:
    """Return the runbook of a text; its first comment, or a dashboard's description, has two lines."""
    if kind == DASHBOARD:
        return Runbook(kind, text, *json.loads(text)["description"].split("\n"))
    head = [line for line in text.splitlines()[:3] if not line.startswith("#!")]
    question, answer = (line.removeprefix("# ") for line in head[:2])
    return Runbook(kind, text, question, f"status {answer}" if kind == SCRIPT else answer)
