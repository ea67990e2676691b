"""`kcli checkpoint`: what the checkpoint files of a log dir say about its partitions."""

from kcli.cli.options import EngineOptions, Inputs, Output
from kcli.cli.typer_command import Group

app = Group(no_args_is_help=True, help="The checkpoint files of a log dir, joined by partition.")


@app.callback()
def checkpoint() -> None:
    """Keep `show` a word of its own while it is the only command."""


@app.command("show")
def show(*, inputs: Inputs, output: Output, engine: EngineOptions) -> None:
    """Print the offsets of all checkpoint files for each partition, and what contradicts the log.

    Example: kcli checkpoint show /var/lib/kafka/data
    """
    from kcli.cli.run import Command, run
    from kcli.jobs import checkpoint as jobs

    run(Command(name="checkpoint show", job=jobs.show), inputs, output, engine)
