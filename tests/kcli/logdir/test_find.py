"""From arguments to targets: kinds of directories, selections, leftovers, names that are hard to read."""

import glob
import json
import os

import pytest

from kcli.logdir.buffers import shown
from kcli.logdir.classify import directory_kind
from kcli.logdir.find import expand, find, with_unformatted
from kcli.logdir.targets import Selection, partition_of
from tests.partitions import log_dir, orders, put_range, segment
from tests.unprivileged import as_unprivileged

EVERYTHING = Selection()


def names(found):
    return [os.path.basename(target.path) for target in found.targets]


@pytest.fixture
def kafka(tmp_path):
    root = log_dir(tmp_path / "kafka-1")
    for name in ("b-10", "b-9", "a-0", "__consumer_offsets-3", "a.x-0", "a-1"):
        segment(root / name, 0)
    for name in (
        "a-7.0123456789abcdef0123456789abcdef-delete",
        "a-8.0123456789abcdef0123456789abcdef-future",
    ):
        segment(root / name, 0)
    return root


def test_a_log_dir(kafka):
    found = find([str(kafka)], EVERYTHING)
    assert names(found) == ["__consumer_offsets-3", "a-0", "a-1", "a.x-0", "b-9", "b-10"]
    assert all(target.log_dir == str(kafka) and target.kind == "partition" for target in found.targets)
    assert [note.kind for note in found.notes] == ["leftover", "leftover"]
    assert found.failures == []


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"topics": ("a",)}, ["a-0", "a-1"]),
        ({"topics": ("a", "b"), "partitions": frozenset({1, 9})}, ["a-1", "b-9"]),
        ({"topics": ("a*",)}, ["a-0", "a-1", "a.x-0"]),
        ({"topics": ("[bc]", "a.?")}, ["a.x-0", "b-9", "b-10"]),
        ({"topic_regexes": ("a.*",)}, ["a-0", "a-1", "a.x-0"]),
        ({"topic_regexes": ("a",)}, ["a-0", "a-1"]),
        ({"exclude_internal": True, "partitions": frozenset({3})}, []),
        ({"topics": ("nothing",)}, []),
    ],
)
def test_selections(kafka, selection, expected):
    assert names(find([str(kafka)], Selection(**selection))) == expected


def test_leftovers_on_demand(kafka):
    found = find([str(kafka)], Selection(include_leftovers=True, topics=("a",)))
    assert [target.name.kind for target in found.targets] == ["normal", "normal", "delete", "future"]
    assert found.notes == []


@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        ({}, None),
        ({"00000000000000000000.log": b""}, "partition"),
        ({"00000000000000000005.index": b""}, "partition"),
        ({"leader-epoch-checkpoint": b""}, "partition"),
        ({"partition.metadata": b""}, "partition"),
        ({"meta.properties": b""}, "log-dir"),
        ({".lock": b""}, "log-dir"),
        ({"recovery-point-offset-checkpoint": b""}, "log-dir"),
        ({"t-0": None}, "log-dir"),
        ({"t-0": b""}, None),
        ({"README": b"", "photos": None}, None),
    ],
)
def test_kinds_of_directories(tmp_path, entries, kind):
    for name, data in entries.items():
        (tmp_path / name).mkdir() if data is None else (tmp_path / name).write_bytes(data)
    assert directory_kind(str(tmp_path)) == kind


def test_an_empty_directory_by_its_name(tmp_path):
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders").mkdir()
    assert directory_kind(str(tmp_path / "orders-0")) == "partition"
    assert directory_kind(str(tmp_path / "orders")) is None


def test_a_log_dir_that_is_named_like_a_partition(kafka):
    assert directory_kind(str(kafka)) == "log-dir"
    assert find([str(kafka / "a-0")], EVERYTHING).targets[0].log_dir == str(kafka)


@pytest.mark.parametrize(
    "stray",
    [
        "00000000000000000000.log",
        "00000000000000000000.index.deleted",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "remote_log_snapshot",
    ],
)
@pytest.mark.parametrize("own_files", [True, False])
def test_a_stray_file_above_partitions_hides_none_of_them(kafka, stray, own_files):
    """Even where the log dir is named like a partition, and none of its own files is there."""
    (kafka / stray).write_bytes(b"")
    if not own_files:
        for name in ("meta.properties", ".kafka_cleanshutdown"):
            (kafka / name).unlink()
    found = find([str(kafka)], EVERYTHING)
    assert names(found) == ["__consumer_offsets-3", "a-0", "a-1", "a.x-0", "b-9", "b-10"]
    assert [note for note in found.notes if note.kind != "leftover"] == [("unknown", str(kafka / stray), "")]
    assert found.failures == []


def test_a_partition_with_a_copy_of_a_partition_in_it_stays_one(tmp_path):
    directory = orders(tmp_path / "d", put_range(0, 5))
    segment(directory / "copy-0", 0)
    assert directory_kind(str(directory)) == "partition"


def test_the_log_dir_around(tmp_path, monkeypatch):
    directory = orders(tmp_path / "d")
    for argument in (str(directory), f"{directory}/"):
        (target,) = find([argument], EVERYTHING).targets
        assert (target.log_dir, target.shown, target.name.topic) == (
            str(tmp_path / "d"),
            str(directory),
            "orders",
        )
    monkeypatch.chdir(directory)
    (target,) = find(["."], EVERYTHING).targets
    assert (target.log_dir, target.name.topic) == (str(tmp_path / "d"), "orders")
    monkeypatch.chdir(directory.parent)
    (target,) = find(["orders-0"], EVERYTHING).targets
    assert (target.log_dir, target.shown) == (str(tmp_path / "d"), "orders-0")


def test_a_partition_alone(tmp_path):
    segment(tmp_path / "orders-0", 0)
    assert find([str(tmp_path / "orders-0")], EVERYTHING).targets[0].log_dir is None


def test_files(tmp_path):
    directory = orders(tmp_path / "d")
    paths = [
        str(directory / "leader-epoch-checkpoint"),
        str(directory / "00000000000000000000.log"),
        str(tmp_path / "d" / "meta.properties"),
    ]
    targets = find(paths, EVERYTHING).targets
    assert [target.kind for target in targets] == ["leader-epoch-checkpoint", "log", "meta-properties"]
    assert [target.name and target.name.topic for target in targets] == ["orders", "orders", None]
    around = partition_of(targets[0])
    assert (around.kind, around.path, around.log_dir) == ("partition", str(directory), str(tmp_path / "d"))


def test_globs(kafka, tmp_path):
    assert names(find([f"{kafka}/a-*"], Selection(topics=("a",), include_leftovers=True)))[:2] == [
        "a-0",
        "a-1",
    ]
    (failure,) = find([f"{tmp_path}/none*"], EVERYTHING).failures
    assert (failure.path, failure.code) == (f"{tmp_path}/none*", "not-found")
    literal = tmp_path / "x[1]" / "t-0"
    segment(literal, 0)
    assert names(find([str(literal)], EVERYTHING)) == ["t-0"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "*/",
        "*/orders-0",
        "*/orders-?",
        "?/*",
        "**/orders-0",
        ".*/orders-0",
        "[ab]/*-0",
        "*/x/y",
        "a/orders-0*",
        "./*/orders-0",
        "b//*",
        "f/*",
        "*/..",
    ],
)
def test_a_glob_matches_what_pythons_does(tmp_path, monkeypatch, pattern):
    for name in ("a", "b", ".h"):
        segment(tmp_path / name / "orders-0", 0)
    (tmp_path / "f").touch()
    (tmp_path / "a" / "lost").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    for asked in (pattern, f"{tmp_path}/{pattern}"):
        assert list(expand([asked])) == (sorted(glob.glob(asked)) or [asked])


@pytest.mark.parametrize("mode", [0, 0o111, 0o444])
@pytest.mark.parametrize("pattern", ["*/orders-0", "*/orders-?", "**/orders-0/*.log", "*", "b/*"])
def test_a_glob_does_not_pass_over_what_may_not_be_searched(tmp_path, mode, pattern):
    around = tmp_path / "around"
    roots = [log_dir(around / name) for name in ("a", "b", "c")]
    around.chmod(0o755)
    for root in roots:
        segment(root / "orders-0", 0, put_range(0, 5))
    roots[1].chmod(mode)
    reported = as_unprivileged(
        "from kcli.logdir.find import find; from kcli.logdir.targets import Selection; import os",
        f"found = find([sys.argv[1] + '/{pattern}'], Selection())\n"
        "print(*(f.path for f in found.failures), *(t.path for t in found.targets if not os.access(t.path, "
        "os.R_OK)))",
        around,
    )
    roots[1].chmod(0o755)
    may_go_through = mode == 0o111 and pattern in {"*/orders-0", "**/orders-0/*.log"}
    assert (f"{around}/b" in reported) is not may_go_through


def test_names_that_are_hard_to_read(tmp_path):
    root = log_dir(tmp_path / "a b\nc")
    segment(root / "orders-0", 0)
    raw = os.path.join(os.fsencode(root), b"t\xff-1")
    os.mkdir(raw)
    found = find([str(root)], EVERYTHING)
    assert [target.shown for target in found.targets] == [f"{root}/orders-0", f"{root}/t%FF-1"]


def test_what_cannot_be_used(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "plain").mkdir()
    (tmp_path / "above" / "kafka" / "t-0").mkdir(parents=True)
    arguments = [str(tmp_path / name) for name in ("loop", "plain", "missing", "above")]
    arguments += ["nul\0byte", "*/nul\0byte"]
    failures = find(arguments, EVERYTHING).failures
    assert [failure.code for failure in failures] == [
        "symlink-loop",
        "not-a-log-dir",
        "not-found",
        "not-a-log-dir",
        "not-found",
        "not-found",
    ]
    assert failures[3].message.endswith(f"did you mean {tmp_path}/above/kafka?")


@pytest.mark.parametrize("name", [b"loop", b"x\xff"])
def test_a_log_dir_that_cannot_be_listed_is_that_of_its_real_path(kcli, kafka, name):
    """A broker takes it for offline; the path as shown is none, and would be an unformatted log dir."""
    loop = os.fsdecode(os.path.join(os.fsencode(kafka.parent), name))
    os.symlink(loop, loop)
    assert find([str(kafka), loop], EVERYTHING).given_log_dirs == [str(kafka), loop]
    findings = json.loads(kcli("startup", kafka, loop, "-o", "json").stdout)["findings"]
    codes = {each["code"]: each["dir"] for each in findings if each["code"] in {"START-009", "START-010"}}
    assert codes == {"START-010": shown(loop)}


def test_a_loop_inside_a_log_dir(kafka):
    (kafka / "a-5").symlink_to(kafka / "a-5")
    (kafka / "a-6").symlink_to("nowhere")
    os.mkfifo(kafka / "pipe")
    (kafka / "notes").mkdir()
    found = find([str(kafka)], EVERYTHING)
    assert len(found.targets) == 6
    assert [failure.code for failure in found.failures] == ["symlink-loop"]
    assert sorted(os.path.basename(note.path) for note in found.notes if note.kind == "unknown") == [
        "a-6",
        "pipe",
    ]
    assert [os.path.basename(note.path) for note in found.notes if note.kind == "unknown-directory"] == [
        "notes"
    ]


def test_a_directory_that_may_not_be_listed(tmp_path):
    root = log_dir(tmp_path / "d")
    root.chmod(0)
    reported = as_unprivileged(
        "from kcli.logdir.find import find; from kcli.logdir.targets import Selection",
        "print([(failure.path, failure.code) for failure in find(sys.argv[1:], Selection()).failures])",
        root,
    )
    root.chmod(0o755)
    assert reported == f"{[(str(root), 'no-permission')]}\n"


def test_a_partition_that_is_named_twice_is_read_once_and_a_file_twice(kcli, tmp_path):
    directory = orders(tmp_path / "d", put_range(0, 3))
    (tmp_path / "link").symlink_to(directory)
    log = directory / f"{0:020d}.log"

    def rows(*words):
        return len(json.loads(kcli(*words, "-o", "json").stdout)["rows"])

    assert rows("ls", directory, f"{directory}/", tmp_path / "link", tmp_path / "d") == 1
    assert rows("dump", log, log) == 2 * rows("dump", log)
    assert rows("replica", "diff", directory, tmp_path / "link") == 1


def test_a_link_in_a_log_dir_is_a_partition_of_its_own(kcli, tmp_path):
    """A broker loads each name: two logs over the same files."""
    directory = orders(tmp_path / "d", put_range(0, 3))
    (tmp_path / "d" / "orders-7").symlink_to("orders-0")
    for words in ("ls", "check", "startup", "epoch show"):
        rows = json.loads(kcli(*words.split(), directory.parent, "-o", "json").stdout)["rows"]
        numbers = {row["partition"] for row in rows if row.get("topic") == "orders"}
        assert numbers == {0, 7}, words


def test_a_folder_of_log_dirs_is_no_log_dir_and_all_in_it_are_proposed(tmp_path):
    for name in ("d0", "d1"):
        (tmp_path / name / "orders-0").mkdir(parents=True)
        (tmp_path / name / "meta.properties").touch()
    (tmp_path / "new").mkdir()
    (failure,) = find([str(tmp_path)], Selection()).failures
    assert failure.message.endswith(f"did you mean {tmp_path}/d0 {tmp_path}/d1 {tmp_path}/new?")
    found = with_unformatted(find([f"{tmp_path}/d0", f"{tmp_path}/new"], Selection()))
    assert (found.named_log_dirs, found.failures) == ([f"{tmp_path}/d0", f"{tmp_path}/new"], [])
    assert find([f"{tmp_path}/new"], Selection()).failures
