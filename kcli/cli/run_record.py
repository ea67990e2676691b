"""run.json: what a run was asked, when, on which host, and what came of it."""

import re
import socket
import sys
import time
from collections import Counter

from kcli import __version__
from kcli.cli.status import ExitStatus, UsageError
from kcli.cli.summary import RunSummary
from kcli.kafka.findings.findings import SEVERITIES
from kcli.output.view import View

LABEL = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,62})=(.{0,1024})")


def labels_of(words: list[str] | None) -> dict[str, str]:
    """Return the labels of --label KEY=VALUE; UsageError for other words, and for a key given twice."""
    found: dict[str, str] = {}
    for word in words or ():
        pair = LABEL.fullmatch(word)
        if pair is None:
            raise UsageError(f"--label {word}: expected KEY=VALUE, the key of letters, digits, _ . -")
        if pair[1] in found:
            raise UsageError(f"--label {word}: {pair[1]} has a value already")
        found[pair[1]] = pair[2]
    return found


def run_record(view: View, summary: RunSummary) -> dict[str, object]:
    """Return what run.json says of a run that is complete; times are epoch milliseconds."""
    findings, failures = summary.messages()
    severities = Counter(finding.severity for finding in findings)
    status = summary.status()
    return {
        "command": view.command,
        "arguments": sys.argv[1:],
        "kcli_version": __version__,
        "host": socket.gethostname(),
        "started_timestamp": summary.started_ms,
        "ended_timestamp": time.time_ns() // 1_000_000,
        "inputs": summary.inputs,
        "answered": summary.inputs - summary.unread,
        "findings": {severity: severities[severity] for severity in SEVERITIES},
        "errors": len(failures),
        "exit_status": int(status),
        "verdict": ExitStatus(status).name.lower().replace("_", "-"),
    }
