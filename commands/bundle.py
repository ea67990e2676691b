"""`kcli bundle`: log dirs for somebody who may not see payloads."""

import os
from collections.abc import Iterator

from kcli.cli.command import Options, option
from kcli.cli.status import RefusedError, UsageError, writing
from kcli.cli.targets import refuse_log_dirs


def bundle(
    *,
    out: str | None = option("--out FILE.tar.gz", "The new archive."),
    rate: str | None = option(
        "--rate BYTES", "Read at most 50M a second, and drop what was read from the page cache."
    ),
    options: Options,
) -> None:
    """Write log dirs to the archive --out FILE.tar.gz without keys, values, headers and secrets.

    Batch headers, indexes, checkpoints and metadata are in it, where they lie in the log dirs: unpacked, kcli
    says the same of it. Names of topics, groups, clients and hosts are in it.

    Example: kcli bundle /var/lib/kafka/data --out /mnt/case-4711.tar.gz
    """
    from kcli.cli.inputs import find_listed, named_paths, nothing_matched, server_properties, topics_not_found
    from kcli.cli.run import new_summary, run_answer
    from kcli.cli.signals import interruptible
    from kcli.jobs.bundle.archive import Bundle
    from kcli.jobs.common import PARTITIONS_ONLY, failure_of, plan
    from kcli.logdir.buffers import AS_IT_COMES, Reading
    from kcli.logdir.find import each_once, with_unformatted
    from kcli.output.files import new_file
    from kcli.rows import Failure, Item
    from kcli.words import parse_rate

    inputs, output, engine = options
    if not out:
        raise UsageError("expected --out FILE.tar.gz, which is written")
    if not out.endswith((".tar.gz", ".tgz")):
        raise UsageError(f"--out {out}: expected a file that ends in .tar.gz or .tgz")
    if engine.uses_spark:
        raise UsageError("--spark: the archive is written by this process, on this host")
    refuse_log_dirs(f"--out {out}", out)
    if os.path.lexists(out):
        raise RefusedError(f"--out {out}: this is there already; choose a new file")
    reading = AS_IT_COMES if rate is None else Reading(parse_rate(rate, "--rate"), cold=True)
    summary = new_summary(output, "bundle")
    inputs = inputs._replace(include_leftovers=True)

    def rows() -> Iterator[Item]:
        listed = list(named_paths(inputs))
        file_set = each_once(with_unformatted(find_listed(listed, inputs.selection(), inputs)))
        summary.inputs = len(file_set.targets) + len(file_set.failures)
        units, failures = plan(file_set, PARTITIONS_ONLY)
        summary.failures.extend(failures)
        file_set.targets = [unit.target for unit in units]
        if not units and (failures or inputs.selection().names or not file_set.named_log_dirs):
            summary.failures.append(Failure("", "nothing-matched", None, None, nothing_matched(file_set)))
            return
        summary.failures.extend(topics_not_found(file_set, inputs))
        refuse_log_dirs(f"--out {out}", out, {os.path.realpath(log_dir) for log_dir in file_set.log_dirs})
        job = Bundle(file_set, server_properties(inputs), reading)
        with writing(f"--out {out}"):
            os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
            with new_file(out) as file:
                row = job.write(file, out)
        summary.failures.extend(map(failure_of, job.failures))
        summary.answered = 1
        yield row

    run_answer("bundle", interruptible(rows()), output, summary)
