"""`kcli diff`: what changed from one run to a later one."""

from collections.abc import Iterator

from kcli.cli.boundary import say
from kcli.cli.command import REQUIRED, Output, argument, option


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
    from kcli.jobs import run_diff as jobs
    from kcli.output.run_directory import FileRowsError
    from kcli.output.values import iso
    from kcli.rows import Item

    summary = new_summary(output)

    def rows() -> Iterator[Item]:
        try:
            pairs = jobs.pairs_in(first) if last is None else [jobs.named_pair(first, last)]
        except FileRowsError as error:
            summary.failures.append(jobs.not_a_run(error))
            return
        for earlier, newest in pairs if last is None and not output.quiet else ():
            named = {"alone": newest} if earlier is None else {"before": earlier, "now": newest}
            for label, run in named.items():
                say(f"{label:6}  {run.path}  {iso(run.started_timestamp)}  {run.kind}")
        compared = [(earlier, newest) for earlier, newest in pairs if earlier is not None]
        summary.inputs = 2 * len(compared)
        for outcome in jobs.outcomes(compared, all_of_them=all_partitions):
            summary.add(outcome)
            yield from outcome.rows

    run_answer("diff", rows(), output, summary)
