"""Scans of small partition directories for tests."""

from dataclasses import replace

from kcli.engine.contract import Job, Outcome
from kcli.engine.inline import inline
from kcli.jobs.common import plan
from kcli.jobs.log_pass.log_targets import LOG_ACCEPTS, expand
from kcli.jobs.log_pass.scan import DirectoryScan, ScanLog, ScanOptions, fold_directories, group_directories
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from kcli.rows import type_name
from tests.partitions import log_dir, offset_entries, put_range, segment
from tests.rows import named


def two_partitions(tmp_path):
    """Make a log dir with two partitions: good segments, a damaged one, an empty one."""
    root = log_dir(tmp_path / "d")
    write(root / "orders-0", 0, [put_range(base, 2, epoch=base // 20) for base in range(0, 40, 2)])
    write(
        root / "orders-0",
        40,
        [put_range(base, 2, producer_id=base, attributes=0x10) for base in range(40, 80, 2)],
    )
    write(root / "orders-0", 80, [])
    good = [put_range(base, 2) for base in range(0, 40, 2)]
    wrong = bytearray(good[9])
    wrong[-1] ^= 1
    write(root / "orders-1", 0, [*good[:9], bytes(wrong), *good[10:]])
    write(
        root / "orders-1",
        40,
        [*(put_range(base, 2) for base in range(40, 60, 2)), b"\xff" * 64, put_range(60, 2), b"\1" * 9],
    )
    return root


def write(directory, base, raws):
    entries, at = [], 0
    for raw in raws:
        if at and raw[:1] == b"\0":
            entries.append((int.from_bytes(raw[:8], "big") - base + 1, at))
        at += len(raw)
    segment(directory, base, b"".join(raws), offset_entries(*entries))


def units_of(*paths):
    units, failures = plan(expand(find(list(map(str, paths)), Selection())), LOG_ACCEPTS)
    assert failures == []
    return units


def scanned(*paths, engine=inline, **options):
    """Return an outcome for each log, with the rows, the findings and the error that are about it."""
    scan_log = ScanLog(ScanOptions(**options))
    job = Job(scan_log, fold_directories(lambda: DirectoryScan(scan_log.options.rows)))
    units = units_of(*paths)
    ranges = group_directories(units)
    found = [Outcome(number=unit.number) for unit in units]
    place = {unit.target: number for number, unit in enumerate(units)}
    for outcome in engine(job, ranges):
        log = found[place[ranges[outcome.number].target]]
        log.rows.extend(outcome.rows)
        log.findings.extend(outcome.findings)
        assert log.error is None or outcome.error is None
        found[log.number] = replace(log, error=log.error or outcome.error)
    return found


def rows(outcomes, kind):
    return [named(row) for o in outcomes for row in o.rows if type_name(row) == kind]


def shape(outcomes):
    return [(o.number, o.rows, o.findings, o.error) for o in outcomes]
