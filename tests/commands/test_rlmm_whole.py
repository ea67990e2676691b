"""`rlmm` where the events about a partition are not all here: a recorded cluster without some of them."""

import shutil
import struct
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.builders import put_record, put_records
from tests.commands.test_rlmm_tier import SPECS, ask
from tests.stories import TOPIC_ID, Story, event, uuid
from tests.tiered import cluster

pytestmark = pytest.mark.slow

ABSENT = {"t-plain-0", "t-delete-records-0"}
"""Their events are in __remote_log_metadata-0."""
METADATA = "__remote_log_metadata-0"
LOG = f"{0:020}.log"


@pytest.fixture
def node(tmp_path):
    """A copy of the log dir, for damage."""
    return shutil.copytree(cluster().node1, tmp_path / "node")


def live_offsets():
    said = cluster().answers["offsets"]
    return {(each["topic"], each["partition"], each["spec"]): each["offset"] for each in said}


def offsets_of(document):
    return {
        (row["topic"], row["partition"], spec): row[f"{spec.replace('-', '_')}_offset"]
        for row in document["rows"]
        for spec in SPECS
    }


def errors_of(document):
    return {one["path"].rpartition("/")[2]: one["error"] for one in document["errors"]}


@pytest.mark.parametrize("command", [("offsets",), ("lookup", "offset", "5"), ("coverage",), ("retention",)])
def test_without_its_events_a_partition_has_no_answer_and_the_others_have(node, command):
    shutil.rmtree(node / METADATA)
    limits = ("--retention-ms", "1000") if command == ("retention",) else ()
    document, status = ask("rlmm", *command, node, *limits)

    assert (status, errors_of(document)) == (4, dict.fromkeys(ABSENT, "no-remote-metadata"))
    assert all("which is not here" in one["message"] for one in document["errors"])
    assert {f"{row['topic']}-{row['partition']}" for row in document["rows"]}.isdisjoint(ABSENT)
    if command == ("offsets",):
        live = live_offsets()
        found = offsets_of(document)
        assert found == {key: live[key] for key in found} and len(found) == 54


@pytest.mark.parametrize("command", ["state", "check"])
def test_a_partition_without_its_events_is_an_error_where_the_events_are_asked(node, command):
    assert errors_of(ask("rlmm", command, node)[0]) == {}
    shutil.rmtree(node / METADATA)
    document, status = ask("rlmm", command, node)

    assert (status, errors_of(document)) == (4, dict.fromkeys(ABSENT, "no-remote-metadata"))
    assert all(f"are in {METADATA}, which is not here" in one["message"] for one in document["errors"])
    document, _ = ask("rlmm", command, node, "--topic", "t-txn")
    assert errors_of(document) == {}
    document, _ = ask("rlmm", command, *node.glob("__remote_log_metadata-*"))
    assert errors_of(document) == {}


def test_a_follower_needs_the_events_of_its_leader(node, tmp_path):
    shutil.rmtree(node / METADATA)
    shutil.copytree(node / "t-plain-0", tmp_path / "fol" / "t-plain-0")
    document, status = ask("rlmm", "follow", tmp_path / "fol" / "t-plain-0", "--leader", node)

    assert (status, document["rows"]) == (3, [])
    assert [one["error"] for one in document["errors"]] == ["no-remote-metadata"]


def test_a_partition_alone_has_its_events_elsewhere(node):
    document, status = ask("rlmm", "offsets", node / "t-plain-0")
    assert (status, errors_of(document)) == (3, {"t-plain-0": "no-remote-metadata"})
    (error,) = document["errors"]
    assert f"are in {METADATA}, which is not here" in error["message"]

    shutil.rmtree(node / "__cluster_metadata-0")
    document, status = ask("rlmm", "offsets", node / "t-plain-0")
    assert (status, errors_of(document)) == (3, {"t-plain-0": "no-remote-metadata"})


def test_lookup_offset_with_remote_metadata_that_lacks_the_partition(node, tmp_path):
    words = ("lookup", "offset", "5", node / "t-plain-0", "--remote-metadata")
    assert ask(*words, node)[0]["rows"][0]["remote_segment_id"] is not None
    other = shutil.copytree(node, tmp_path / "other")
    shutil.rmtree(other / METADATA)
    document, status = ask(*words, other)
    assert (status, errors_of(document)) == (3, {"t-plain-0": "no-remote-metadata"})


def test_lookup_offset_where_no_metadata_partition_is_left(node):
    for directory in node.glob("__remote_log_metadata-*"):
        shutil.rmtree(directory)
    document, status = ask("lookup", "offset", "5", node / "t-plain-0", "--remote-metadata", node)
    assert (status, errors_of(document)) == (3, {"t-plain-0": "no-remote-metadata"})

    document, _ = ask("lookup", "offset", "latest", node / "t-plain-0", "--remote-metadata", node)
    assert (errors_of(document), document["rows"][0]["reason"].partition(":")[0]) == ({}, "log end")


def test_both_lookups_begin_where_a_leader_does(node):
    """No leader epoch leads to the remote segments: RemoteLogManager.findLogStartOffset finds none."""
    (node / "t-plain-0" / "leader-epoch-checkpoint").write_text("0\n1\n3 343\n")
    words = ("lookup", "offset", "100", node / "t-plain-0", "--remote-metadata", node)
    plain, remote = ask(*words)[0], ask("rlmm", *words)[0]

    for document in (plain, remote):
        (row,) = document["rows"]
        assert row["reason"].startswith("below log start: the log starts at 343; a fetch gets OFFSET_OUT_OF")
        assert "EPOCH-001" in {one["code"] for one in document["findings"]}
    assert ask("lookup", "offset", "earliest", *words[3:])[0]["rows"][0]["offset"] == 343


def test_check_says_that_no_epoch_leads_to_the_remote_segments(node):
    def found():
        return [one["dir"] for one in ask("check", node)[0]["findings"] if one["code"] == "EPOCH-001"]

    assert found() == []
    directory = node / "t-plain-0"
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n3 343\n")
    assert found() == [str(directory)]
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n2 300\n3 343\n")  # after an unclean election
    assert found() == []


def test_check_counts_ages_to_the_last_event_and_rlmm_check_to_now(node):
    """A copy of a log dir that is looked at later is whole; a copy that hangs at a live broker is said."""

    def unfinished(*words):
        return [one for one in ask(*words, node)[0]["findings"] if one["code"] == "RLMM-009"]

    assert (len(unfinished("check")), len(unfinished("rlmm", "check"))) == (0, 2)
    assert unfinished("rlmm", "check", "--at", "100") == []  # past the last event of each metadata partition


def test_the_cluster_metadata_says_which_topics_need_no_events(node):
    for directory in node.glob("__remote_log_metadata-*"):
        shutil.rmtree(directory)
    document, status = ask("rlmm", "offsets", node)

    assert (status, {row["topic"] for row in document["rows"]}) == (4, {"local-only", "t-disabled"})
    assert all(offsets_of(document)[key] == live_offsets()[key] for key in offsets_of(document))


def test_a_topic_with_remote_storage_and_no_event_yet_is_tiered(node):
    """Its metadata partition is here, and empty."""
    (node / METADATA / LOG).write_bytes(b"")
    row = ask("rlmm", "offsets", node, "--topic", "t-delete-records")[0]["rows"][0]
    assert (row["remote_storage"], row["latest_tiered_offset"]) == (True, -1)


def test_copies_of_a_metadata_partition_are_taken_together(node, tmp_path):
    whole = ask("rlmm", "offsets", node)[0]["rows"]
    source = cluster().node1
    for name in ("gap", "late"):
        (tmp_path / name).mkdir()
        shutil.copytree(source / METADATA, tmp_path / name / METADATA)
    shutil.copy(source / "meta.properties", tmp_path / "gap")
    data = (source / METADATA / LOG).read_bytes()
    (tmp_path / "gap" / METADATA / LOG).unlink()
    (tmp_path / "gap" / METADATA / f"{12:020}.log").write_bytes(data[batch(data, 12) :])
    (tmp_path / "late" / METADATA / LOG).write_bytes(data[: batch(data, 20)])
    shutil.rmtree(node / METADATA)

    for names in (("gap", "late"), ("late", "gap")):
        more = [word for name in names for word in ("--remote-metadata", tmp_path / name)]
        document, status = ask("rlmm", "offsets", node, *more)
        assert (status, document["rows"], document["findings"]) == (0, whole, [])
    document, status = ask("rlmm", "offsets", node, "--remote-metadata", tmp_path / "gap")
    (finding,) = document["findings"]
    assert (status, finding["code"]) == (1, "RLMM-032")
    assert finding["message"] == f"the events before offset 12 of {METADATA} are gone"


def test_a_copy_that_looks_whole_is_not_where_another_one_goes_on_past_its_end(node, tmp_path):
    source = cluster().node1
    data = (source / METADATA / LOG).read_bytes()
    pieces = {"early": (0, data[: batch(data, 20)]), "late": (25, data[batch(data, 25) :])}
    for name, (base, log) in pieces.items():
        shutil.copytree(source / METADATA, tmp_path / name / METADATA)
        (tmp_path / name / METADATA / LOG).unlink()
        (tmp_path / name / METADATA / f"{base:020}.log").write_bytes(log)
    shutil.rmtree(node / METADATA)
    more = [word for name in pieces for word in ("--remote-metadata", tmp_path / name)]
    document, status = ask("rlmm", "offsets", node, *more)

    (finding,) = document["findings"]
    assert (status, finding["code"]) == (1, "RLMM-032")
    assert finding["message"] == f"the events of offsets 20..24 of {METADATA} are gone"


def test_a_metadata_partition_that_cannot_be_read_fails_its_own_partitions(node):
    (node / METADATA / LOG).unlink()
    (node / METADATA / LOG).mkdir()
    document, status = ask("rlmm", "offsets", node)

    assert (status, set(errors_of(document))) == (4, ABSENT)
    assert "no-remote-metadata" not in errors_of(document).values()
    found = offsets_of(document)
    assert found == {key: live_offsets()[key] for key in found} and len(found) == 54


def batch(data, offset):
    """Return the position of the batch that begins at an offset."""
    position = 0
    while int.from_bytes(data[position : position + 8], "big") < offset:
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    assert int.from_bytes(data[position : position + 8], "big") == offset
    return position


def stored_check(node, *words):
    document, status = ask("rlmm", "check", node, "--storage", cluster().storage, *words)
    left_out = {"RLMM-009", "RLMM-012", "DIR-002"}
    return [
        (one["code"], one["message"]) for one in document["findings"] if one["code"] not in left_out
    ], status


def without_offsets(first, last):
    def damage(log):
        data = log.read_bytes()
        begin, end = batch(data, first), batch(data, last + 1)
        log.write_bytes(data[:begin] + data[end:])

    return damage


def damaged_length(log):
    data = bytearray(log.read_bytes())
    data[8:12] = b"\x7f\xff\xff\xff"
    log.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "code", "why"),
    [
        (lambda log: log.write_bytes(b""), "RLMM-032", "the events before offset 64 are gone"),
        (without_offsets(0, 39), "RLMM-032", "the events before offset 40 are gone"),
        (without_offsets(6, 39), "RLMM-032", "the events of offsets 6..39 are gone"),
        (damaged_length, "LOG-001", "the events before offset 64 are gone"),
    ],
)
def test_objects_are_of_no_segment_only_where_all_events_are_here(node, damage, code, why):
    """RLMM-020 says: delete the objects. The storage is whole, and the events about it are not."""
    damage(node / "__remote_log_metadata-3" / LOG)
    found, _ = stored_check(node, "--topic", "t-retention,t-txn")
    said = dict(found)

    assert {"RLMM-020", "RLMM-023"}.isdisjoint(said) and code in said
    assert said["RLMM-025"].endswith(f"not all events about them are here: __remote_log_metadata-3: {why}")
    if code == "RLMM-032":
        assert said[code] == why.replace(" are gone", " of __remote_log_metadata-3 are gone")
        for command in ("state", "offsets", "coverage"):
            document, status = ask("rlmm", command, node, "--topic", "t-local")
            assert (status, [one["code"] for one in document["findings"]]) == (1, [code])


def test_events_after_the_moment_asked_may_name_the_objects(node):
    found, _ = stored_check(node, "--topic", "t-retention", "--at", "2")
    assert "RLMM-020" not in dict(found)
    assert dict(found)["RLMM-025"].endswith("__remote_log_metadata-3: cut by --at")
    assert stored_check(node, "--topic", "t-retention", "--at", "63") == ([], 0)


def test_objects_of_a_metadata_partition_that_cannot_be_read_are_not_judged(node):
    (node / "__remote_log_metadata-3" / LOG).unlink()
    (node / "__remote_log_metadata-3" / LOG).mkdir()
    document, status = ask("rlmm", "check", node, "--storage", cluster().storage, "--topic", "t-retention")
    said = {one["code"]: one["message"] for one in document["findings"]}
    assert (status, "RLMM-020" in said, "RLMM-025" in said) == (4, False, True)


def test_a_segment_is_deleted_where_an_event_says_so(node, tmp_path):
    """Its start is gone, so no broker knows it: RLMM-012 says that."""
    log = node / "__remote_log_metadata-3" / LOG
    document, _ = ask("rlmm", "dump", log)
    rows = [row for row in document["rows"] if row["topic"] == "t-retention"]
    started = [row for row in rows if row["state"] == "COPY_SEGMENT_STARTED"][-1]
    without_offsets(started["metadata_offset"], started["metadata_offset"])(log)
    listing = tmp_path / "objects"
    owner = f"t-retention-0-{started['topic_id']}"
    listing.write_text(f"12 {owner}/{0:020}-{started['segment_id']}.log\n")
    words = ("rlmm", "check", node, "--storage", listing, "--topic", "t-retention")
    codes = {one["code"] for one in ask(*words)[0]["findings"]}

    assert "RLMM-012" in codes and {"RLMM-023", "RLMM-020"}.isdisjoint(codes)


def test_a_record_that_stops_brokers_says_so(tmp_path):
    source = cluster().node1 / METADATA / LOG
    directory = tmp_path / METADATA
    directory.mkdir()
    stop = put_records([put_record(value=b"\x09\x00")], base_offset=12)
    data = source.read_bytes()
    at, after = batch(data, 12), batch(data, 13)
    (directory / LOG).write_bytes(data[:at] + stop + data[after:])
    words = "brokers stop at this offset, and do not hold what follows of any metadata partition"
    for command in (
        ("state", tmp_path),
        ("offsets", cluster().node1 / "t-plain-0", "--remote-metadata", tmp_path),
        ("lookup", "offset", "5", cluster().node1 / "t-plain-0", "--remote-metadata", tmp_path),
    ):
        document, status = ask("rlmm", *command)
        (finding,) = [one for one in document["findings"] if one["code"] == "RLMM-001"]
        assert status == 1 and "offset 12: " in finding["message"] and words in finding["message"]


def with_flipped_bit(tmp_path, *, clean):
    """Return a log dir of one metadata partition, a bit flipped in the batch of offset 12."""
    directory = shutil.copytree(cluster().node1 / METADATA, tmp_path / METADATA)
    for kind in ("index", "timeindex"):
        (directory / f"{0:020}.{kind}").touch()  # a start recovers a segment without them
    data = bytearray((directory / LOG).read_bytes())
    data[batch(data, 12) + 100] ^= 0x40
    (directory / LOG).write_bytes(data)
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    if clean:
        (tmp_path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    return tmp_path


@pytest.mark.parametrize("clean", [True, False])
def test_no_event_of_a_damaged_batch_counts_nor_of_what_recovery_cuts(tmp_path, clean):
    """ConsumerTask ends at a batch whose checksum does not match: CompletedFetch throws a KafkaException."""
    here = with_flipped_bit(tmp_path, clean=clean)
    user = cluster().node1 / "t-plain-0"
    for words in (
        ("rlmm", "state", here),
        ("rlmm", "check", here),
        ("rlmm", "dump", here),
        ("rlmm", "offsets", user, "--remote-metadata", here),
        ("lookup", "offset", "5", user, "--remote-metadata", here),
        ("check", here),
    ):
        document, status = ask(*words)
        found = [one["message"] for one in document["findings"] if one["code"] == "RLMM-035"]
        assert (status, len(found)) == (1, clean) and all(one.startswith("offset 12: ") for one in found)
    rows, _ = ask("rlmm", "state", here)
    offsets = {row["metadata_offset"] for row in rows["rows"]}
    assert 12 not in offsets and any(one > 12 for one in offsets) is clean


def test_coverage_promises_no_tier_for_events_that_brokers_do_not_read(tmp_path):
    here = with_flipped_bit(tmp_path, clean=True)
    partition = cluster().node1 / "t-delete-records-0"
    words = ["rlmm", "coverage", partition, "--remote-metadata", here, "-o", "table"]
    drawn = " ".join(CliRunner().invoke(app, [*map(str, words)]).stdout.split())

    assert "Brokers do not read all events of the remote segments (RLMM-035);" in drawn


@pytest.mark.parametrize(
    ("field", "value", "offsets"),
    [(slice(8, 12), b"\0\0\0\5", 12), (slice(16, 17), b"\xff", 12), (slice(16, 17), b"\3", 38)],
    ids=["length", "negative magic", "magic 3"],
)
def test_brokers_stop_at_a_damaged_header_below_the_log_end(tmp_path, field, value, offsets):
    """As a real 4.3.1: a fetch has the bytes, and ByteBufferLogInputStream of the consumer throws."""
    here = with_flipped_bit(tmp_path, clean=True)
    directory = here / METADATA
    data = bytearray((cluster().node1 / METADATA / LOG).read_bytes())
    at, after = batch(data, 12), batch(data, 30)
    data[at + field.start : at + field.stop] = value
    (directory / LOG).write_bytes(data)
    entry = struct.pack(">ii", 30, after)  # a clean start reads the log from the last entry on
    (directory / f"{0:020}.index").write_bytes(entry)
    document, _ = ask("rlmm", "state", here)

    (found,) = [one for one in document["findings"] if one["code"] == "RLMM-035"]
    assert found["message"].startswith("offset 12: brokers stop at this offset")
    shown = {row["metadata_offset"] for row in document["rows"]}
    assert 12 not in shown and max(shown) < offsets


@pytest.mark.parametrize("last", [5, 3])
def test_an_event_that_a_broker_refuses_names_its_segment(tmp_path, last):
    """RLMM-020 says that no event does. Of the refused one, offsets 5 to 3, it is not known what became."""
    story = Story(tmp_path)
    story.remote(1, [(0, 0), (1, 0)], [(0, 0)], [(0, 0)])
    story.values.append(event(2, 5, last, [(0, 5)]))
    story.command("check")
    listing = tmp_path / "objects"
    listing.write_text(f"12 t-0-{TOPIC_ID}/{5:020}-{uuid(2)}.log\n")
    document, _ = ask("rlmm", "check", tmp_path / "events", "--storage", listing)
    codes = {one["code"] for one in document["findings"]}

    assert "RLMM-020" not in codes
    assert ("RLMM-003" in codes, "RLMM-025" in codes) == (last < 5, last < 5)


def split(directory, *at):
    """Split the one segment of a directory before these batches; return the files."""
    whole = directory / LOG
    data, starts, position = whole.read_bytes(), [], 0
    while position < len(data):
        starts.append(position)
        position += 12 + struct.unpack_from(">i", data, position + 8)[0]
    parts = [0, *at, len(starts)]
    bounds = [*starts, len(data)]
    for begin, end in pairwise(parts):
        part = data[bounds[begin] : bounds[end]]
        (directory / f"{struct.unpack_from('>q', part)[0]:020}.log").write_bytes(part)
    return sorted(directory.glob("*.log"))


@pytest.mark.parametrize("command", ["state", "check", "coverage", "offsets"])
def test_what_a_segment_has_in_part_is_gone_where_another_follows(node, command):
    files = split(node / "__remote_log_metadata-3", 20, 40)
    first, following = (int(path.name.partition(".")[0]) for path in files[1:])
    document, status = ask("rlmm", command, node)
    assert {one["code"] for one in document["findings"]}.isdisjoint({"LOG-001", "RLMM-032"})
    files[1].write_bytes(files[1].read_bytes()[:-1])
    document, status = ask("rlmm", command, node)
    (found,) = [one["message"] for one in document["findings"] if one["code"] == "RLMM-032"]
    assert (status, f"{following - 1} of __remote_log_metadata-3 are gone" in found) == (1, True)
    assert first < following


@pytest.mark.parametrize("command", ["state", "check"])
def test_events_in_a_segment_that_was_not_named_are_not_gone(node, command):
    for path in split(node / "__remote_log_metadata-3", 20, 40):
        document, status = ask("rlmm", command, path)
        assert (status, document["findings"]) == (0, []) or command == "check"
        assert "RLMM-032" not in {one["code"] for one in document["findings"]}, path


@pytest.mark.parametrize("command", ["state", "coverage"])
def test_a_metadata_partition_of_another_cluster_does_not_count(node, tmp_path, command):
    other = tmp_path / "other"
    shutil.copytree(node / METADATA, other / METADATA)
    text = (node / "meta.properties").read_text()
    lines = ["cluster.id=another" if "cluster.id" in one else one for one in text.splitlines()]
    (other / "meta.properties").write_text("\n".join(lines) + "\n")
    (other / METADATA / LOG).write_bytes(b"")
    shutil.rmtree(node / METADATA)
    document, status = ask("rlmm", command, node, other)
    assert (status, errors_of(document)) == (4, dict.fromkeys(ABSENT, "no-remote-metadata"))
