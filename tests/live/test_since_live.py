"""`check --since` beside a busy broker, paused, killed, stopped: all that `check` says, by less reading."""

import time

import pytest

from tests.commands.answers import ask
from tests.live.workload import busy_broker
from tests.processes import free_base_port

pytestmark = [pytest.mark.oracle, pytest.mark.moving]

ROUNDS = 8


def answer(document):
    rows = {row["dir"]: (row["result"], row["log_end_offset"]) for row in document["rows"]}
    above = [finding for finding in document["findings"] if finding["severity"] != "info"]
    return rows, above, document["errors"]


def log_bytes(document, unsettled):
    """Return the bytes of logs that `check` read, without those of some directories."""
    return sum(row["log_bytes"] or 0 for row in document["rows"] if row["dir"] not in unsettled)


def test_it_says_what_a_check_of_everything_says(tmp_path):
    read = []

    def look(what):
        state = ((), *[("--since", tmp_path / "state")] * 2)
        whole, since, again = (ask("check", *words, *workload.log_dirs)[0] for words in state)
        assert answer(since) == answer(again) == answer(whole), what
        assert what != "stopped" or answer(whole)[1:] == ([], [])
        # paused in a write or between two renames: such a directory is read each time
        swaps = {str(path.parent) for log_dir in workload.log_dirs for path in log_dir.glob("*/*.swap")}
        unsettled = swaps | {finding["dir"] for finding in answer(whole)[1]}
        read.append([log_bytes(one, unsettled) for one in (whole, since, again)])

    with busy_broker(tmp_path / "node", free_base_port()) as workload:
        node = workload.cluster.nodes[1]
        for number in range(ROUNDS):
            time.sleep(1)
            node.pause()
            look(number)
            node.resume()
        workload.stop()
        assert workload.failures == []
        node.kill()
        look("killed")
        node.start()
        node.stop()
        look("stopped")
    everything, new, nothing = map(sum, zip(*read[1:], strict=True))
    assert new < everything, read  # a segment that grew is read whole
    assert nothing < new / 100, read
