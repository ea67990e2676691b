"""`kcli runbook`: shell scripts for the person on call."""

import typer

from kcli.cli.option import argument
from kcli.cli.status import UsageError
from kcli.cli.terminal import hanging
from kcli.runbooks import runbooks


def runbook(
    name: str | None = argument("[NAME]", "The script to print; none: list all.", words=runbooks),
) -> None:
    """Print a script that answers one question of an incident; without NAME list them.

    They are POSIX sh and need kcli and jq. They change nothing: they print what to run.

    Example: kcli runbook pre-start-gate > pre-start-gate.sh
    """
    texts = runbooks()
    if name is None:
        width = max(map(len, texts))
        for known, text in texts.items():
            question, statuses = (line.removeprefix("# ") for line in text.splitlines()[1:3])
            typer.echo(hanging(f"{known:{width}}  ", question))
            typer.echo(hanging(f"{'':{width}}  ", f"status {statuses}"))
    elif name in texts:
        typer.echo(texts[name], nl=False)
    else:
        from kcli.output.suggest import did_you_mean

        advice = did_you_mean(name, texts).rstrip() or "kcli runbook lists them"
        raise UsageError(f"runbook {name}: no such runbook; {advice}")
