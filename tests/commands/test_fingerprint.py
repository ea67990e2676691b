"""`kcli replica fingerprint`, and `kcli replica diff` with what it wrote, on replicas that parted."""

import json

import pytest

from tests.builders import put_batch, put_record
from tests.partitions import orders, put_range
from tests.recordings import pack

pytestmark = pytest.mark.slow

HERE, THERE = "before-leader", "before-follower"
LOG = "00000000000000000000.log"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pack.unpack("truncation", tmp_path_factory.mktemp("fingerprint"))


@pytest.fixture
def taken(kcli, tmp_path):
    """Return a function that writes the fingerprints of paths to a file."""

    def take(name, *words):
        out = tmp_path / f"{name}.ndjson"
        done = kcli("replica", "fingerprint", *words, "--out", out)
        assert done.exit_code == 0, done.output
        return out

    return take


def ranges(kcli, *words):
    done = kcli("replica", "diff", *words, "-o", "json")
    assert done.exit_code in {0, 1}, done.output
    return [
        (row["topic"], row["first_offset"], row["last_offset"], row["verdict"], row["batches"])
        for row in json.loads(done.stdout)["rows"]
    ]


def test_ranges_of_one_batch_say_what_the_logs_say(kcli, folder, taken):
    """With a range for each offset only the reasons are missing."""
    theirs = taken("there", folder / THERE, "--every", "1")
    found = ranges(kcli, folder / HERE, theirs)
    expected = ranges(kcli, folder / HERE, folder / THERE)

    assert [one[:4] for one in found if one[3] != "differs"] == [
        one[:4] for one in expected if one[3] != "differs"
    ]
    assert {one[0]: one[1] for one in reversed(found) if one[3] == "differs"} == {
        one[0]: one[1] for one in reversed(expected) if one[3] == "differs"
    }


@pytest.mark.parametrize("every", [1, 7, 40, 10_000])
def test_two_manifests_say_what_one_and_a_log_say(kcli, folder, taken, every):
    words = ("--every", str(every), "--topic", "segments")
    mine, theirs = taken("here", folder / HERE, *words), taken("there", folder / THERE, *words)
    by_both = ranges(kcli, mine, theirs)

    assert by_both == ranges(kcli, mine, folder / THERE, "--topic", "segments")
    first = min((one[1] for one in by_both if one[3] == "differs"), default=40)
    assert 40 - every < first <= 40
    # a range in which one log ends is unknown
    unknown = 55 // every * every if 55 % every else 100
    found = [range_[1] // every * every for range_ in by_both if range_[3] == "unknown"]
    assert found == [unknown] * (unknown < 100)


def test_what_is_too_wide_to_compare_is_no_difference_and_no_equality(kcli, tmp_path, taken):
    batches = [batch(offset) for offset in range(900)]
    short = write(tmp_path / "a" / "t-0", (0, batches[:150]))
    long = write(tmp_path / "b" / "t-0", (0, [*batches[:140], batch(140, size=9), *batches[141:]]))
    files = [taken(name, path, "--every", "100") for name, path in (("a", short), ("b", long))]
    done = kcli("replica", "diff", *files, "-o", "json")
    document = json.loads(done.stdout)

    assert [(row["first_offset"], row["verdict"]) for row in document["rows"]] == [
        (0, "equal"),
        (100, "unknown"),
        (200, "only-there"),
    ]
    assert [finding["code"] for finding in document["findings"]] == ["REPL-003"]
    screen = kcli("replica", "diff", *files, "-o", "table").stdout
    assert "What was compared is the same; some offsets that both hold were not." in screen
    assert ranges(kcli, long, files[0])[1][3] == "unknown"


def test_a_manifest_without_its_end_is_refused(kcli, folder, taken):
    path = taken("cut", folder / HERE / "segments-0", "--every", "40")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    done = kcli("replica", "diff", path, folder / THERE, "-o", "json")

    assert done.exit_code == 4
    assert "the last of its fingerprints is missing" in done.stdout


def test_a_manifest_with_a_replica_twice_is_refused(kcli, folder, taken):
    path = taken("twice", folder / HERE / "equal-0")
    path.write_text(path.read_text() * 2)
    done = kcli("replica", "diff", path, folder / THERE / "equal-0", "-o", "json")

    assert "equal-0 is there twice" in json.loads(done.stdout)["errors"][0]["message"]


def test_a_range_has_offsets(kcli, folder, taken):
    path = taken("none", folder / HERE / "equal-0", "--every", "5")
    path.write_text(path.read_text().replace('"range_offsets":5', '"range_offsets":0'))
    done = kcli("replica", "diff", path, folder / THERE / "equal-0", "-o", "json")

    assert "expected a line of kcli replica" in json.loads(done.stdout)["errors"][0]["message"]


def test_of_an_empty_log_the_other_one_has_all(kcli, tmp_path, taken):
    empty = taken("empty", write(tmp_path / "a" / "t-0", (7, [])))
    other = write(tmp_path / "b" / "t-0", (7, [batch(offset) for offset in (7, 8, 9)]))

    assert [one[:4] for one in ranges(kcli, empty, other)] == [("t", 7, 9, "only-there")]


@pytest.mark.parametrize(
    ("topic", "cleaned", "verdict"),
    [
        ("t", "other 0 9", "only-here"),
        ("t", "t 0 9", "compacted"),
        ("__consumer_offsets", "other 0 9", "compacted"),
    ],
)
def test_what_a_cleaner_takes_is_not_missing(kcli, tmp_path, taken, topic, cleaned, verdict):
    batches = [batch(offset) for offset in range(10)]
    here = write(tmp_path / "a" / f"{topic}-0", (0, batches))
    (tmp_path / "a" / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n")
    (tmp_path / "a" / ".kafka_cleanshutdown").write_text("")
    (tmp_path / "a" / "cleaner-offset-checkpoint").write_text(f"0\n1\n{cleaned}\n")
    theirs = taken("b", write(tmp_path / "b" / f"{topic}-0", (0, batches[:4] + batches[5:])), "--every", "1")

    assert [one[1:4] for one in ranges(kcli, here, theirs) if one[3] != "equal"] == [(4, 4, verdict)]


def test_two_manifests_of_a_topic_that_is_compacted_may_lack_batches(kcli, tmp_path, taken):
    batches = [batch(offset) for offset in range(10)]
    logs = {"a": batches, "b": batches[:4] + batches[5:]}
    files = [
        taken(name, write(tmp_path / name / "__consumer_offsets-0", (0, log)), "--every", "1")
        for name, log in logs.items()
    ]

    assert [one[1:4] for one in ranges(kcli, *files) if one[3] != "equal"] == [(4, 4, "compacted")]


def write(folder, *segments):
    """Write segments of (base offset, batches) as a partition directory."""
    folder.mkdir(parents=True)
    for base, batches in segments:
        (folder / f"{base:020}.log").write_bytes(b"".join(batches))
    return folder


def batch(offset, epoch=0, size=100):
    return put_batch(
        put_record(value=bytes([offset % 251]) * size), 1, base_offset=offset, partition_leader_epoch=epoch
    )


def hashes(kcli, folder, *words):
    done = kcli("replica", "fingerprint", *words, folder, "-o", "json")
    rows = json.loads(done.stdout)["rows"]
    return [(row["first_offset"], row["last_offset"], row["hash"]) for row in rows]


def test_epochs_and_segments_make_no_difference(kcli, tmp_path):
    batches = [batch(offset) for offset in range(50)]
    one = write(tmp_path / "a" / "t-0", (0, batches))
    other = write(
        tmp_path / "b" / "t-0", (0, [batch(offset, epoch=3) for offset in range(17)]), (17, batches[17:])
    )

    assert hashes(kcli, one, "--every", "10") == hashes(kcli, other, "--every", "10")
    assert len(hashes(kcli, one, "--every", "10")) == 5


def test_a_batch_larger_than_a_chunk_is_hashed_in_pieces(kcli, tmp_path):
    large = 3 << 20
    one = write(tmp_path / "a" / "t-0", (0, [batch(0), batch(1, size=large), batch(2)]))
    other = write(tmp_path / "b" / "t-0", (0, [batch(0), batch(1, epoch=2, size=large), batch(2)]))
    changed = write(tmp_path / "c" / "t-0", (0, [batch(0), batch(1, size=large + 1), batch(2)]))

    assert hashes(kcli, one) == hashes(kcli, other) != hashes(kcli, changed)
    assert hashes(kcli, one)[0][:2] == (0, 2)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"type":"fingerprint"}\n', "expected a line of kcli replica fingerprint -o ndjson"),
        ('{"type":"fingerprint"\n', "expected a line of kcli replica fingerprint -o ndjson"),
        ('{"type"', "expected a line of kcli replica fingerprint -o ndjson"),
    ],
)
def test_a_file_that_is_no_manifest_is_an_error(kcli, folder, tmp_path, text, answer):
    path = tmp_path / "bad.ndjson"
    path.write_text(text)
    done = kcli("replica", "diff", path, folder / HERE / "equal-0", "-o", "json")

    errors = json.loads(done.stdout)["errors"]
    assert [error["path"] for error in errors] == [str(path)]
    assert answer in errors[0]["message"]


def test_ranges_of_other_widths_are_not_compared(kcli, folder, taken):
    mine = taken("here", folder / HERE / "equal-0", "--every", "5")
    theirs = taken("there", folder / THERE / "equal-0", "--every", "7")
    done = kcli("replica", "diff", mine, theirs, "-o", "json")

    assert "ranges of 5 and 7 offsets cannot be compared" in json.loads(done.stdout)["errors"][0]["message"]


def test_after_an_unclean_stop_the_log_ends_where_recovery_cuts_it(kcli, tmp_path):
    """A flipped bit shows in no header."""
    damaged = bytearray(put_range(1, 1))
    damaged[-1] ^= 1
    directory, other = (
        orders(tmp_path / "a", put_range(0, 1), damaged),
        orders(tmp_path / "b", put_range(0, 1)),
    )
    only_here = ("orders", 1, 1, "only-here", 1)
    assert ranges(kcli, directory, other) == [("orders", 0, 0, "equal", 1), only_here]
    (directory.parent / ".kafka_cleanshutdown").unlink()
    assert ranges(kcli, directory, other) == [("orders", 0, 0, "equal", 1)]
    assert [end for _, end, _ in hashes(kcli, directory)] == [0]
