"""`check`: one row for each partition and log dir, and what makes it other than clean."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from tests.builders import put_record, put_records
from tests.kcli.jobs.starts import does_not_start, will_not_load
from tests.partitions import (
    BROKER,
    epoch_lines,
    locked,
    log_dir,
    offset_entries,
    put_range,
    segment,
    time_entries,
)
from tests.partitions import orders as without_metadata

pytestmark = pytest.mark.slow


@pytest.fixture
def check(kcli):
    def run(*words):
        return json.loads(kcli("check", "-o", "json", *words).stdout)

    return run


def orders(root, *batches, **options):
    """Make orders-0 as `partitions.orders`, with all that a broker writes besides."""
    directory = without_metadata(root, *batches, **options)
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: u4NdSfWRQjaZ_ENyxMXLJA")
    (directory / "00000000000000000000.timeindex").write_bytes(time_entries((1004, 4)))
    return directory


def results(document):
    return {row["dir"].rpartition("/")[2]: row["result"] for row in document["rows"]}


def codes(document, severity="warning"):
    levels = ("info", "warning", "error")[("info", "warning", "error").index(severity) :]
    return sorted({finding["code"] for finding in document["findings"] if finding["severity"] in levels})


def test_a_whole_log_dir_is_clean(check, tmp_path):
    orders(tmp_path / "data", put_range(0, 5), put_range(5, 5), recovery=10, watermark=10)
    found = check(tmp_path / "data")
    assert results(found) == {"data": "clean", "orders-0": "clean"}
    assert [row["topic"] for row in found["rows"]] == ["orders", None]
    assert [row["errors"] for row in found["rows"]] == [0, 0]
    assert codes(found) == []


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_logs_of_old_magics_load_where_a_start_says_so(kcli, tmp_path, clean):
    """Recovery opens wrappers, some of which cannot be opened, and refuses offsets out of range."""
    for number, packed in enumerate(sorted(Path("tests/data/batches").glob("v[01]*.log.gz"))):
        data = gzip.decompress(packed.read_bytes())
        for kind, written, base in (
            ("whole", data, 0),
            ("sign-flipped", bytes([data[0] ^ 0x80]) + data[1:], 0),
            ("base-too-large", data, 100),
        ):
            directory = orders(tmp_path / "data", clean=clean).rename(tmp_path / "data" / f"{kind}-{number}")
            (directory / f"{0:020d}.log").write_bytes(written)
            for path in (*directory.glob(f"{0:020d}.*"),) if base else ():
                path.rename(path.with_stem(f"{base:020d}"))
    assert will_not_load(kcli, tmp_path / "data") == does_not_start(kcli, tmp_path / "data")


def test_a_marker_of_an_older_epoch_of_its_producer_is_said_and_the_log_loads(check, kcli, tmp_path):
    of_producer = {"producer_id": 8, "base_sequence": 0}
    marker = put_records(
        [put_record(key=b"\0\0\0\0", value=bytes(6))],
        base_offset=2,
        attributes=0x30,
        producer_id=8,
        producer_epoch=4,
    )
    orders(
        tmp_path / "d",
        put_range(0, 2, producer_epoch=6, attributes=0x10, **of_producer),
        marker,
        clean=False,
    )
    (found,) = (finding for finding in check(tmp_path / "d")["findings"] if finding["code"] == "PROD-004")
    assert found["message"] == "offset 2: producer 8 has epoch 4 after 6"
    assert does_not_start(kcli, tmp_path / "d") == set()


def test_every_command_names_the_exception_that_a_start_meets_first(kcli, tmp_path):
    """Recovery fails at the base offset of a batch, before the empty partition.metadata is read."""
    directory = orders(tmp_path / "data", put_range(0, 5), put_range(-7, 5), clean=False)
    (directory / "partition.metadata").write_bytes(b"")
    commands = ("epoch show", "lookup offset 0", "scan", "replica fingerprint")
    documents = [kcli(*words.split(), tmp_path / "data", "-o", "json").stdout for words in commands]
    messages = [error["message"] for document in documents for error in json.loads(document)["errors"]]
    assert len(messages) == len(commands)
    assert len(set(messages)) == 1, messages
    assert "IllegalArgumentException" in messages[0]
    startup = json.loads(kcli("startup", tmp_path / "data", "-o", "json").stdout)["rows"][1]
    assert startup["error"] == "IllegalArgumentException"
    for command in ("startup", "check", "ls", "ls --recover"):
        document = json.loads(kcli(*command.split(), tmp_path / "data", "-o", "json").stdout)
        (refused,) = (
            finding["message"] for finding in document["findings"] if finding["code"] == "START-008"
        )
        assert (refused.partition(":")[0], document["errors"]) == ("IllegalArgumentException", [])


def test_a_metadata_file_that_cannot_be_read_hides_no_failure_of_recovery(kcli, tmp_path):
    directory = without_metadata(tmp_path / "data", put_range(0, 5), put_range(-7, 5), clean=False)
    (directory / "partition.metadata").mkdir()
    assert does_not_start(kcli, tmp_path / "data") == will_not_load(kcli, tmp_path / "data") != set()


def test_what_recovery_cuts_is_said_and_the_checkpoints_are_held_against_the_rest(check, tmp_path):
    batch = bytearray(put_range(5, 5))
    batch[-1] ^= 1
    orders(tmp_path / "data", put_range(0, 5), bytes(batch), clean=False, watermark=10)
    found = check(tmp_path / "data")
    assert results(found) == {"data": "clean", "orders-0": "damaged"}
    assert codes(found) == ["CKPT-001", "LOG-003", "START-001"]
    (row,) = (row for row in found["rows"] if row["topic"])
    assert (row["findings"], row["errors"], row["warnings"]) == (3, 1, 2)


def test_a_log_that_does_not_load_is_an_answer_and_not_an_error(check, kcli, tmp_path):
    directory = orders(tmp_path / "data", put_range(0, 5), bytes(100))
    found = check(tmp_path / "data")
    assert found["errors"] == []
    assert results(found)["orders-0"] == "will-not-load"
    assert codes(found, "error") == ["LOG-009", "START-008"]
    assert kcli("check", directory).exit_code == 1


def test_a_log_dir_has_a_row_of_its_own(check, kcli, tmp_path):
    root = log_dir(tmp_path / "data")
    (root / "lost+found").mkdir()
    (root / "replication-offset-checkpoint").write_text("x\n")
    (orders(root, put_range(0, 5)) / f"{0:020d}.timeindex").write_bytes(b"")
    found = check(root)
    assert results(found) == {"data": "will-not-load", "orders-0": "will-not-load"}
    assert codes(found) == ["DIR-005", "DIR-006", "IDX-007", "START-009", "START-010"]
    assert "its log dir goes offline; IDX-007" in kcli("check", root, "-o", "table").stdout


CHECKPOINTS = ("recovery-point", "log-start-offset", "replication-offset", "cleaner-offset")
MALFORMED = ("0\n9\n", "x\n", "7\n0\n", "0\n1\norders 0\n", "0\n1\norders 0 x\n", "0\n-1\n", "\n")
METAS = ("version=9\n", "version=1\ncluster.id=x\n", "version=0\nbroker.id=7\n", "", None)


def changed(path, text):
    """Write a file; None removes it."""
    path.unlink(missing_ok=True)
    if text is not None:
        path.write_text(text)


def directory_for_meta(root):
    path = root / "meta.properties"
    path.unlink()
    path.mkdir()


def broken_link(root):
    (root / "log-start-offset-checkpoint").symlink_to("nowhere")


def leftover(kind):
    def change(root):
        name = f"orders-1.0123456789abcdef0123456789abcdef-{kind}"
        shutil.copytree(root / "orders-0", root / name)
        (root / name / "leader-epoch-checkpoint").write_text("0\n9\n")

    return change


def file_changed(name, text):
    return lambda root: changed(root / name, text)


CHANGES = {
    **{
        f"{name}-checkpoint: {text!r}": file_changed(
            f"{name}-checkpoint" if "offset" in name else f"{name}-offset-checkpoint", text
        )
        for name in CHECKPOINTS
        for text in MALFORMED
    },
    **{f"meta.properties: {text!r}": file_changed("meta.properties", text) for text in METAS},
    "meta.properties is a directory": directory_for_meta,
    "a checkpoint is a broken link": broken_link,
    "lost+found": lambda root: (root / "lost+found").mkdir(),
    **{f"a -{kind} directory does not load": leftover(kind) for kind in ("delete", "future", "stray")},
    "bootstrap.checkpoint": file_changed("bootstrap.checkpoint", "cut"),
    "epochs": file_changed("orders-0/leader-epoch-checkpoint", "0\n9\n"),
    "partition.metadata": file_changed("orders-0/partition.metadata", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_log_dir_will_not_load_where_it_does_not_start(kcli, tmp_path, change):
    first, second = tmp_path / "d0", tmp_path / "d1"
    orders(first, put_range(0, 5), recovery=5, watermark=5)
    change(first)
    log_dir(second)
    for paths in ((first,), (first, second)):
        expected = does_not_start(kcli, *paths)
        assert will_not_load(kcli, *paths) == {line for line in expected if "orders-1." not in line}
        assert will_not_load(kcli, "--include-leftovers", *paths) == expected


@pytest.mark.parametrize("kind", ["future", "stray"])
def test_what_recovery_cuts_off_a_leftover_is_said(check, tmp_path, kind):
    orders(tmp_path / "d", put_range(0, 5), clean=False)
    left = tmp_path / "d" / f"orders-1.0123456789abcdef0123456789abcdef-{kind}"
    wrong = put_range(5, 5)
    segment(left, 0, put_range(0, 5) + wrong[:-1] + bytes([wrong[-1] ^ 1]))
    (left / "leader-epoch-checkpoint").write_text(epoch_lines((0, 0)))
    left = ["START-024" if kind == "stray" else "START-012"]  # no metadata is here
    assert codes(check(tmp_path / "d")) == ["START-001", *left]
    assert "START-001" in codes(check("--include-leftovers", tmp_path / "d"))


def test_logs_of_a_running_broker_that_are_not_selected_are_not_recovered(check, tmp_path):
    orders(tmp_path / "d", put_range(0, 5), clean=False)
    wrong = put_range(5, 5)
    segment(tmp_path / "d" / "other-0", 0, put_range(0, 5) + wrong[:-1] + bytes([wrong[-1] ^ 1]))
    assert "START-001" in codes(check("--topic", "orders", tmp_path / "d"))
    with locked(tmp_path / "d"):
        assert "START-001" not in codes(check("--topic", "orders", tmp_path / "d"))


def test_log_dirs_of_zookeeper_are_those_of_a_release_with_it(check, kcli, tmp_path):
    orders(tmp_path / "d", put_range(0, 5))
    (tmp_path / "d" / "meta.properties").write_text("version=0\nbroker.id=7\n")
    assert results(check(tmp_path / "d")) == {"d": "clean", "orders-0": "clean"}
    assert does_not_start(kcli, tmp_path / "d") == set()
    assert does_not_start(kcli, "--kafka-version", "4.3", tmp_path / "d") == {str(tmp_path / "d")}


@pytest.mark.parametrize("state", ["clean", "unclean", "without-index"])
@pytest.mark.parametrize(("size", "fails"), [(16, True), (36, False), (65536, False)])
def test_indexes_that_do_not_fit_stop_the_start(kcli, tmp_path, size, fails, state):
    """Three batches of more than 4096 bytes each: two entries of offsets, one of times and a free slot."""
    root = tmp_path / "data"
    large = put_records([put_record(value=bytes(5000))])
    directory = orders(root, clean=state == "clean", recovery=3)
    log = b"".join(number.to_bytes(8, "big") + large[8:] for number in range(3))
    (directory / f"{0:020d}.log").write_bytes(log)
    index = directory / f"{0:020d}.index"
    index.write_bytes(offset_entries((1, len(large)), (2, 2 * len(large))))
    (directory / f"{0:020d}.timeindex").write_bytes(time_entries((0, 0), (1, 1)))
    if state == "without-index":
        segment(directory, 3, put_range(3, 5))
        index.unlink()
    config = tmp_path / "server.properties"
    config.write_text(f"{BROKER}node.id=7\nlog.dirs={root}\nlog.index.size.max.bytes={size}\n")
    words = ("--server-config", config)
    assert will_not_load(kcli, *words) == does_not_start(kcli, *words)
    assert will_not_load(kcli, *words) == ({str(directory)} if fails else set())


def test_a_single_log_and_several_processes(check, kcli, tmp_path):
    directory = orders(tmp_path / "data", put_range(0, 5), b"\xff" * 60, put_range(5, 5))
    found = check(directory / "00000000000000000000.log")
    assert results(found) == {"orders-0": "damaged"}
    one, two = (kcli("check", "-o", "ndjson", "--jobs", jobs, tmp_path / "data").stdout for jobs in (1, 2))
    assert one == two
