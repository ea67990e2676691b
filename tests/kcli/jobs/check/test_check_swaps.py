"""`check` of a log whose segments wait as `.swap` files: it is judged as the log that a start takes in."""

import json
import random
from pathlib import Path

import pytest

from tests.kcli.jobs.growing import Log

pytestmark = pytest.mark.slow

SEEDS = 12
WHOLE = ("log", "index", "timeindex", "txnindex")
INDEXES, ONE = WHOLE[1:], WHOLE[2:3]


@pytest.fixture
def check(kcli):
    def run(*words):
        return json.loads(kcli("check", "-o", "json", *words).stdout)

    return run


def written(root, seed, *, clean):
    """Return a log of several segments, with producers, transactions and all that a broker writes."""
    log = Log(root, random.Random(seed))
    for _ in range(4):
        for _ in range(12):
            log.append()
        log.elect()
        log.roll()
    log.append()
    log.write(log.active)
    if clean:
        log.stop()
    return log


def swap(log, base, extensions=WHOLE):
    """Leave files of a segment as an interrupted swap does; a broker renames the log first."""
    for path in [log.path(base, extension) for extension in extensions]:
        if path.exists():
            path.rename(f"{path}.swap")


def judged(document):
    """Return the rows, findings and errors; of files with the names that a start gives them."""
    text = json.dumps([document["rows"], document["findings"], document["errors"]]).replace(".swap", "")
    rows, findings, errors = json.loads(text)
    for row in rows:
        del row["findings"]
    return rows, [finding for finding in findings if finding["code"] != "START-003"], errors


def segments(document):
    return [row["segments"] for row in document["rows"] if row["topic"]]


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_segment_that_waits_as_a_swap_is_judged_as_what_it_becomes(check, tmp_path, seed, clean):
    """Offsets, epochs, producers, snapshots, transactions and indexes fit together as before."""
    log = written(tmp_path / "d", seed, clean=clean)
    before = check(log.root)
    base = sorted(log.segments)[seed % 4]
    swap(log, base, (WHOLE, WHOLE, INDEXES, ONE)[seed // 4 % 4])
    after = check(log.root)
    assert judged(after) == judged(before)
    assert segments(after) == [len(log.segments)]


@pytest.mark.parametrize("extension", ["log", "index", "timeindex"])
def test_damage_of_a_swap_is_found(check, tmp_path, extension):
    log = written(tmp_path / "d", 1, clean=True)
    base = sorted(log.segments)[1]
    swap(log, base)
    path = Path(f"{log.path(base, extension)}.swap")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    found = check(log.root)
    assert str(path) in {finding["path"] for finding in found["findings"] if finding["severity"] != "info"}


def test_what_a_swap_replaces_is_not_read(check, tmp_path):
    """The swap of a cleaning holds what two segments held; the second may still be there."""
    log = written(tmp_path / "d", 2, clean=True)
    first, second, *_ = sorted(log.segments)
    merged = log.path(first, "log").read_bytes() + log.path(second, "log").read_bytes()
    swap(log, first)
    Path(f"{log.path(first, 'log')}.swap").write_bytes(merged)
    log.path(second, "log").write_bytes(b"damage" * 20)
    found = check(log.root)
    assert segments(found) == [len(log.segments) - 1]
    assert str(log.path(second, "log")) not in {finding["path"] for finding in found["findings"]}
    assert not {"LOG-017", "LOG-022", "LOG-023"} & {finding["code"] for finding in found["findings"]}


def test_offsets_are_missing_where_a_start_deletes_the_swap(check, tmp_path):
    log = written(tmp_path / "d", 3, clean=True)
    base = sorted(log.segments)[1]
    swap(log, base)
    Path(f"{log.path(base, 'log')}.cleaned").write_bytes(b"")
    found = check(log.root)
    assert "LOG-022" in {finding["code"] for finding in found["findings"]}
    assert segments(found) == [len(log.segments) - 1]


def test_a_directory_with_swaps_is_read_every_night(check, tmp_path):
    log, state = written(tmp_path / "d", 4, clean=True), tmp_path / "state"
    base = sorted(log.segments)[1]
    for change in (lambda: None, lambda: swap(log, base), lambda: None):
        change()
        whole = check(log.root)
        assert judged(check("--since", state, log.root))[1:] == judged(whole)[1:]
    path = Path(f"{log.path(base, 'log')}.swap")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert "LOG-003" in {finding["code"] for finding in check("--since", state, log.root)["findings"]}
