"""`kcli producers`: what a broker remembers of each producer."""

from functools import partial

from kcli.cli.command import BROKER, Command, Options, option
from kcli.cli.parsers import parse_time


def producers(
    *,
    at: str | None = option(
        "--at TIME", "The time of the start, before which producers expire; without: now.", BROKER
    ),
    options: Options,
) -> Command:
    """Print what a broker remembers of each producer: epoch, last batch, open transaction, expiry.

    As after a start: the newest producer snapshot, and the log behind it.

    Example: kcli producers /var/lib/kafka/data --topic orders
    """
    from kcli.jobs import producers as jobs
    from kcli.jobs.cluster_metadata import known_settings, metadata_of
    from kcli.jobs.copies import noting_copies

    job = partial(jobs.producers, now_ms=parse_time(at))
    return Command(
        "producers",
        options,
        job_of=lambda file_set: partial(job, known=known_settings(metadata_of(file_set))),
        expand=noting_copies,
    )
