"""From a query and pushed filters to tasks: which units must be read, in bins of about equal bytes.

Runs where Spark plans, and reads names, sizes and the log dirs' own files there. Bins are consecutive, so
that rows come in the order of `kcli dump`, `kcli ls` and the others; units of one directory lie together.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from typing import NamedTuple

from formats.names import LOG, REMOTE_LOG_METADATA, UNKNOWN, parse_file
from kcli.dump.filter import RecordFilter
from kcli.dump.job import ACCEPTS as DUMPED
from kcli.dump.job import Dump, DumpOptions
from kcli.engine.contract import Map, Outcome, Unit
from kcli.engine.spark_bins import COST_OF_A_UNIT, bin_count, consecutive_bins, size_of
from kcli.jobs.check.contradictions import with_contradictions
from kcli.jobs.check.remote_events import is_remote_metadata
from kcli.jobs.common import NO_EVENTS, PARTITIONS_ONLY, log_dir_findings, notes_as_findings, plan
from kcli.jobs.epoch import epoch_cache
from kcli.jobs.ls import after_epochs, ls
from kcli.jobs.rlmm import dump as rlmm
from kcli.jobs.rlmm.dump import dump_selected
from kcli.jobs.rlmm.read import expand
from kcli.jobs.scan import log_targets, scan
from kcli.kafka.findings.findings import Finding
from kcli.kafka.storage.directory_files import opened_files
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.find import Found, Note, find
from kcli.logdir.listing import listed, unexpected_names
from kcli.logdir.partition import Partition
from kcli.logdir.select import Selection
from kcli.logdir.targets import PARTITION, Target, partition_of
from kcli.rows import Failure
from kcli.rows.scan import SCAN_SEGMENT
from kcli.views.cutting import in_pieces
from kcli.views.definitions import BATCHES, EPOCHS, FINDINGS, OFFSETS, RECORDS, RLMM, SEGMENTS
from kcli.views.filters import HIGHEST, LOWEST, Pushed
from kcli.views.options import OptionError, Query
from kcli.views.ranges import Ranged

NAME_FINDINGS = frozenset({"LOG-010", "LOG-012", "LOG-013"})
"""What `unexpected_names` notes, as findings."""
OF_ARGUMENTS = frozenset({"wrong-kind", "nothing-to-read"})
"""Errors of arguments that are of no use to a view: one that is read by another is no error of a query."""
BYTES_A_BIN = 64 << 20
SMALL_LOG = 64 << 10
"""Of fewer bytes, a block of columns for a handful of batches costs more than their rows."""
GIANT = 1.5
"""Times the bytes of each core: for a larger log planning reads the headers, to split it."""


@dataclass(frozen=True, slots=True)
class SegmentScan:
    """The map of `kcli scan` for one whole segment: its row, and what is wrong with it.

    For a directory it is what a start finds there, and no row.
    """

    read: scan.ScanLog

    def __call__(self, unit: Unit) -> Outcome:
        """Return the row of a segment, and what is wrong."""
        (outcome,) = scan.one_by_one([(unit, self.read)])
        return outcome


SEGMENT = SegmentScan(scan.ScanLog(scan.ScanOptions(rows=frozenset({SCAN_SEGMENT.name}))))
FOUND = scan.ScanLog(scan.ScanOptions(rows=frozenset()))
"""What is wrong with a segment, and no row."""
FOUND_IN_HEADERS = scan.ScanLog(scan.ScanOptions(rows=frozenset(), verify=False))
"""The same for a segment whose checksums are known to match."""


def of_directory(units: Sequence[Unit], sound: Collection[str]) -> Iterator[Outcome]:
    """Yield what is wrong with each log of a directory. Checksums of `sound` paths match."""
    return scan.one_by_one((unit, FOUND_IN_HEADERS if unit.target.path in sound else FOUND) for unit in units)


class Work(NamedTuple):
    """One unit for one scan, and about what it costs in bytes."""

    scan: Map
    unit: Unit
    cost: int


class Works(NamedTuple):
    """The works of a view, the errors of arguments and directories, and notes about names."""

    works: list[Work]
    failures: list[Failure]
    notes: list[Note]


class Plan(NamedTuple):
    """The bins of a query, and what is known without tasks.

    For the view of findings that is failures, and findings of log dirs or partitions. For the others it is
    what cannot be read of directories, and is in no bin, and findings about names. `refused` are the errors
    of inputs that the view does not read, if another one of the query does not either.
    """

    bins: list[list[Work]]
    failures: list[Failure]
    findings: list[tuple[Target | None, Finding]]
    refused: Sequence[Failure] = ()


def planned(query: Query, pushed: Pushed, cores: int | None, *, decodes: bool = True) -> Plan:
    """Return what a query must read; OptionError if its paths lead to nothing at all.

    `decodes`: the columns that decode records of internal topics are selected.
    """
    found = readable(find(query.paths, Selection(include_leftovers=query.leftovers)))
    if not found.targets and found.failures and query.view != FINDINGS:
        raise OptionError(str(found.failures[0]))
    made = plan_of(query, found, pushed, cores, decodes=decodes, starts=False)
    if not made.bins and made.refused and made.refused[0].path:
        raise OptionError(f"{made.refused[0].path}: {made.refused[0].message}")
    return made


def readable(found: Found) -> Found:
    """Return the same without the files that no view reads; each is an error, as of `scan`."""
    unknown = [target for target in found.targets if target.kind == UNKNOWN]
    _, failures = plan(Found(targets=unknown), log_targets.ACCEPTS)
    return replace(
        found,
        targets=[target for target in found.targets if target.kind != UNKNOWN],
        failures=[*found.failures, *(FileError(one.path, one.error, one.message) for one in failures)],
    )


def refused_by_all(scans: Sequence[Sequence[Failure]]) -> list[Failure]:
    """Return the errors of inputs that no scan of a query reads; each scan has those that it does not."""
    paths = [{one.path for one in refused} for refused in scans]
    return [one for one in dict.fromkeys(chain(*scans[:1])) if all(one.path in some for some in paths)]


def plan_of(
    query: Query,
    found: Found,
    pushed: Pushed,
    cores: int | None,
    *,
    decodes: bool = True,
    starts: bool = True,
) -> Plan:
    """Return what a query must read of what its paths lead to.

    `starts`: the view of segments has work that gives no rows: what a start finds in each directory. Findings
    of segments and offsets say what log dirs contradict, as `scan` and `ls` do.
    """
    if query.view != RLMM:
        found = replace(found, targets=[target for target in found.targets if _wants(pushed, target)])
    if query.view == FINDINGS or (starts and query.view in {SEGMENTS, OFFSETS}):
        found = with_contradictions(found)
    if query.view != FINDINGS:
        works, failures, notes = _works(query.view, query, found, pushed, decodes=decodes, starts=starts)
        works = _without_giants(works, query.partitions or cores or os.cpu_count() or 1)
        of_view = failures[len(found.failures) :]
        missed = [one for one in of_view if one.error not in OF_ARGUMENTS]
        refused = [one for one in of_view if one.error in OF_ARGUMENTS]
        if query.view == RLMM and found.targets and not (works or failures):
            refused.append(Failure("", "nothing-matched", None, None, NO_EVENTS))
        bins = _bins([[work] for work in works], query.partitions, cores)
        of_names = notes_as_findings(dict.fromkeys([*found.notes, *notes]))
        return Plan(bins, missed, [(None, finding) for finding in of_names], refused)
    works, failures = _for_findings(query, found, pushed)
    together = [list(group) for _, group in groupby(works, key=lambda work: directory_of(work.unit.target))]
    of_log_dirs = [*notes_as_findings(found.notes), *_of_log_dirs(found.targets)]
    places: dict[str | None, Target] = {target.shown: target for target in found.targets}
    findings = [*((places.get(one.dir), one) for one in of_log_dirs), *_of_names(found.targets)]
    return Plan(_bins(together, query.partitions, cores), failures, findings)


def _wants(pushed: Pushed, target: Target) -> bool:
    topic, partition = (shown(target.name.topic), target.name.partition) if target.name else (None, None)
    return pushed.wants_topic(topic) and pushed.wants_partition(partition)


def _works(
    view: str, query: Query, found: Found, pushed: Pushed, *, decodes: bool, starts: bool = True
) -> Works:
    """Return the units of a view, in output order; `starts` as of `plan_of`."""
    if view in {BATCHES, RECORDS}:
        return _logs(_options(view, query, decodes=decodes), query, found, pushed)
    if view == RLMM:
        expanded = expand(found)
        targets = [target for target in expanded.targets if _holds_metadata(pushed, target)]
        job = partial(dump_selected, selection=query.users)
        return _of_units(job, replace(expanded, targets=targets), rlmm.ACCEPTS)
    if view == SEGMENTS:
        return _of_units(SEGMENT, log_targets.expand(found, starts=starts), log_targets.ACCEPTS)
    if view == EPOCHS:
        return _of_units(epoch_cache.show, found, epoch_cache.ACCEPTS)
    return _of_units(ls, found, PARTITIONS_ONLY)


def _of_units(scan: Map, found: Found, accepts: frozenset[str]) -> Works:
    units, failures = plan(found, accepts)
    return Works([Work(scan, unit, _cost(unit.target)) for unit in units], failures, found.notes)


def _cost(target: Target) -> int:
    return COST_OF_A_UNIT + (0 if target.kind == PARTITION else size_of(target))


def _holds_metadata(pushed: Pushed, target: Target) -> bool:
    """Return whether a file can hold events of the selected metadata partitions.

    The directory of a segment names its partition.
    """
    numbers = pushed.range("metadata_partition")
    of_topic = target.kind == LOG and target.name is not None and target.name.topic == REMOTE_LOG_METADATA
    return not of_topic or target.name is None or numbers.is_all or target.name.partition in numbers


# Batches and records


def _options(view: str, query: Query, *, decodes: bool) -> DumpOptions:
    records = view == RECORDS
    return DumpOptions(
        records=records,
        blocks=True,
        decode_by_name=records and decodes,
        max_batch_bytes=query.max_batch_bytes,
    )


def _logs(options: DumpOptions, query: Query, found: Found, pushed: Pushed) -> Works:
    requested = _record_filter(pushed, records=options.records)
    named = {target.path for target in found.targets if target.kind != PARTITION}
    expanded = Dump(
        replace(options, filter=RecordFilter(offsets=requested.offsets)), only_partitions=True
    ).expand(found)
    logs = list(_of_starts(expanded.targets, named, leftovers=query.leftovers))
    options = replace(options, filter=requested)
    job: Callable[[DumpOptions], Map] = Ranged if requested.offsets or requested.times else Dump
    works, failures, notes = _of_units(job(options), replace(expanded, targets=logs), log_targets.ACCEPTS)
    if not options.records:
        plain = job(replace(options, blocks=False))
        works = [
            work._replace(scan=plain) if work.cost < COST_OF_A_UNIT + SMALL_LOG else work for work in works
        ]
    return Works(works, failures, notes)


def _of_starts(targets: Sequence[Target], named: Collection[str], *, leftovers: bool) -> Iterator[Target]:
    """Yield the logs that a start opens, those that are `named`, and with `leftovers` the others, too."""
    for _, group in groupby(targets, key=directory_of):
        files = [(os.path.basename(target.path), target) for target in group]
        opened = opened_files(Partition(partition_of(files[0][1])), [name for name, _ in files])
        for name, target in files:
            is_log = target.kind == LOG and name in opened and not parse_file(opened[name]).is_inactive
            if is_log or target.path in named or (leftovers and target.kind == LOG):
                yield target


def _record_filter(pushed: Pushed, *, records: bool) -> RecordFilter:
    """Return the filter of batches or records that the options describe."""
    offsets = pushed.range("offset") if records else pushed.range("base_offset", "last_offset")
    times = pushed.range("timestamp" if records else "max_timestamp").bounds
    epochs, producers = pushed.range("partition_leader_epoch"), pushed.range("producer_id")
    return RecordFilter(
        offsets=None if offsets.is_all else offsets.bounds,
        times=None if times == (LOWEST, HIGHEST) else times,
        epochs=epochs.few,
        producer_ids=producers.few,
    )


def _without_giants(works: list[Work], at_once: int) -> list[Work]:
    """Return the same works; a log that would keep one core busy when the others are done is split."""
    most = GIANT * sum(work.cost for work in works) / at_once
    found = []
    for work in works:
        pieces = [work.unit]
        if work.cost >= most and isinstance(work.scan, Dump) and work.scan.comes_in_pieces:
            pieces = in_pieces(work.unit)
        ends = [piece.end or work.cost for piece in pieces]
        found += [
            work._replace(unit=piece, cost=max(end - piece.start, 1))
            for piece, end in zip(pieces, ends, strict=True)
        ]
    return found


# Findings


def _for_findings(query: Query, found: Found, pushed: Pushed) -> tuple[list[Work], list[Failure]]:
    """Return the units of every view that the option `of` names, those of one directory together."""
    works: list[Work] = []
    failures: list[Failure] = []
    for view in (BATCHES, RECORDS, SEGMENTS, EPOCHS, RLMM, OFFSETS):
        if view not in query.of or (view == BATCHES and RECORDS in query.of):
            continue
        if view in {BATCHES, RECORDS}:
            selects = not (pushed.wants_topic(None) and pushed.wants_partition(None))
            options = replace(_options(view, query, decodes=True), only_findings=True)
            job = Dump(options, only_partitions=selects)
            more, wrong, _ = _of_units(job, job.expand(found), DUMPED)
        else:
            more, wrong, _ = _works(view, query, _useful(view, query, found), pushed, decodes=True)
        if view == OFFSETS and EPOCHS in query.of:
            more = [work._replace(scan=after_epochs) for work in more]
        works += more
        failures += [failure for failure in wrong if failure not in failures]
    # the task of a directory that cannot be listed reports it
    read = {work.unit.target.shown for work in works if work.unit.target.kind == PARTITION}
    failures = [failure for failure in failures if failure.path not in read]
    order = {
        directory: number
        for number, directory in enumerate(dict.fromkeys(directory_of(work.unit.target) for work in works))
    }
    works.sort(key=lambda work: order[directory_of(work.unit.target)])
    return works, failures


def _useful(view: str, query: Query, found: Found) -> Found:
    """Return the targets that a view can read: a file that is not for all views is no finding.

    A log is one of events where its directory says so, or where findings of `rlmm` alone are asked for.
    """
    accepts = {
        RLMM: rlmm.ACCEPTS | PARTITIONS_ONLY,
        EPOCHS: epoch_cache.ACCEPTS,
        SEGMENTS: log_targets.ACCEPTS,
    }.get(view, PARTITIONS_ONLY)
    targets = [target for target in found.targets if target.kind in accepts]
    if view == RLMM and len(query.of) > 1:
        targets = [one for one in targets if one.kind != LOG or is_remote_metadata(one)]
    return replace(found, targets=targets)


def _of_log_dirs(targets: Iterable[Target]) -> Iterator[Finding]:
    """Yield what is wrong with the log dirs' own files, once for each log dir.

    Jobs report it for each partition.
    """
    for log_dir, group in groupby(targets, key=lambda target: target.log_dir):
        if log_dir is not None:
            yield from log_dir_findings(next(group))


def _of_names(targets: Iterable[Target]) -> Iterator[tuple[Target, Finding]]:
    """Yield what is wrong with the names in each partition directory, where they can be listed."""
    for target in targets:
        if target.kind == PARTITION:
            with suppress(FileError):
                yield from (
                    (target, finding)
                    for finding in notes_as_findings(unexpected_names(target, *listed(target.path)))
                )


def is_reported_by_planning(finding: Finding) -> bool:
    """Whether planning reports the finding, once for all tasks."""
    return finding.code in NAME_FINDINGS or (finding.code.startswith("DIR-") and finding.path is not None)


def directory_of(target: Target) -> str:
    """Return the directory that a target is, or lies in."""
    return target.path if target.kind == PARTITION else os.path.dirname(target.path)


# Bins


def _bins(groups: Sequence[list[Work]], requested: int | None, cores: int | None) -> list[list[Work]]:
    """Return consecutive bins of about equal cost; works of one group stay together."""
    costs = [sum(work.cost for work in group) for group in groups]
    count = requested or bin_count(costs, cores or os.cpu_count() or 1, BYTES_A_BIN)
    bins = consecutive_bins(groups, costs, count)
    return [[work for group in some for work in group] for some in bins]
