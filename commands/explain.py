"""`kcli explain`: what a finding's code means."""

import re

import typer

from kcli.cli.command import argument
from kcli.cli.status import UsageError
from kcli.cli.terminal import hanging
from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.output.suggest import did_you_mean


def explain(codes: list[str] | None = argument("[CODE]...", "e.g. EPOCH-001; none: list all.")) -> None:
    """Say what a finding means, what the broker will do about it, and what to do."""
    if not codes:
        for code, rule in CATALOGUE.items():
            typer.echo(hanging(f"{code}  {rule.severity:7}  ", rule.title))
    for code in map(str.upper, codes or ()):
        if code not in CATALOGUE:
            near = f"did you mean {spelling}?" if (spelling := _with_digits(code)) in CATALOGUE else ""
            advice = near or did_you_mean(code, CATALOGUE).rstrip() or "kcli explain alone lists all"
            raise UsageError(f"explain {code}: no such code; {advice}")
        rule = CATALOGUE[code]
        typer.echo(hanging(f"{code} ({rule.severity}): ", rule.title))
        typer.echo(hanging("  broker: ", rule.broker))
        typer.echo(hanging("  what to do: ", rule.action))


def _with_digits(code: str) -> str:
    """Return LOG-001 for LOG-01, LOG-1, LOG1 and LOG_001."""
    match = re.fullmatch(r"([A-Z]+)[-_ ]?([0-9]{1,6})", code)
    return f"{match[1]}-{int(match[2]):03}" if match else code
