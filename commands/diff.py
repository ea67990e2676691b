"""`kcli diff`: what changed from one run to a later one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kcli.cli.boundary import say
from kcli.cli.command import REQUIRED, Output, argument, option
from kcli.cli.status import UsageError

if TYPE_CHECKING:
    from kcli.jobs.run_diff import RunRecord


def diff(
    first: str = argument("RUN1", "A directory of --out NAME/, or one of these.", default=REQUIRED),
    last: str | None = argument("RUN2", "That of a later run of the same command."),
    *,
    all_partitions: bool = option("--all", "Unchanged partitions, too."),
    output: Output,
) -> None:
    """Compare two runs of ls, check, scan or startup: new damage, logs that shrank, rewritten epochs.

    A run is what --out NAME/ keeps. A partition that only grew, or lost old segments, is no finding. Of one
    directory of runs the newest of each command, host and labels is compared with the one before.

    Example: kcli diff /var/lib/kcli/2026-01-30 /var/lib/kcli/2026-01-31
    """
    from kcli.cli.run import new_summary, run_answer
    from kcli.jobs.run_diff import differences
    from kcli.kafka.findings.findings import Finding
    from kcli.output.run_directory import FileRowsError
    from kcli.rows import Failure, Item

    summary = new_summary(output)

    def rows() -> Iterator[Item]:
        pairs = _pairs(first, last, is_quiet=output.quiet)
        summary.inputs = 2 * len(pairs)
        for before, now in pairs:
            kind = f" ({now.kind})" if len(pairs) > 1 else ""
            try:
                for difference in differences(before, now, all_of_them=all_partitions):
                    if isinstance(difference, Finding):
                        summary.findings.append(difference._replace(message=difference.message + kind))
                    else:
                        yield difference
                summary.answered += 2
            except FileRowsError as error:
                summary.failures.append(Failure("", "not-a-run", None, None, str(error)))

    def answers() -> Iterator[Item]:
        try:
            yield from rows()
        except FileRowsError as error:
            summary.failures.append(Failure("", "not-a-run", None, None, str(error)))

    run_answer("diff", answers(), output, summary)


def _pairs(first: str, last: str | None, *, is_quiet: bool) -> "list[tuple[RunRecord, RunRecord]]":
    """Return the runs to compare; of a directory say on stderr which they are, and which are alone."""
    from kcli.jobs.run_diff import compared, pairs_in
    from kcli.output.values import iso

    if last is not None:
        before, now = compared(first), compared(last)
        if before.command != now.command:
            raise UsageError(
                f"{first} is a run of {before.command}, {last} of {now.command}: compare runs of one"
            )
        if before.started_timestamp > now.started_timestamp:
            raise UsageError(f"{first} is the later run: write the earlier one first")
        return [(before, now)]
    pairs = pairs_in(first)
    for earlier, newest in pairs if not is_quiet else ():
        named = {"alone": newest} if earlier is None else {"before": earlier, "now": newest}
        for word, run in named.items():
            say(f"{word:6}  {run.path}  {iso(run.started_timestamp)}  {run.kind}")
    return [(earlier, newest) for earlier, newest in pairs if earlier is not None]
