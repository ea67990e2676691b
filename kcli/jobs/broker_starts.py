"""What the starts of brokers among the inputs mean to the logs in their log dirs."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kcli.engine.contract import Reduce, at_end
from kcli.jobs.log_starts import StartRequest
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.replica_fates import LogStart
from kcli.kafka.kraft.start_findings import findings_of_broker, of_plan, replica_fates
from kcli.kafka.kraft.start_plan import StartPlan, begun_empty
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.find import FileSet, log_dir_targets
from kcli.logdir.log_dirs import METADATA_DIRECTORY, QUORUM_STATE
from kcli.logdir.targets import Selection
from kcli.rows import Item


def with_plans(request: StartRequest, plans: Iterable[StartPlan]) -> StartRequest:
    """Return a request with the fates of the plans' directories, and the metadata logs that decide them."""
    all_plans = tuple(plans)
    paths = {
        log_dir.path: shown(plan.metadata_path)
        for plan in all_plans
        if plan.metadata_path is not None
        for log_dir in plan.log_dirs
    }
    return replace(request, fates=replica_fates(all_plans, request.version), metadata_paths=paths)


def expand(file_set: FileSet, plans: Sequence[StartPlan], selection: Selection) -> FileSet:
    """Return the same, log dirs that were named last: all of it decides. Nothing if none is selected.

    What kcli may not read is a failure here, but for the metadata logs in the log dirs: jobs read them.
    """
    empty = begun_empty(plans, selection)
    is_any = any(selection.wants(target.name) for target in file_set.targets)
    if selection.names and not (is_any or empty or any(plan.stops or plan.wait for plan in plans)):
        return replace(file_set, targets=[])
    named = plans if file_set.named_log_dirs else ()
    logs = [os.path.join(log_dir.path, METADATA_DIRECTORY) for plan in named for log_dir in plan.log_dirs]
    unread = [
        error
        for error in unread_files(named)
        if os.path.basename(error.path) == QUORUM_STATE or not error.path.startswith(tuple(logs))
    ]
    return replace(
        file_set,
        targets=[*file_set.targets, *log_dir_targets(file_set)],
        failures=[*file_set.failures, *unread],
        begun_empty=empty,
    )


def unread_files(plans: Iterable[StartPlan]) -> list[FileError]:
    """Return which files of log dirs and metadata logs kcli may not read, each once."""
    by_path = {error.path: error for plan in plans for error in plan.unread}
    return [FileError(shown(path), *error.args[1:]) for path, error in by_path.items()]


def broker_findings(plans: Sequence[StartPlan]) -> Reduce:
    """Return the reduce step that says what becomes of brokers and log dirs, by all LogStarts."""

    def finish(parts: list[list[LogStart]]) -> tuple[list[Item], list[Finding]]:
        logs = [log for unit_logs in parts for log in unit_logs]
        return [], [finding for plan in plans for finding in findings_of_broker(plan, of_plan(plan, logs))]

    return at_end(finish)
