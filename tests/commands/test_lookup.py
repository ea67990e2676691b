"""`kcli lookup` on the command line."""

import json

import pytest

from tests.commands.answers import ask
from tests.partitions import log_dir, put_range, segment, time_entries

JANUARY = 1_767_225_600_000
"""2026-01-01T00:00:00Z"""


@pytest.fixture
def directory(tmp_path):
    path = log_dir(tmp_path / "d") / "orders-0"
    segment(
        path, 0, put_range(0, 10, timestamp=JANUARY, step=1000), timeindex=time_entries((JANUARY + 9000, 9))
    )
    return path


@pytest.mark.parametrize(
    ("what", "asked", "offset"),
    [
        ("offset", "earliest", 0),
        ("offset", "latest", 10),
        ("timestamp", "2026-01-01T01:00:04.500+01:00", 5),
        ("timestamp", "max", 9),
        ("timestamp", "2027-01-01", None),
    ],
)
def test_what_was_asked_reaches_the_job(directory, what, asked, offset):
    answer, status = ask("lookup", what, asked, directory)
    assert ([row["offset"] for row in answer["rows"]], status) == ([offset], 0)


def test_a_batch_beyond_the_bound_is_read_where_the_switch_allows_it(directory):
    answer, status = ask("lookup", "timestamp", JANUARY + 3000, directory, "--max-batch-bytes", 100)
    (error,) = answer["errors"]

    assert (status, error["error"], error["field"]) == (3, "limit", "batch size")
    assert "at most 100 bytes" in error["message"]
    assert error["message"].endswith("; --max-batch-bytes raises the bound")
    answer, status = ask("lookup", "timestamp", JANUARY + 3000, directory, "--max-batch-bytes", 100_000)
    assert ([row["offset"] for row in answer["rows"]], status) == ([3], 0)


@pytest.mark.parametrize(("words", "status"), [((), 0), (("--exit-code",), 1)])
def test_exit_code_says_that_an_offset_is_not_there(kcli, tmp_path, words, status):
    partition = log_dir(tmp_path / "d") / "orders-0"
    segment(partition, 0, put_range(0, 4))
    answer = kcli("lookup", "offset", "999999", partition, "-o", "json", *words)

    assert [row["found"] for row in json.loads(answer.stdout)["rows"]] == [False]
    assert answer.exit_code == status
    assert kcli("lookup", "offset", "0", partition, *words).exit_code == 0
    assert kcli("lookup", "timestamp", "tomorrow", partition, *words).exit_code == status
