"""`kcli diff`: what changed from one run to a later one."""

from collections.abc import Iterator

from kcli.cli.boundary import say
from kcli.cli.option import REQUIRED, argument, option
from kcli.cli.options import Output
from kcli.cli.status import UsageError


def diff(
    first: str = argument("RUN1", "A directory of --out NAME/, or one of these.", default=REQUIRED),
    last: str | None = argument("RUN2", "That of a later run of the same command."),
    *,
    all_partitions: bool = option("--all", "Unchanged partitions, too."),
    output: Output,
) -> None:
    """Compare two runs of ls, check, scan or startup: new damage, logs that shrank, rewritten epochs.

    A run is what --out NAME/ keeps. A partition that only grew, or lost old segments, is no finding. Of one
    directory of runs the newest is compared with the one before of the same command, host and labels.

    Example: kcli diff /var/lib/kcli/2026-01-30 /var/lib/kcli/2026-01-31
    """
    from kcli.cli.run import new_summary, run_answer
    from kcli.jobs.run_diff import RunError, compared, differences, last_two, record_of
    from kcli.kafka.findings.findings import Finding
    from kcli.output.values import iso
    from kcli.rows import Failure, Item

    summary = new_summary(output)
    summary.inputs = 2

    def rows() -> Iterator[Item]:
        try:
            if last is None:
                one, other = last_two(first)
                if not output.quiet:
                    for word, run in (("before", one), ("now", other)):
                        say(f"{word:6}  {run.path}  {iso(run.started_timestamp)}  {run.kind}")
            else:
                one, other = compared(record_of(first)), compared(record_of(last))
            if one.command != other.command:
                raise UsageError(
                    f"{first} is a run of {one.command}, {last} of {other.command}: compare runs of one"
                )
            if one.started_timestamp > other.started_timestamp:
                raise UsageError(f"{first} is the later run: write the earlier one first")
            for difference in differences(one, other, all_of_them=all_partitions):
                if isinstance(difference, Finding):
                    summary.findings.append(difference)
                else:
                    yield difference
            summary.answered = 2
        except RunError as error:
            summary.failures.append(Failure("", "not-a-run", None, None, str(error)))

    run_answer("diff", rows(), output, summary)
