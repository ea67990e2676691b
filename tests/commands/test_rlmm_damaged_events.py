"""`rlmm` where the log of `__remote_log_metadata` is damaged: which events count."""

import shutil
import struct
from itertools import pairwise

import pytest

from tests.builders import put_record, put_records
from tests.commands.answers import ask
from tests.stories import TOPIC_ID, Story, event, uuid
from tests.tiered import LOG, METADATA, batch_position, cluster

pytestmark = pytest.mark.slow


def stored_check(node, *words):
    document, status = ask("rlmm", "check", node, "--storage", cluster().storage, *words)
    left_out = {"RLMM-009", "RLMM-012", "DIR-002"}
    return [
        (finding["code"], finding["message"])
        for finding in document["findings"]
        if finding["code"] not in left_out
    ], status


def without_offsets(first, last):
    def damage(log):
        data = log.read_bytes()
        begin, end = batch_position(data, first), batch_position(data, last + 1)
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

    assert {"RLMM-020"}.isdisjoint(said) and code in said
    assert said["RLMM-025"].endswith(f"not all events about them are here: __remote_log_metadata-3: {why}")
    if code == "RLMM-032":
        assert said[code] == why.replace(" are gone", " of __remote_log_metadata-3 are gone")
        for command in ("state", "offsets", "coverage"):
            document, status = ask("rlmm", command, node, "--topic", "t-local")
            assert (status, [finding["code"] for finding in document["findings"]]) == (1, [code])


def test_events_after_the_moment_asked_may_name_the_objects(node):
    found, _ = stored_check(node, "--topic", "t-retention", "--at", "2")
    assert "RLMM-020" not in dict(found)
    assert dict(found)["RLMM-025"].endswith("__remote_log_metadata-3: cut by --at")
    assert stored_check(node, "--topic", "t-retention", "--at", "63") == ([], 0)


def test_objects_of_a_metadata_partition_that_cannot_be_read_are_not_judged(node):
    (node / "__remote_log_metadata-3" / LOG).unlink()
    (node / "__remote_log_metadata-3" / LOG).mkdir()
    document, status = ask("rlmm", "check", node, "--storage", cluster().storage, "--topic", "t-retention")
    said = {finding["code"]: finding["message"] for finding in document["findings"]}
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
    codes = {finding["code"] for finding in ask(*words)[0]["findings"]}

    assert "RLMM-012" in codes and {"RLMM-020"}.isdisjoint(codes)


def test_a_record_that_stops_brokers_says_so(tmp_path):
    source = cluster().node1 / METADATA / LOG
    directory = tmp_path / METADATA
    directory.mkdir()
    stop = put_records([put_record(value=b"\x09\x00")], base_offset=12)
    data = source.read_bytes()
    at, after = batch_position(data, 12), batch_position(data, 13)
    (directory / LOG).write_bytes(data[:at] + stop + data[after:])
    message = "brokers stop at this offset, and do not hold what follows of any metadata partition"
    for command in (
        ("state", tmp_path),
        ("offsets", cluster().node1 / "t-plain-0", "--remote-metadata", tmp_path),
        ("lookup", "offset", "5", cluster().node1 / "t-plain-0", "--remote-metadata", tmp_path),
    ):
        document, status = ask("rlmm", *command)
        (finding,) = [finding for finding in document["findings"] if finding["code"] == "RLMM-001"]
        assert status == 1 and "offset 12: " in finding["message"] and message in finding["message"]


def with_flipped_bit(tmp_path, *, clean):
    """Return a log dir of one metadata partition, a bit flipped in the batch of offset 12."""
    directory = shutil.copytree(cluster().node1 / METADATA, tmp_path / METADATA)
    for kind in ("index", "timeindex"):
        (directory / f"{0:020}.{kind}").touch()  # a start recovers a segment without them
    data = bytearray((directory / LOG).read_bytes())
    data[batch_position(data, 12) + 100] ^= 0x40
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
        found = [finding["message"] for finding in document["findings"] if finding["code"] == "RLMM-035"]
        assert (status, len(found)) == (1, clean) and all(
            message.startswith("offset 12: ") for message in found
        )
    rows, _ = ask("rlmm", "state", here)
    offsets = {row["metadata_offset"] for row in rows["rows"]}
    assert 12 not in offsets and any(offset > 12 for offset in offsets) is clean


@pytest.mark.parametrize(
    "words",
    [("truncate", "--dry-run", "--leader"), ("rlmm", "follow", "--leader"), ("lookup", "offset", "5")],
)
def test_each_command_reports_them_also_where_its_first_partition_is_not_tiered(tmp_path, words):
    here = with_flipped_bit(tmp_path / "events", clean=True)
    followers, leaders = tmp_path / "followers", tmp_path / "leaders"
    for name in ("local-only-0", "t-plain-0"):
        shutil.copytree(cluster().node1 / name, followers / name)
    shutil.copytree(cluster().node1, leaders, ignore=shutil.ignore_patterns("__remote_log_metadata-*"))
    leader = (leaders,) if "--leader" in words else ()
    document, _ = ask(*words, *leader, "--remote-metadata", here, *sorted(followers.iterdir()))
    found = [finding["message"] for finding in document["findings"] if finding["code"] == "RLMM-035"]
    assert len(found) == 1 and found[0].startswith("offset 12: ")


def checkpoint(log_dir, name, offset):
    (log_dir / name).write_text(f"0\n1\n__remote_log_metadata 0 {offset}\n")


def test_what_a_start_cuts_off_is_gone(tmp_path):
    here = with_flipped_bit(tmp_path, clean=False)
    checkpoint(here, "replication-offset-checkpoint", 40)
    for command in ("state", "check", "coverage"):
        words = (command, here) if command != "coverage" else (command, node_of("t-plain-0"), *remote(here))
        document, status = ask("rlmm", *words)
        (found,) = [finding["message"] for finding in document["findings"] if finding["code"] == "RLMM-032"]
        assert (status, found) == (1, "the events of offsets 12..39 of __remote_log_metadata-0 are gone")


def node_of(partition):
    return cluster().node1 / partition


def remote(log_dir):
    return "--remote-metadata", log_dir


@pytest.mark.parametrize(("base", "left_out"), [(3, {12}), (300, {*range(12, 30)})])
def test_events_that_do_not_rise_are_skipped_by_each_command(tmp_path, base, left_out):
    """A consumer goes on from the next offset (`CompletedFetch`); no checksum covers a base offset."""
    directory = shutil.copytree(node_of(METADATA), tmp_path / "events" / METADATA)
    data = bytearray((directory / LOG).read_bytes())
    at = batch_position(data, 12)
    data[at : at + 8] = base.to_bytes(8, "big")
    (directory / LOG).write_bytes(data)
    state, _ = ask("rlmm", "state", tmp_path / "events")
    assert {row["metadata_offset"] for row in state["rows"]}.isdisjoint(left_out)
    check, _ = ask("rlmm", "check", tmp_path / "events")
    served, _ = ask("rlmm", "coverage", node_of("t-plain-0"), *remote(tmp_path / "events"))
    for document in (state, check, served):
        (found,) = [finding["message"] for finding in document["findings"] if finding["code"] == "RLMM-036"]
        assert f"brokers have read up to {11 if base == 3 else 300}" in found


def test_segments_are_read_once_and_in_the_order_of_the_log(node):
    files = split(node / "__remote_log_metadata-3", 20, 40)
    expected, _ = ask("rlmm", "check", node, "--topic", "t-retention")
    for words in (
        [node, *files],
        [*reversed(files)],
        [files[0], *files],
        [node / "__remote_log_metadata-3"] * 2,
    ):
        document, _ = ask("rlmm", "check", *words, "--topic", "t-retention")
        assert [finding["code"] for finding in document["findings"]] == ["RLMM-009"]
        assert document["rows"][0]["events"] == expected["rows"][0]["events"]


def test_events_in_segments_that_were_not_named_are_not_said_to_be_gone(node):
    files = split(node / "__remote_log_metadata-3", 20, 40)
    document, _ = ask("rlmm", "coverage", node / "t-retention-0", *remote(files[0]))
    (found,) = [finding["message"] for finding in document["findings"] if finding["code"] == "RLMM-032"]
    assert found.endswith("are not in the segments that were named")


def test_segments_without_objects_are_not_judged_where_events_are_missing(node):
    """They may be deleted by now: RLMM-021 says to restore the objects."""
    found, status = stored_check(node, "--at", "30")
    said = [message for code, message in found if code == "RLMM-025"]
    assert (status, "RLMM-021" in dict(found)) == (0, False)
    assert "t-retention-0: copied segments without all objects in remote storage: " in " ".join(said)


def test_check_shows_no_damage_of_one_copy_of_the_events_where_another_is_there(node, tmp_path):
    other = shutil.copytree(node, tmp_path / "other")
    without_offsets(21, 21)(other / "__remote_log_metadata-3" / LOG)
    alone, _ = ask("check", other)
    both, _ = ask("check", node, other)
    for document, is_shown in ((alone, True), (both, False)):
        codes = {
            finding["code"] for finding in document["findings"] if finding["dir"].endswith("t-retention-0")
        }
        assert ("RLMM-014" in codes or "RLMM-012" in codes) is is_shown, codes


def test_coverage_promises_no_tier_where_events_are_gone_or_brokers_do_not_read_them(kcli, node, tmp_path):
    without_offsets(0, 0)(node / "__remote_log_metadata-3" / LOG)
    here = remote(with_flipped_bit(tmp_path / "flipped", clean=True))
    for words, said in (
        ((node,), "events of the remote segments (RLMM-032)"),
        ((node_of("t-delete-records-0"), *here), "Brokers do not read all events of the remote segments (RL"),
    ):
        assert said in " ".join(kcli("rlmm", "coverage", *words, "-o", "table").stdout.split())


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
    at, after = batch_position(data, 12), batch_position(data, 30)
    data[at + field.start : at + field.stop] = value
    (directory / LOG).write_bytes(data)
    entry = struct.pack(">ii", 30, after)  # a clean start reads the log from the last entry on
    (directory / f"{0:020}.index").write_bytes(entry)
    document, _ = ask("rlmm", "state", here)

    (found,) = [finding for finding in document["findings"] if finding["code"] == "RLMM-035"]
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
    codes = {finding["code"] for finding in document["findings"]}

    assert "RLMM-020" not in codes
    assert ("RLMM-001" in codes, "RLMM-025" in codes) == (last < 5, last < 5)


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
    assert {finding["code"] for finding in document["findings"]}.isdisjoint({"LOG-001", "RLMM-032"})
    files[1].write_bytes(files[1].read_bytes()[:-1])
    document, status = ask("rlmm", command, node)
    (found,) = [finding["message"] for finding in document["findings"] if finding["code"] == "RLMM-032"]
    assert (status, f"{following - 1} of __remote_log_metadata-3 are gone" in found) == (1, True)
    assert first < following


@pytest.mark.parametrize("command", ["state", "check"])
def test_events_in_a_segment_that_was_not_named_are_not_gone(node, command):
    for path in split(node / "__remote_log_metadata-3", 20, 40):
        document, status = ask("rlmm", command, path)
        assert (status, document["findings"]) == (0, []) or command == "check"
        assert "RLMM-032" not in {finding["code"] for finding in document["findings"]}, path
