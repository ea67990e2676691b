"""The loop over the blocks of a log: rows, and places to go on from."""

from kcli.dump.options import DumpOptions
from kcli.dump.pauses import Pause
from kcli.dump.readers_by_kind import read_log
from kcli.engine.contract import Unit
from kcli.kafka.findings.collector import FindingCollector
from kcli.logdir.find import file_target
from tests.partitions import put_range

WRAPPED = 2


def shown(path, end=0, **options):
    """Return the pauses and the rows of a log, and the codes of the findings."""
    target = file_target(str(path))
    findings = FindingCollector(target)
    items = list(read_log(Unit(number=0, targets=(target,), end=end), DumpOptions(**options), findings))
    pauses = [item for item in items if isinstance(item, Pause)]
    return pauses, [item for item in items if not isinstance(item, Pause)], list(findings.first)


def log(tmp_path, batches=3):
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(put_range(WRAPPED * number, WRAPPED) for number in range(batches)))
    return path


def test_after_each_block_there_is_a_place_to_go_on_from(tmp_path):
    path = log(tmp_path)
    pauses, rows, codes = shown(path, records=True)

    assert [row.offset for part in rows for row in getattr(part, "rows", [part])] == list(range(6))
    assert pauses[-1].resume.position == path.stat().st_size
    assert codes == []


def test_a_tail_is_given_at_once(tmp_path):
    pauses, rows, _ = shown(log(tmp_path), records=True, tail=3)

    assert [row.offset for part in rows for row in getattr(part, "rows", [part])] == [3, 4, 5]
    assert pauses == []


def test_a_log_that_grows_is_noted_by_who_reads_its_end(tmp_path):
    path = log(tmp_path)
    target, middle = file_target(str(path)), len(put_range(0, WRAPPED))
    for end, codes in ((middle, []), (0, ["LOG-005"])):
        findings = FindingCollector(target)
        unit = Unit(number=0, targets=(target,), end=end)
        items = read_log(unit, DumpOptions(records=True), findings)
        next(items)
        with path.open("ab") as file:
            file.write(put_range(6, WRAPPED))
        for _ in items:
            pass

        assert list(findings.first) == codes
