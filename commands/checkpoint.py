"""`kcli checkpoint`: what the checkpoint files of a log dir say about its partitions."""

from kcli.cli.command import Command, Options
from kcli.cli.typer_command import Group

app = Group("The checkpoint files of a log dir, joined by partition.")


@app.callback()
def checkpoint() -> None:
    """Keep `show` a word of its own while it is the only command."""


@app.command("show")
def show(*, options: Options) -> Command:
    """Print the offsets of all checkpoint files for each partition, and what contradicts the log.

    Example: kcli checkpoint show /var/lib/kafka/data
    """
    from kcli.jobs import checkpoint as jobs

    return Command("checkpoint show", options, jobs.show)
