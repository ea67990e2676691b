"""An index entry may say anything: the answer comes from the log, in time, with a finding."""

import json

import pytest

from tests.builders import put_record, put_records

LOG = "00000000000000000000.log"
NEGATIVE = -5


@pytest.fixture(params=[NEGATIVE, -(1 << 31), 1 << 30, 61, 7])
def partition(request, log_dir):
    """Forty batches of ten records; the index leads nowhere for offset 199, its ends are right."""
    folder = log_dir.path / "orders-0"
    folder.mkdir()
    batches = [
        put_records(
            [put_record(number, timestamp_delta=number, value=b"v") for number in range(10)],
            base_offset=at,
            last_offset_delta=9,
            base_timestamp=1_700_000_000_000 + at,
            max_timestamp=1_700_000_000_009 + at,
        )
        for at in range(0, 400, 10)
    ]
    size = len(batches[0])
    assert {len(batch) for batch in batches} == {size}
    (folder / LOG).write_bytes(b"".join(batches))
    entries = [(99, 9 * size), (199, request.param), (299, 29 * size)]
    (folder / LOG.replace(".log", ".index")).write_bytes(
        b"".join(
            offset.to_bytes(4, "big") + position.to_bytes(4, "big", signed=True)
            for offset, position in entries
        )
    )
    times = [(1_700_000_000_099, 99), (1_700_000_000_199, 199), (1_700_000_000_299, 299)]
    (folder / LOG.replace(".log", ".timeindex")).write_bytes(
        b"".join(time.to_bytes(8, "big") + n.to_bytes(4, "big") for time, n in times)
    )
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "offsets"),
    [
        (("--offsets", "205..207"), [205, 206, 207]),
        (("--offsets", "199..199"), [199]),
        (("--time", "1700000000205..1700000000206"), [205, 206]),
        (("--tail", "3"), [397, 398, 399]),
        (("--tail", "250"), [*range(150, 400)]),
        (("--offsets", "205..250", "--tail", "2"), [249, 250]),
    ],
)
@pytest.mark.parametrize("output", ["ndjson", "text"])
def test_selections_do_not_follow_a_wrong_index(kcli, partition, words, offsets, output):
    done = kcli("dump", "--records", "-o", output, *words, partition)
    if output == "text":
        found = [int(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("|")]
    else:
        found = [
            row["offset"] for row in map(json.loads, done.stdout.splitlines()) if row["type"] == "dump_record"
        ]

    assert (done.exit_code, found) == (0, offsets)


def test_lookup_of_an_offset_scans(kcli, partition):
    done = kcli("lookup", "offset", 205, partition, "-o", "json")
    (row,) = json.loads(done.stdout)["rows"]

    assert (row["found"], row["batch_base_offset"]) == (True, 200)
