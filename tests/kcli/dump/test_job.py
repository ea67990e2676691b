"""Every prefix and every flipped byte of small files: rows, findings or an error, never silence."""

import itertools

import pytest

from formats.batch import LOG_OVERHEAD
from kcli.dump import pauses
from kcli.dump.job import Dump, read_log
from kcli.dump.options import DumpOptions
from kcli.dump.pauses import Pause
from kcli.engine.contract import Unit
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import merged
from kcli.logdir import bulk
from kcli.logdir.find import file_target
from tests.formats import recorded
from tests.kcli.dump.plain import codes_of, errors_of, scanned
from tests.kcli.dump.random_logs import flipped, small_log
from tests.messages import put_message, put_wrapper
from tests.partitions import put_range

pytestmark = pytest.mark.slow

LOG = "00000000000000000000.log"
OFFSET_SIZE = 8
OPTIONS = {
    "batches": DumpOptions(),
    "records": DumpOptions(records=True),
    "text": DumpOptions(text=True, records=True, print_data_log=True),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_flipped_byte_of_a_log(tmp_path, name):
    data = small_log(recorded.batches("v1-none.log")[0][1])
    whole, clean, _ = scanned_bytes(tmp_path, data, OPTIONS[name])
    silent = set()
    for place, bad in enumerate(flipped(data)):
        rows, codes, errors = scanned_bytes(tmp_path, bad, OPTIONS[name])
        if not errors and codes == clean and len(rows) == len(whole):
            silent.add(place)
    assert clean == []
    assert silent <= uncovered(data)


@pytest.mark.parametrize("name", ["records", "text"])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_flipped_byte_of_a_message_inside_a_wrapper_is_a_finding(tmp_path, magic, name):
    inner = [put_message(at, magic, key=b"k", value=b"v") for at in range(3)]
    data, size = b"".join(inner), len(inner[0])
    checked = [place for place in range(len(data)) if place % size >= OFFSET_SIZE]
    for place, bad in enumerate(flipped(data)):
        if place in checked:
            wrapper = put_wrapper(2, bad, magic=magic)
            _, codes, errors = scanned_bytes(tmp_path, wrapper, OPTIONS[name])

            assert codes, place
            assert errors == []


def scanned_bytes(tmp_path, data, options):
    """Return the rows of a log, the codes of findings, and the errors."""
    (tmp_path / LOG).write_bytes(data)
    rows, outcomes = scanned(tmp_path / LOG, options)
    return rows, codes_of(outcomes), errors_of(outcomes)


def uncovered(data):
    """The bytes that no checksum covers: offsets, and leader epochs of magic 2."""
    places, position = set(), 0
    while position < len(data):
        places |= {position + at for at in range(8)}
        if data[position + 16] == 2:
            places |= {position + at for at in range(LOG_OVERHEAD, LOG_OVERHEAD + 4)}
        position += LOG_OVERHEAD + int.from_bytes(data[position + 8 : position + LOG_OVERHEAD], "big")
    return places


@pytest.mark.parametrize("name", OPTIONS)
def test_every_prefix_of_a_log(tmp_path, name):
    data = small_log(recorded.batches("v1-none.log")[0][1])
    ends = list(itertools.accumulate(len(part) for part in parts(data)))
    for length in range(len(data)):
        _, codes, errors = scanned_bytes(tmp_path, data[:length], OPTIONS[name])
        assert errors == []
        assert codes == ([] if length in {0, *ends} else ["LOG-001"])


def parts(data):
    while data:
        size = LOG_OVERHEAD + int.from_bytes(data[8:LOG_OVERHEAD], "big")
        yield data[:size]
        data = data[size:]


@pytest.mark.parametrize(
    "options",
    [DumpOptions(), DumpOptions(records=True), DumpOptions(text=True)],
    ids=["batches", "records", "text"],
)
def test_findings_do_not_depend_on_which_process_goes_on(tmp_path, options, monkeypatch):
    monkeypatch.setattr(pauses, "BYTES_PER_CALL", 20_000)
    monkeypatch.setattr(pauses, "ROWS_PER_CALL", 100)
    monkeypatch.setattr(bulk, "SMALLEST_WINDOW", 4000)
    monkeypatch.setattr(bulk, "BULK_WINDOW", 4000)
    batches = [bytearray(put_range(number * 3, 3)) for number in range(400)]
    for number in (1, 10, 300):
        batches[number][-1] ^= 1
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(batches))
    unit = Unit(number=0, targets=(file_target(str(path)),))
    found = []
    for forgets in (False, True):
        outcomes, rest = [], unit
        while rest is not None:
            if forgets:
                pauses._suspended.clear()  # what another process has not
            outcomes.append(Dump(options)(rest))
            rest = outcomes[-1].continuation
        assert len(outcomes) > 1
        found.append(merged([finding for outcome in outcomes for finding in outcome.findings]))
    assert found[0] == found[1]
    assert [finding.message for finding in found[0] if finding.code == "LOG-003"] == [
        "offset 3: the checksum does not match (and 2 more)"
    ]


def read(path, end=0, grow=b"", **options):
    """Return the pauses and the offsets of a log, and the codes of the findings."""
    target = file_target(str(path))
    findings = FindingCollector(target)
    items = []
    for item in read_log(Unit(number=0, targets=(target,), end=end), DumpOptions(**options), findings):
        with path.open("ab") as file:
            file.write(grow)
        grow = b""
        items.append(item)
    pauses = [item for item in items if isinstance(item, Pause)]
    return pauses, [item.offset for item in items if not isinstance(item, Pause)], list(findings.first)


def test_a_log_has_places_to_go_on_from_but_for_its_tail(tmp_path):
    path, data = tmp_path / f"{0:020}.log", b"".join(put_range(2 * number, 2) for number in range(3))
    path.write_bytes(data)
    pauses, offsets, codes = read(path, records=True)

    assert (offsets, codes, pauses[-1].resume.position) == ([*range(6)], [], len(data))
    assert read(path, records=True, tail=3) == ([], [3, 4, 5], [])


@pytest.mark.parametrize("end", [0, len(put_range(0, 2))])
def test_a_log_that_grows_is_noted_by_who_reads_its_end(tmp_path, end):
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(put_range(0, 2) + put_range(2, 2))

    assert read(path, end, put_range(6, 2), records=True)[2] == ([] if end else ["LOG-005"])
