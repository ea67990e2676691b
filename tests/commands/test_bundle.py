"""`kcli bundle`: nothing of a payload is in it, and kcli says the same of it."""

import hashlib
import json
import os
import re
import shutil
import struct
import tarfile
import zlib
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from commands.app import app
from formats.batch import HEADER_SIZE
from formats.compression import NOTHING_LEFT, WITHOUT_PAYLOAD
from formats.errors import FormatError
from formats.message_set import message_set
from formats.messages.remote import REMOTE_SCHEMAS
from formats.names import OFFSET_INDEX
from formats.record import unpacked
from kcli.jobs.bundle.logs import BundledFile
from kcli.jobs.bundle.small_files import index_without_payload
from kcli.kafka.integrity.damaged import VerifiedBatch, verified_batches
from kcli.logdir.buffers import DataFile
from tests.builders import put_record, put_records
from tests.commands.answers import ask
from tests.groups import batch as group_batch
from tests.groups import commit_key, commit_value, group_key, group_value
from tests.messages import put_message, put_wrapper
from tests.metadata_records import OTHER_ID, TOPIC_ID, config, put_fields, put_topic, record
from tests.metadata_records import batch as metadata_batch
from tests.mutated.fleets import make, sources
from tests.mutated.mutations import batches, mutate
from tests.partitions import (
    epoch_lines,
    log_dir,
    offset_entries,
    put_range,
    put_topic_id,
    segment,
    time_entries,
)

LETTERS = b"abcdefghijklmnopqrstuvwyz0123456789"
TOKEN, PIECE = 10, 6
"""Bytes that a secret repeats, and of which none so many in a row may be in a bundle."""
COMMANDS = (
    *(
        "check",
        "check --records",
        "startup",
        "ls --include-leftovers",
        "epoch show",
        "txn open",
        "group list",
    ),
    *("retention --at 2026-11-22", "group offsets", "group members", "metadata show topics configs scram"),
    *("rlmm check", "producers", "checkpoint show", "lookup timestamp max", "epoch check"),
    "truncate --dry-run --to-offset 3",
)
WORDS = {"crc", "message", "error_message", "reason", "found", "expected", "metadata"}
VARIES = re.compile(r"expired before [0-9]+")


class Secrets:
    """Gives secrets, each of bytes of its own, for so many places."""

    def __init__(self):
        self.forget()

    def forget(self):
        self.random = Random(49)
        self.values = []

    def __call__(self, letters=LETTERS):
        self.values.append(bytes(self.random.choices(letters, k=TOKEN)) * 5)
        return self.values[-1]

    def binary(self):
        return self(range(256))

    def pieces(self):
        """Return each piece, and the number of the secret that it is of."""
        return {
            text[at : at + PIECE]: number for number, text in enumerate(self.values) for at in range(TOKEN)
        }


secret = Secrets()


def put_secrets(codec=0, **fields):
    """Return a batch with secrets in keys, values and headers."""
    records = [
        put_record(n, n, secret(), secret.binary(), [(secret(), secret()), (b"h", None), (secret(), b"")])
        for n in range(3)
    ]
    return put_records(records, codec, last_offset_delta=2, **fields)


def put_legacy(base, magic, codec):
    """Return two messages, in a wrapper with a codec."""
    first = 0 if codec and magic else base
    inner = b"".join(put_message(first + n, magic, 5, secret(), secret.binary()) for n in range(2))
    return put_wrapper(base + 1, inner, codec, magic, 5) if codec else inner


def member_value():
    """Return a classic group with one member of a consumer, which has put something of its own there."""
    return group_value(("m", "orders"), own=[struct.pack(">i", 52) + secret().ljust(52, b"-") for _ in "sa"])


def put_data(folder):
    """Make a log dir with secrets wherever bytes of people or of plugins lie."""
    secret.forget()
    root = log_dir(folder / "data")
    orders = root / "orders-0"
    segment(
        orders,
        0,
        b"".join(put_secrets(codec, base_offset=3 * codec) for codec in range(5)),
        offset_entries((5, 200)) + secret()[:40],
        time_entries((7, 3)) + secret()[:36],
    )
    damaged = bytearray(put_secrets(base_offset=15))
    damaged[80] ^= 1
    segment(orders, 15, bytes(damaged) + put_secrets(base_offset=18) + secret() + put_secrets(base_offset=21))
    segment(orders, 24, put_secrets(base_offset=24) + put_secrets(base_offset=27)[:-9])
    (orders / f"{24:020}.txnindex").write_bytes(secret()[:34])
    (orders / f"{24:020}.snapshot").write_bytes(secret())
    for ending in ("log.deleted", "log.cleaned", "log.swap"):
        (orders / f"{100:020}.{ending}").write_bytes(put_secrets(base_offset=100))
    (orders / "leader-epoch-checkpoint").write_text(epoch_lines((0, 0)) + secret().decode())
    (orders / "notes.txt").write_bytes(secret())
    put_topic_id(orders)
    for number, magic in ((1, 0), (2, 1)):
        log = b"".join(put_legacy(2 * codec, magic, codec) for codec in range(4))
        segment(root / f"orders-{number}", 0, log + secret())
    segment(root / "orders-3", 0, secret() * 4)
    segment(root / "control-0", 0, put_records([put_record(key=secret(), value=secret())], attributes=0x20))
    groups = root / "__consumer_offsets-0"
    unknown = (struct.pack(">h", 99) + secret(), struct.pack(">h", 9) + secret())
    commits = [(commit_key("g", "orders", 0), commit_value(3, metadata=secret().decode())), unknown]
    segment(groups, 0, group_batch(0, *commits, (group_key("h"), member_value() + secret())))
    packed = [put_record(0, 0, commit_key("p", "orders", 1), commit_value(4, metadata=secret().decode() * 9))]
    (groups / f"{0:020}.log").write_bytes(
        (groups / f"{0:020}.log").read_bytes() + put_records(packed, 4, base_offset=3)
    )
    place = {"topicIdPartition": {"name": "orders", "id": OTHER_ID, "partition": 0}, "id": TOPIC_ID}
    tiered = {
        "remoteLogSegmentId": place,
        "endOffset": 5,
        "customMetadata": secret(),
        "segmentLeaderEpochs": [],
    }
    event = b"\1\0\0" + put_fields(REMOTE_SCHEMAS["RemoteLogSegmentMetadataRecord"].fields, tiered, 1)
    events = [put_record(0, 0, secret(), event), put_record(1, 0, None, b"\1\0\0" + secret())]
    segment(root / "__remote_log_metadata-0", 0, put_records(events, 1))
    broker, topic = 4, 2
    settings = [
        config(broker, "7", "listener.name.sasl.plain.sasl.jaas.config", secret().decode()),
        config(broker, "7", "ssl.keystore.password", secret().decode()),
        config(broker, "7", "my.plugin.token", secret().decode()),
        config(topic, "orders", "retention.ms", "1000"),
        config(topic, "orders", "my.secret", secret().decode()),
    ]
    scram = {"name": "alice", "mechanism": 1, "iterations": 4096}
    scram |= {name: secret() for name in ("salt", "storedKey", "serverKey")}
    credentials = record("UserScramCredentialRecord", **scram)
    tagged = record("RemoveTopicRecord")[:-1] + b"\1\x63" + bytes([46]) + secret()[:46]
    put_topic(root, "orders", 3)
    metadata = root / "__cluster_metadata-0"
    base = max(metadata.glob("*.log"))
    base.write_bytes(
        base.read_bytes() + metadata_batch(100, *settings, credentials, tagged, b"\1\x7f\0" + secret())
    )
    (metadata / "quorum-state").write_text(
        '{"clusterId":"","leaderId":7,"leaderEpoch":1,"votedId":7,"appliedOffset":0,'
        '"currentVoters":[{"voterId":7}],"data_version":0,"note":"' + secret().decode() + '"}'
    )
    meta = root / "meta.properties"
    meta.write_text(f"#{secret().decode()}\npassword={secret().decode()}\n" + meta.read_text())
    checkpoint = f"0\n1\norders 0 5\n{secret().decode()} {secret().decode()}\n"
    (root / "recovery-point-offset-checkpoint").write_text(checkpoint)
    (root / "replication-offset-checkpoint").write_text("0\n1\norders 0 5\n")
    (root / "heap.hprof").write_bytes(secret())
    (root / "lost+found").mkdir()
    (root / "lost+found" / "core").write_bytes(secret())
    return root


@pytest.fixture
def data(tmp_path):
    return put_data(tmp_path)


@pytest.fixture(scope="module")
def bundled(tmp_path_factory):
    """Directories with such a log dir, and with what its bundle holds."""
    folder = tmp_path_factory.mktemp("bundled")
    return folder, bundle([put_data(folder)], folder / "b.tar.gz")[2]


@pytest.fixture(scope="module")
def mutated_sources(tmp_path_factory):
    return sources(tmp_path_factory.mktemp("sources"))


def bundle(log_dirs, out, *words):
    """Write a bundle; return its row, the document's status, and the directory with what is in it."""
    found, status = ask("bundle", *log_dirs, "--out", out, *words)
    with tarfile.open(out) as archive:
        archive.extractall(f"{out}.d", filter="data")
    return found["rows"][0], status, f"{out}.d/kcli-bundle"


def status_of(*words):
    return CliRunner().invoke(app, [*map(str, words)]).exit_code


def layers(path):
    """Yield the bytes of a file, and what its batches, and what is there of a bundle, hold decompressed."""
    data = path.read_bytes()
    yield data
    for found in re.finditer(WITHOUT_PAYLOAD, data):
        with suppress(zlib.error):
            yield zlib.decompressobj(-zlib.MAX_WBITS).decompress(data[found.end() :])
    with DataFile(str(path)) as file:
        for item in verified_batches(file, 0) if ".log" in path.name else ():
            if isinstance(item, VerifiedBatch):
                with suppress(FormatError):
                    is_old = item.batch.header.magic < 2
                    yield message_set(item.raw, 1 << 20).body if is_old else unpacked(item.raw, 1 << 20)[1]


def seeds(count):
    """Return seeds, of which `make check` tries a fourth."""
    return [pytest.param(seed, marks=pytest.mark.slow if seed % 4 else ()) for seed in range(count)]


def secrets_in(root):
    """Return the numbers of the secrets of which a piece is in the files below a directory, or compressed."""
    pieces, found = secret.pieces(), set()
    for path in sorted(root.rglob("*")):
        for layer in layers(path) if path.is_file() else ():
            data = bytes(layer)
            there = {data[at : at + PIECE] for at in range(len(data))}
            found |= {pieces[piece] for piece in there & pieces.keys()}
    return found


def comparable(command, paths, folder):
    """Return the rows, findings and errors of a command, without what may differ, and its status."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        found, status = ask(*command.split(), *paths)
    finally:
        os.chdir(before)
    text = json.dumps([found["rows"], found["findings"], found["errors"]])
    return json.loads(VARIES.sub("", text)), status


def words_aside(answer):
    """Return an answer without words about bytes that are filled."""
    if isinstance(answer, dict):
        return {name: words_aside(value) for name, value in answer.items() if name not in WORDS}
    return [*map(words_aside, answer)] if isinstance(answer, (list, tuple)) else answer


def test_no_secret_is_in_a_bundle_however_it_is_packed(data, tmp_path):
    assert secrets_in(data) == {*range(len(secret.values))}

    row, status, unpacked_to = bundle([data], tmp_path / "b.tar.gz")
    assert status == 0 and not secrets_in(Path(unpacked_to).parent)
    left_out = {(entry["path"], entry["size"]) for entry in row["left_out"]}
    assert {("data/heap.hprof", 50), ("data/orders-0/notes.txt", 50), ("data/lost+found", None)} == left_out


@pytest.mark.parametrize("seed", seeds(8))
def test_no_secret_is_left_of_what_is_damaged(seed, data, tmp_path):
    random = Random(seed)
    for directory in sorted(path for path in data.iterdir() if path.is_dir()):
        for _ in range(3):
            mutate(random, directory)
    shutil.rmtree(data / "lost+found")
    _, _, unpacked_to = bundle([data], tmp_path / "b.tar.gz")
    assert not secrets_in(Path(unpacked_to))


def put_garbage(random, log):
    """Return bytes of payload, those of a log, or what has the shape of a header around a secret."""
    shape = random.choice(("payload", "log", "header", "numbers"))
    text = random.choice(secret.values)
    if shape == "payload":
        return b"".join(random.choices(secret.values, k=3))[random.randrange(TOKEN) :]
    if shape == "log":
        return log[random.randrange(len(log)) :]
    if shape == "numbers":
        return b"".join(bytes(random.randrange(9)) + text[: random.randrange(9)] for _ in range(12))
    size = random.choice((49, 60, 200))
    header = struct.pack(">qi4sb4sh", random.randrange(30), size, text, random.randrange(3), text[4:8], 0)
    return header + struct.pack(">i30si", 2, text, random.choice((1, 2))) + text * 3


def damage_with_payload(random, path):
    """Damage a file so that payload comes to lie where none is, or does not lie where it lay."""
    data = bytearray(path.read_bytes())
    logs = [log.read_bytes() for log in sorted(path.parents[1].rglob("*.log"))]
    log = random.choice([log for log in logs if log])
    garbage = put_garbage(random, log)
    starts = batches(data) or [0]
    at = random.choice((random.randrange(len(data)), random.choice(starts) + random.randrange(HEADER_SIZE)))
    kind = random.choice(("put", "put", "put", "insert", "remove", "join", "flip", "flip", "zero", "all"))
    if kind == "put":
        garbage = garbage[: random.choice((random.randrange(1, 70), len(garbage)))]
        data[at : at + len(garbage)] = garbage
    elif kind == "insert":
        data[at:at] = garbage[: random.randrange(1, 80)]
    elif kind == "remove":
        del data[at : at + random.randrange(1, 30)]
    elif kind == "join":
        data[at:] = garbage
    elif kind == "flip":
        for _ in range(3):
            place = min(at + random.randrange(80), len(data) - 1)
            data[place] ^= 1 << random.randrange(8)
    elif kind == "zero":
        size = random.randrange(1, HEADER_SIZE)
        data[at : at + size] = bytes(size)
    else:
        data[:] = garbage
    path.write_bytes(data)


@pytest.mark.parametrize("seed", seeds(24))
def test_no_piece_of_a_secret_is_left_where_payload_is_not_at_its_place(seed, data, tmp_path):
    random = Random(seed)
    for path in sorted(data.rglob("*")):
        if path.is_file() and path.stat().st_size and random.random() < 0.7:
            damage_with_payload(random, path)
    _, _, unpacked_to = bundle([data], tmp_path / "b.tar.gz")
    assert not secrets_in(Path(unpacked_to))


def test_numbers_of_an_index_become_others_in_the_same_order(tmp_path):
    root, late = log_dir(tmp_path / "data"), 1_700_000_000_000_000_000
    log = put_range(0, 1, timestamp=late) + put_range(1, 1, timestamp=late + 9)
    end = len(log)
    places = ((0, 0), (1 << 28, end // 2), (1 << 30, end + 9), (-(1 << 31), end + 2), (2, end - 1))
    times = ((late, 0), (late - 1, 1), (late + 9, 2), (late + 8, 3), (5, 4))
    segment(root / "orders-0", 0, log, offset_entries(*places), time_entries(*times))
    _, _, unpacked_to = bundle([root], tmp_path / "b.tar.gz")
    index, timeindex = (
        Path(unpacked_to, "data", "orders-0", f"{0:020}.{ending}").read_bytes()
        for ending in ("index", "timeindex")
    )
    found = [struct.unpack(">ii", index[at : at + 8]) for at in range(0, len(index), 8)]
    assert found[:2] == [*places[:2]] and {*found[2:]}.isdisjoint(places)
    stamps = [struct.unpack(">qi", timeindex[at : at + 12]) for at in range(0, len(timeindex), 12)]
    assert stamps[::2] == [times[0], times[2], (1, 4)] and {*stamps[1::2]}.isdisjoint(times)
    for before, after in ((places, found), (times, stamps)):
        for number in (0, 1):
            assert order(before, number) == order(after, number)


def order(entries, number):
    """Return the numbers of entries as one of their fields rises."""
    return sorted(range(len(entries)), key=lambda at: entries[at][number])


def test_entries_of_what_a_broker_appends_meanwhile_are_zeros(tmp_path):
    first = put_range(0, 1, timestamp=7)
    segment(tmp_path, 0, first + put_range(1, 1, timestamp=9), offset_entries((0, 0), (1, len(first))))
    log = BundledFile("orders", 0)
    log.positions.extend((len(first), 0))
    with DataFile(f"{tmp_path}/{0:020}.index") as index:
        found = b"".join(index_without_payload(index, OFFSET_INDEX, BundledFile("orders", 0, log)))
    assert found == offset_entries((0, 0), (0, 0))


def test_a_topic_of_a_checkpoint_stays_where_it_has_a_directory(data, tmp_path):
    lines = "0\n2\norders 0 5\ngone.1 0 7\n"
    (data / "replication-offset-checkpoint").write_text(lines)
    _, _, unpacked_to = bundle([data], tmp_path / "b.tar.gz")
    there = Path(unpacked_to, "data", "replication-offset-checkpoint").read_text()
    assert there == "0\n2\norders 0 5\nxxxx?9 0 7\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_kcli_says_the_same_of_a_bundle(command, bundled):
    of_data, of_bundle = (comparable(command, ["data"], folder) for folder in bundled)
    assert words_aside(of_data) == words_aside(of_bundle)


def test_a_torn_batch_keeps_its_length(tmp_path):
    segment(log_dir(tmp_path / "data") / "orders-0", 0, put_range(0, 9)[:-20])
    _, _, unpacked_to = bundle([tmp_path / "data"], tmp_path / "b.tar.gz")
    torn = [
        [
            finding["message"]
            for finding in ask("check", f"{folder}/data")[0]["findings"]
            if finding["code"] == "LOG-001"
        ]
        for folder in (tmp_path, unpacked_to)
    ]
    assert torn[0] == torn[1] != []


def test_the_same_log_dirs_give_the_same_bytes(data, tmp_path):
    row, _, unpacked_to = bundle([data], tmp_path / "one.tar.gz")
    again, _, _ = bundle([data], tmp_path / "other.tar.gz")
    packed = hashlib.sha256((tmp_path / "one.tar.gz").read_bytes()).hexdigest()
    assert row["sha256"] == again["sha256"] == packed
    manifest = json.loads(Path(unpacked_to, "kcli-bundle.json").read_text())
    assert manifest["bundle"]["left_out"] == row["left_out"]


def test_files_keep_their_sizes_and_times(data, tmp_path):
    row, _, unpacked_to = bundle([data], tmp_path / "b.tar.gz")
    for path in data.rglob("*"):
        there = Path(unpacked_to, "data", path.relative_to(data))
        if path.is_file() and path.parent.name != "lost+found":
            assert (there.stat().st_size, there.stat().st_mtime_ns // 10**6) == (
                path.stat().st_size,
                path.stat().st_mtime_ns // 10**6,
            )
    assert row["bad_checksums"] == 1 and row["damaged_bytes"] > 0


def test_only_what_is_selected_and_the_metadata_log_are_in_it(data, tmp_path):
    row, _, unpacked_to = bundle([data], tmp_path / "b.tar.gz", "--topic", "orders", "--partition", "0")
    assert row["partitions"] == 2
    folders = {path.name for path in Path(unpacked_to, "data").iterdir() if path.is_dir()}
    assert folders == {"orders-0", "__cluster_metadata-0", "lost+found"}


def test_partition_directories_alone(data, tmp_path):
    shutil.move(data / "orders-3", tmp_path / "orders-3")
    row, _, unpacked_to = bundle([tmp_path / "orders-3"], tmp_path / "out.tar.gz")
    assert row["partitions"] == 1 and [*Path(unpacked_to).rglob("*.log")]
    assert not [*Path(unpacked_to).rglob("meta.properties")]


def test_secrets_of_server_properties_are_hidden(data, tmp_path):
    server = tmp_path / "server.properties"
    server.write_text(
        f"log.dirs={data}\nnode.id=7\nprocess.roles=broker\nssl.key.password=s3cr3t-1\nmy.own=s3cr3t-2\n"
        "listener.name.a.plain.sasl.jaas.config=x required password=\\\n  s3cr3t-3;\nlog.retention.ms=5\n"
        "ssl.keystore.key=-----BEGIN s3cr3t-4\nMIIEs3cr3t-5\n  user_s3cr3t-6=x\n"
        "sasl.oauthbearer.token.endpoint.url=https://u:s3cr3t-7@idp/t\n"
        "sasl.kerberos.kinit.cmd=kinit -p s3cr3t-8\n"
    )
    _, _, unpacked_to = bundle([], tmp_path / "b.tar.gz", "--server-config", server)
    text = Path(unpacked_to, "server.properties").read_text()
    assert "s3cr3t" not in text
    assert {"log.dirs=data", "node.id=7", "log.retention.ms=5", "my.own=(hidden)"} <= set(text.splitlines())


def test_what_needs_payloads_is_refused_of_a_bundle(data, tmp_path):
    _, _, unpacked_to = bundle([data], tmp_path / "b.tar.gz")
    for words in (("compact",), ("replica", "diff", data), ("replica", "fingerprint")):
        assert status_of(*words, f"{unpacked_to}/data") == 2
    assert status_of("compact", data) != 2


GIST = ("type", "dir", "result", "outcome", "log_end_offset", "action", "records_lost")


def gist(answer):
    """Return what an answer says of each partition, and where which findings are but for removed records."""
    rows, findings, _ = answer[0]
    findings = [finding for finding in findings if NOTHING_LEFT not in finding["message"]]
    found = sorted(
        (finding["code"], finding["path"] or finding["dir"] or "", finding["severity"])
        for finding in findings
    )
    return [{name: row[name] for name in GIST if name in row} for row in rows], found


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 6, 13])
def test_mutated_logs_lead_to_the_same_findings(number, mutated_sources, tmp_path):
    make(tmp_path / "data", mutated_sources, 7, number)
    row, _, unpacked_to = bundle([tmp_path / "data"], tmp_path / "b.tar.gz")
    assert row["partitions"] == 40
    for command in ("check", "startup", "ls"):
        of_data, of_bundle = (comparable(command, ["data"], folder) for folder in (tmp_path, unpacked_to))
        assert gist(of_data) == gist(of_bundle), command


def test_what_cannot_be_written_or_read(data, tmp_path, kcli):
    assert kcli("bundle", data, "--out", data / "b.tar.gz").exit_code == 5
    assert kcli("bundle", data, "--out", tmp_path / "b.zip").exit_code == 2
    assert kcli("bundle", data).exit_code == 2
    assert kcli("bundle", data, "--out", tmp_path / "new" / "case" / "b.tar.gz").exit_code == 0
    beside_a_file = tmp_path / "new" / "case" / "b.tar.gz" / "b.tar.gz"
    assert kcli("bundle", data, "--out", beside_a_file).exit_code == 4
    assert kcli("bundle", tmp_path / "none", "--out", tmp_path / "b.tar.gz").exit_code == 3
    assert kcli("bundle", data / "orders-0" / f"{0:020}.log", "--out", tmp_path / "b.tar.gz").exit_code == 3
    assert kcli("bundle", data, "--topic", "absent", "--out", tmp_path / "b.tar.gz").exit_code == 3
    assert kcli("bundle", data, "--spark", "--out", tmp_path / "b.tar.gz").exit_code == 2
    assert not (tmp_path / "b.tar.gz").exists()
    (tmp_path / "b.tar.gz").write_bytes(b"mine")
    assert kcli("bundle", data, "--out", tmp_path / "b.tar.gz").exit_code == 5
    assert (tmp_path / "b.tar.gz").read_bytes() == b"mine"


@pytest.mark.slow
def test_the_demo_is_the_same_in_a_bundle(demo, tmp_path):
    _, _, unpacked_to = bundle([demo], tmp_path / "b.tar.gz")
    for command in (
        *COMMANDS,
        "dump",
        "scan --summary --ratio",
        "rlmm state",
        "failover --all",
        "metadata history",
    ):
        of_demo, of_bundle = (
            comparable(command, [demo.name], folder) for folder in (demo.parent, unpacked_to)
        )
        assert words_aside(of_demo) == words_aside(of_bundle), command


def test_the_table_begins_with_what_is_in_it_and_what_is_not(data, tmp_path, kcli):
    printed = kcli("bundle", data, "--out", tmp_path / "b.tar.gz", "-o", "table").stdout
    said = " ".join(printed.split())
    first, rest = said.split("Keys, values, headers, passwords and SCRAM keys are not in it.")
    assert "8 partitions" in first and "1 batch of wrong checksum" in first
    assert f"sha256 {hashlib.sha256((tmp_path / 'b.tar.gz').read_bytes()).hexdigest()}" in rest
    assert (
        "data/orders-0/notes.txt 50 B not a kind of file that Kafka has" in rest
        and "Not judged on it:" in rest
    )
