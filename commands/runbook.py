"""`kcli runbook`: shell scripts for the person on call; alerting rules and a dashboard."""

import typer

from kcli.cli.command import argument
from kcli.cli.status import UsageError
from kcli.cli.terminal import hanging
from kcli.output.suggest import did_you_mean
from kcli.runbooks import runbooks


def runbook(
    name: str | None = argument("[NAME]", "The runbook to print; none: list all.", words=runbooks),
) -> None:
    """Print a script that answers one question of an incident; without NAME list them.

    They are POSIX sh and need kcli and jq. They change nothing: they print what to run. Two are none:
    Prometheus' rules and a dashboard of Grafana, over the metrics that --out FILE.prom writes.

    Example: kcli runbook pre-start-gate > pre-start-gate.sh
    """
    all_of_them = runbooks()
    if name is None:
        width = max(map(len, all_of_them))
        for runbook_name, entry in all_of_them.items():
            typer.echo(hanging(f"{runbook_name:{width}}  ", entry.question))
            typer.echo(hanging(f"{'':{width}}  ", entry.answer))
    elif name in all_of_them:
        typer.echo(all_of_them[name].text, nl=False)
    else:
        advice = did_you_mean(name, all_of_them).rstrip() or "kcli runbook lists them"
        raise UsageError(f"runbook {name}: no such runbook; {advice}")
