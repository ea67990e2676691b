"""Archives as inputs: the answers of what is in them, and none that writes or reads beside them."""

import io
import json
import os
import re
import signal
import subprocess
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from kcli.logdir import archives, tar_members
from tests.documents import ROOT
from tests.processes import ENVIRONMENT, KCLI

pytestmark = pytest.mark.slow

DEMO = ROOT / "kcli" / "demo" / "demo.tar.gz"
COMMANDS = ("ls", "check", "startup", "dump --records --topic orders", "truncate --dry-run --to-offset 20")
OF_WHAT_IS_ABSENT = ("group list", "txn list", "rlmm check --topic absent", "txn open --topic absent")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Archives are in the working directory."""
    monkeypatch.chdir(tmp_path)
    plain = io.BytesIO()
    with tarfile.open(DEMO) as demo, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        demo.extractall("plain", filter="data")
        tar.add("plain/kcli-demo", "var/data")
    (tmp_path / "b.tar").write_bytes(plain.getvalue())
    with tarfile.open("b.tgz", "w:gz") as packed:
        packed.add("plain/kcli-demo", "var/data")
    with pa.CompressedOutputStream("b.tar.zst", "zstd") as out:
        out.write(plain.getvalue())
    return tmp_path


def answer(kcli, line, path, **more):
    """Return what a command says of a path, and its status; disk_bytes may be holes."""
    done = kcli(*line.split(), path, "-o", "json", **more)
    assert archives.UNPACKED not in done.output
    return re.sub(r'(?<="disk_bytes": )\d+', "0", done.stdout), done.exit_code


@pytest.mark.parametrize("name", ["b.tar", "b.tgz", "b.tar.zst"])
def test_an_archive_is_read_like_its_directory(kcli, place, name):
    for line in (*COMMANDS, *OF_WHAT_IS_ABSENT) if name == "b.tgz" else COMMANDS[:1]:
        expected, status = answer(kcli, line, "plain/kcli-demo")
        assert answer(kcli, line, name) == (expected.replace("plain/kcli-demo", f"{name}/var/data"), status)
    stdin, _ = answer(kcli, "ls", "-", input=(place / name).read_bytes())
    assert stdin == answer(kcli, "ls", name)[0].replace(f'"{name}/', '"stdin/')


def test_what_stops_a_start_is_named_as_in_the_archive(kcli):
    text = Path("plain/kcli-demo/meta.properties").read_text()
    other = io.BytesIO(re.sub(r"directory.id=.", "directory.id=Z", text).encode())
    with tarfile.open("twice.tar", "w") as packed:
        packed.add("plain/kcli-demo", "d0")
        packed.add("plain/kcli-demo/orders-0", "d1/orders-0")
        properties = tarfile.TarInfo("d1/meta.properties")
        properties.size = len(other.getvalue())
        packed.addfile(properties, other)
    stdout, status = answer(kcli, "startup", "twice.tar")
    broker = next(row for row in json.loads(stdout)["rows"] if "server_log" in row)
    assert (status, broker["error"]) == (1, "IllegalStateException")
    of_both = "twice.tar/d1/orders-0: the same partition lies in twice.tar/d0/orders-0"
    assert broker["error_message"] == of_both


def test_paths_and_globs_go_on_in_an_archive_and_times_are_kept(kcli):
    for inside in ("var/data/orders-0", "var/data/orders-[0]"):
        (row,) = json.loads(answer(kcli, "ls", f"b.tar/{inside}")[0])["rows"]
        assert row["dir"] == "b.tar/var/data/orders-0"
    found = archives.archive_inputs("b.tar/var/data/orders-0/leader-epoch-checkpoint")
    assert os.stat(found[0]).st_mtime == os.stat("plain/kcli-demo/orders-0/leader-epoch-checkpoint").st_mtime
    assert "b.tar/var/absent: no such file or directory" in kcli("ls", "b.tar/var/absent").stderr
    lines = b"b.tar/var/data/orders-0\n" * 40
    assert len(json.loads(answer(kcli, "ls", "-", input=lines)[0])["rows"]) == 1


def test_an_empty_volume_beside_a_log_dir_or_of_its_name_is_one_in_an_archive_too(kcli, place):
    for path in ("plain/empty", "plain/lost+found", "plain/other/kcli-demo", "plain/far/empty"):
        (place / path).mkdir(parents=True)
    with tarfile.open("volumes.tar", "w") as packed:
        packed.add("plain", ".")
    volumes = ("empty", "kcli-demo", "other/kcli-demo")
    for command in ("startup", "check", "ls", "scan"):
        expected = kcli(*command.split(), *(f"plain/{volume}" for volume in volumes), "-o", "json")
        found = kcli(*command.split(), "volumes.tar", "-o", "json")
        assert (found.exit_code, found.exit_code != 0) == (expected.exit_code, True), command
        for key in ("findings", "errors"):
            ours, theirs = (
                json.dumps(json.loads(done.stdout)[key]).replace(before, "")
                for done, before in ((expected, "plain/"), (found, "volumes.tar/"))
            )
            assert ours == theirs, command


@pytest.mark.parametrize("name", ["b.tar", "b.tgz", "b.tar.zst"])
@pytest.mark.parametrize("part", [0, 0.4, 0.97])
def test_nothing_is_judged_of_an_archive_that_is_cut(kcli, place, name, part):
    data = (place / name).read_bytes().rstrip(b"\0")
    (place / f"cut{name}").write_bytes(data[: int(len(data) * part)])
    assert kcli("startup", "--releases", f"cut{name}").exit_code == 4
    assert part == 0 or kcli("ls", "-", input=(place / f"cut{name}").read_bytes()).exit_code == 3
    for command in ("ls", "check", "startup"):
        text, status = answer(kcli, command, f"cut{name}")
        document = json.loads(text)
        (error,) = document["errors"]
        assert (status, document["rows"], document["findings"]) == (3, [], [])
        assert error["path"] == f"cut{name}" and "nothing of the archive is read" in error["message"]
    done = kcli("check", f"cut{name}", "plain/kcli-demo", "-o", "json")
    assert (done.exit_code, json.loads(done.stdout)["rows"]) == (
        4,
        json.loads(kcli("check", "plain/kcli-demo", "-o", "json").stdout)["rows"],
    )


@pytest.mark.parametrize("line", ["startup --releases", "group list"])
def test_other_ways_to_read_log_dirs_name_the_archive(kcli, line):
    text, status = answer(kcli, line, "plain/kcli-demo")
    assert answer(kcli, line, "b.tar") == (text.replace("plain/kcli-demo", "b.tar/var/data"), status)


LINK, HARD, PIPE = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE
DIRECTORY, LONG = tarfile.DIRTYPE, "d" * 247
WAY = [
    member
    for number, letter in enumerate("abcdefghijklmnop")
    for member in (
        (f"{LONG}/" * number + LONG, {"type": DIRECTORY}),
        (f"{LONG}/" * number + letter, {"type": LINK, "linkname": LONG}),
    )
]
"""Directories in each other by names that are too long for the system, and a short name of each."""
BACK = f"a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/{'l' * 254}"
HOSTILE = {
    "a way too long to be looked at": (
        [
            *WAY,
            (BACK, {"type": LINK, "linkname": "../" * 16}),
            ("x", {"type": LINK, "linkname": f"{BACK}/.."}),
        ],
        "the names of its directories have more than 2048 bytes",
    ),
    "absolute": ([("/no-such/x", {})], "/no-such/x: a name that leads out of the archive"),
    "above": ([("a/../../x", {})], "a/../../x: a name that leads out of the archive"),
    "link out": (
        [("l", {"type": LINK, "linkname": "../.."})],
        "l: a link that leads out of the archive, to ../..",
    ),
    "absolute link": (
        [("l", {"type": LINK, "linkname": "/etc"})],
        "l: a link that leads out of the archive, to /etc",
    ),
    "link by a link": (
        [("a", {"type": LINK, "linkname": "."}), ("a/b", {"type": LINK, "linkname": ".."})],
        "a/b: a link that leads out of the archive",
    ),
    "hard link out": (
        [("l", {"type": HARD, "linkname": "../../x"})],
        "l: a name that leads out of the archive",
    ),
    "hard link to a link": (
        [("a/b/l", {"type": LINK, "linkname": "../.."}), ("h", {"type": HARD, "linkname": "a/b/l"})],
        "h: a hard link to a symbolic link",
    ),
    "pipe": ([("p", {"type": PIPE})], "p: a device or a pipe"),
    "incremental": ([("d", {"type": b"D"})], "d: an incremental archive of GNU tar"),
    "deep": ([("x/" * 101 + "y", {})], "more than 100 directories in each other"),
    "no time": ([("t", {"mtime": 1e30})], "t: timestamp out of range"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_member_that_leads_out_is_a_reason_to_read_nothing(kcli, case, monkeypatch):
    members, message = HOSTILE[case]
    os.mkdir("scratch")
    monkeypatch.setenv("TMPDIR", os.path.abspath("scratch"))
    with tarfile.open("h.tar", "w") as tar:
        tar.add("plain/kcli-demo/orders-0", "orders-0")
        for name, more in members:
            member = tarfile.TarInfo(name)
            for key, value in more.items():
                setattr(member, key, value)
            tar.addfile(member)
    done = kcli("ls", "h.tar")
    assert (done.exit_code, done.stdout) == (3, "")
    assert message in done.stderr and done.stderr.endswith("nothing of the archive is read\n")
    unpacked = [place for place, _, files in os.walk(".") if "x" in files]
    assert (unpacked, os.path.lexists("/no-such")) == ([], False)


def test_a_link_on_the_way_of_another_does_not_turn_it(kcli):
    with tarfile.open("turned.tar", "w") as tar:
        tar.add("plain/kcli-demo/orders-0", "orders-0")
        for name, target in (("orders-0/x", "later/../../x"), ("orders-0/later", ".")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = LINK, target
            tar.addfile(member)
    (partition,) = archives.archive_inputs("turned.tar")
    around = os.path.realpath(os.path.dirname(partition))
    assert os.path.realpath(f"{partition}/x").startswith(f"{around}/")


def test_links_inside_and_holes_are_kept_and_the_last_of_a_name_counts(kcli):
    with open("plain/kcli-demo/orders-0/hole", "wb") as file:
        file.truncate(1 << 30)
    subprocess.run(["tar", "cSf", "s.tar", "-C", "plain", "kcli-demo"], check=True)
    with tarfile.open("s.tar", "a") as tar:
        member = tarfile.TarInfo("kcli-demo/more-0")
        member.type, member.linkname = LINK, "orders-0"
        tar.addfile(member)
        tar.addfile(tarfile.TarInfo("kcli-demo/orders-0/leader-epoch-checkpoint"))
    (log_dir,) = archives.archive_inputs("s.tar")
    hole = os.stat(f"{log_dir}/orders-0/hole")
    assert (hole.st_size, hole.st_blocks) == (1 << 30, 0)
    assert os.path.getsize(f"{log_dir}/more-0/leader-epoch-checkpoint") == 0
    assert not os.stat(os.path.dirname(os.path.dirname(log_dir))).st_mode & 0o077


def test_a_label_of_an_archive_is_no_member(kcli):
    subprocess.run(["tar", "-cf", "label.tar", "-V", "broker 1", "-C", "plain", "kcli-demo"], check=True)
    done = kcli("ls", "label.tar")
    assert done.exit_code == 0 and "orders-0" in done.stdout


@pytest.mark.parametrize(("count", "size"), [(1, 2 << 20), (3000, 0)])
@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_that_would_fill_the_memory(kcli, kind, count, size):
    with tarfile.open("h.tar", "w") as tar:
        for _ in range(count):
            member = tarfile.TarInfo("x")
            member.type, member.size = kind, size
            tar.addfile(member, io.BytesIO(bytes(size)))
        tar.add("plain/kcli-demo/orders-0", "orders-0")
    done = kcli("ls", "h.tar")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "nothing of the archive is read" in done.stderr


def test_bounds(kcli, monkeypatch):
    monkeypatch.setattr(tar_members, "MOST_MEMBERS", 3)
    assert "more than 3 members; nothing" in kcli("ls", "b.tgz").stderr
    monkeypatch.setattr(tar_members, "SPARE_BYTES", 1 << 60)
    said = kcli("ls", "b.tar").stderr
    assert re.search(r"bytes, and 0 may be used in .*: set TMPDIR; nothing of the archive", said)


def test_nothing_of_an_archive_is_kept_for_the_next_check(kcli, place):
    expected = answer(kcli, "check", "b.tar")
    for _ in range(2):
        assert answer(kcli, "check --since state", "b.tar") == expected
    assert archives.UNPACKED not in (place / "state").read_text()


def test_what_is_no_archive(kcli, place):
    (place / "no.tar").write_bytes(b"x" * 5000)
    (place / "log.tar").mkdir()
    assert "no.tar: invalid header; nothing of the archive is read" in kcli("ls", "no.tar").stderr
    assert "log.tar: neither a log dir nor a partition" in kcli("ls", "log.tar").stderr


@pytest.mark.parametrize("name", ["b.tar.xz", "b.tar.bz2", "b.txz"])
def test_an_archive_that_is_not_read_is_to_be_unpacked(kcli, place, name):
    """It is no log dir either: a start that has one beside it says nothing of the archive."""
    with tarfile.open(name, "w:bz2" if "bz2" in name else "w:xz") as packed:
        packed.add("plain/kcli-demo", "var/data")
    for line in ("ls", "check", "epoch show"):
        done = kcli(*line.split(), name)
        assert (done.exit_code, done.stderr) == (3, f"error {name}: {archives.UNPACK_IT}\n")
    assert "START-010" not in kcli("startup", "plain/kcli-demo", name).stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, None])
def test_nothing_stays(place, number):
    (place / "tmp").mkdir()
    words = [*KCLI, "dump", "--records", "b.tar", *["b.tar/var/data/orders-0"] * 400, "-o", "ndjson"]
    environment = {**ENVIRONMENT, "TMPDIR": str(place / "tmp")}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert len(os.listdir("tmp")) == 1
        if number is not None:
            process.send_signal(number)
        process.stdout.read()
    assert os.listdir("tmp") == []
