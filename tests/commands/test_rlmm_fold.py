"""`rlmm state` and `rlmm check` over the partitions of __remote_log_metadata: each engine gives the same."""

import base64
import json

import pytest

from tests.kcli.jobs.rlmm.dumps import VALUES, batch
from tests.unprivileged import as_unprivileged

pytestmark = pytest.mark.slow

LOG = "{:020}.log"
PARTITIONS = 12


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A log dir with what each release wrote, in several metadata partitions of two segments each."""
    root = tmp_path_factory.mktemp("data")
    releases = [[base64.b64decode(value["value"]) for value in values] for values in VALUES.values()]
    for number in range(PARTITIONS):
        folder, values = root / f"__remote_log_metadata-{number}", releases[number % len(releases)]
        folder.mkdir()
        for start in (0, 50):
            some = values[start : start + 50]
            data = batch(start, some, last_offset_delta=len(some) - 1, codec=4 * (number % 2))
            (folder / LOG.format(start)).write_bytes(data)
    return root


WORDS = [("state",), ("state", "--deleted", "--topic", "telemetry.eu"), ("check", "--at", "2026-11-22")]
"""The ages that `check` gives are counted to one moment: they go on between two runs that are compared."""


@pytest.mark.slow
@pytest.mark.parametrize("words", WORDS)
def test_processes_give_the_same(kcli, cluster, words):
    ask = ("rlmm", words[0], cluster, *words[1:], "-o", "ndjson")
    inline = kcli(*ask)

    assert len(inline.stdout.splitlines()) > PARTITIONS
    assert kcli(*ask, "--jobs", "2").stdout == inline.stdout


@pytest.mark.spark
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("words", WORDS)
def test_spark_gives_the_same(kcli, cluster, session, words):
    ask = ("rlmm", words[0], cluster, *words[1:], "-o", "ndjson")

    assert kcli(*ask, "--spark").stdout == kcli(*ask).stdout


def test_the_history_of_a_segment_goes_on_over_files(kcli, cluster):
    first = json.loads(kcli("rlmm", "state", cluster, "--deleted", "-o", "ndjson").stdout.splitlines()[0])
    rows = [
        json.loads(line)
        for line in kcli(
            "rlmm", "state", cluster, "--history", first["segment_id"], "-o", "ndjson"
        ).stdout.splitlines()
    ]

    events = [row for row in rows if row["dir"] == first["dir"] and row["type"] == "remote_history"]
    assert [row["since_previous_ms"] is None for row in events] == [True] + [False] * (len(events) - 1)


def test_a_segment_that_cannot_be_read_is_an_error_and_the_others_are_folded(kcli, cluster, tmp_path):
    folder = tmp_path / "__remote_log_metadata-0"
    folder.mkdir()
    good = cluster / folder.name / LOG.format(0)
    for start, mode in ((0, 0o644), (50, 0), (90, 0)):
        copy = folder / LOG.format(start)
        copy.write_bytes(good.read_bytes())
        copy.chmod(mode)
    run = "CliRunner().invoke(app, ['rlmm', 'state', sys.argv[1], '-o', 'json']).stdout"
    # once before, so that nothing is left to import
    answer = as_unprivileged(
        f"from commands.app import app\nfrom typer.testing import CliRunner\n{run}", f"print({run})", folder
    )
    document = json.loads(answer)

    alone = kcli("rlmm", "state", folder / good.name, "-o", "json")
    assert document["rows"] == json.loads(alone.stdout)["rows"]
    (error,) = document["errors"]
    assert error["path"].endswith(LOG.format(50)) and "1 more files there cannot be read" in error["message"]
