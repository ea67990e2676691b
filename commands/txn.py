"""`kcli txn`: transactions, as their coordinators and the data partitions know them."""

from functools import partial

from kcli.cli.command import BROKER, COORDINATOR_VERSION, Command, Options, option
from kcli.cli.parsers import parse_release, parse_time
from kcli.cli.typer_command import Group
from kcli.words import duration_ms

app = Group("Transactions: what coordinators know of them, and which are open or hang.")


@app.command("list")
def list_(*, kafka_version: str | None = COORDINATOR_VERSION, options: Options) -> Command:
    """Print each transactional id as its coordinator knows it, by __transaction_state.

    --topic, --partition: ids whose transaction holds one. Where the load of a coordinator would end, or never
    end, is a finding.

    Example: kcli txn list /var/lib/kafka/data
    """
    from kcli.jobs import transactions as jobs

    version = parse_release(kafka_version)
    selection = options.inputs.selection()
    return Command(
        "txn list",
        options.without_selection(),
        partial(jobs.listed, version=version, selection=selection),
        expand=jobs.coordinator_copies,
        without_rows="no transaction here holds what was asked for" if selection.names else None,
    )


@app.command("open")
def open_(
    *,
    at: str | None = option(
        "--at TIME",
        "The time to which ages are counted; without: now if a broker runs, else the newest record's.",
        BROKER,
    ),
    max_timeout: str = option(
        "--max-timeout DURATION",
        "Where no __transaction_state is here, a transaction hangs once nothing was written for so long.",
        default="15m",
    ),
    options: Options,
) -> Command:
    """Print the open transactions of each partition: who holds the last stable offset, and whether for good.

    A hanging one has the command that ends it, and the exit status is 1.

    Example: kcli txn open /var/lib/kafka/data
    """
    from kcli.engine.contract import at_end
    from kcli.jobs.cluster_metadata import known_settings, metadata_of
    from kcli.jobs.open_transactions import OpenTransactions, opened
    from kcli.jobs.transactions import with_coordinators

    now_ms = parse_time(at)
    job = partial(opened, now_ms=now_ms, age_at_ms=None if at is None else now_ms)
    longest_ms, selection = duration_ms(max_timeout), options.inputs.selection()
    return Command(
        "txn open",
        options.without_selection(),
        job_of=lambda file_set: partial(job, known=known_settings(metadata_of(file_set))),
        expand=lambda file_set: with_coordinators(file_set, selection),
        reduce=lambda file_set: at_end(OpenTransactions(file_set, now_ms, longest_ms)),
        rows_from_reduce=True,
    )
