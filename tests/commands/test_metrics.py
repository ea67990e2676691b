"""`-o prometheus` and `--out FILE.prom`: read by Prometheus' own client, the numbers those of `-o json`."""

import json
import os
import re
import shutil
from collections import Counter
from contextlib import chdir
from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kcli.manual import page
from kcli.output.formats import PROMETHEUS
from kcli.output.metric_families import METRICS
from kcli.rows import row_types
from kcli.rows.startup import ReplicaOutcome
from tests.groups import commit, coordinator
from tests.partitions import log_dir, orders, put_range, segment, time_entries
from tests.screens import unpack
from tests.stories import DELETE_STARTED, Story, finished
from tests.tiered import cluster
from tests.transactions import sent

pytestmark = pytest.mark.slow

COMMON = {"findings", "errors", "bad_news", "timestamp_seconds"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The demo, recordings and damaged log dirs."""
    return unpack(tmp_path_factory.mktemp("metrics"))


def read(text, command):
    """Return what the judge reads: series by name without kcli_COMMAND_, a value for each set of labels."""
    prefix, found = f"kcli_{command.replace(' ', '_')}_", {}
    for family in text_string_to_metric_families(text):
        name = family.name.removeprefix(prefix)
        assert family.name == prefix + name and name not in found
        assert (family.type, bool(family.documentation)) == ("gauge", True)
        assert {sample.name for sample in family.samples} <= {family.name}
        series = {frozenset(sample.labels.items()): sample.value for sample in family.samples}
        assert len(series) == len(family.samples)
        found[name] = series
    assert text.count("# TYPE") == text.count("# HELP") == len(found)
    return found


def values(series, *names):
    """Return the values of series by those of some labels, added up; one label: without a tuple."""
    return added([{**dict(labels), "": number} for labels, number in series.items()], "", *names)


def added(rows, key, *names, join=sum):
    """Return the values of a key of rows that are no null, added up by others; None for how many rows."""
    groups = {}
    for row in rows:
        if key is None or row[key] is not None:
            by = tuple("" if row[name] is None else str(row[name]) for name in names)
            groups.setdefault(by[0] if len(names) == 1 else by, []).append(1 if key is None else row[key])
    return {by: join(numbers) for by, numbers in groups.items()}


def counted(rows, key, words):
    """Return how many rows have each of the words under a key; 0 for none."""
    return {word: sum(row[key] == word for row in rows) for word in words}


def judge_check(metrics, rows):
    results = ("clean", "warning", "damaged", "will-not-load")
    assert values(metrics["results"], "result") == counted(rows, "result", results)
    labels = ("dir", "topic", "partition", "result")
    bad = [row for row in rows if row["result"] != "clean"]
    assert values(metrics["result"], *labels) == added(bad, None, *labels)


def judge_startup(metrics, rows):
    (broker,) = (row for row in rows if row["type"] == "startup_broker")
    replicas = [row for row in rows if row["type"] == "startup"]
    assert values(metrics["outcome"], "broker_id", "outcome") == added([broker], None, "broker_id", "outcome")
    assert values(metrics["log_dir_outcome"], "dir", "outcome") == {
        (log_dir["dir"], log_dir["outcome"]): 1 for log_dir in broker["log_dirs"]
    }
    for name, key in (("lost_records", "records_lost"), ("read_bytes", "bytes_read")):
        assert list(metrics[name].values()) == [value for value in [broker[key]] if value is not None]
    assert list(metrics["needed_bytes"].values()) == [broker["bytes_needed"]]
    assert list(metrics["estimated_seconds"].values()) == [broker["seconds"]]
    assert values(metrics["replicas"], "outcome") == counted(replicas, "outcome", get_args(ReplicaOutcome))
    lost = [row for row in replicas if row["records_lost"] != 0]
    labels = ("topic", "partition", "dir", "outcome")
    assert values(metrics["replica_outcome"], *labels) == added(lost, None, *labels)
    assert metrics["release_outcome"] == {}


def judge_releases(metrics, rows):
    labels = ("broker_id", "kafka_version", "outcome")
    assert values(metrics["release_outcome"], *labels) == added(rows, None, *labels)


def judge_ls(metrics, rows):
    states = ("normal", "delete", "stray", "future")
    assert values(metrics["partitions"], "state") == counted(rows, "state", states)
    for key in ("segments", "log_bytes", "disk_bytes"):
        assert values(metrics[key], "broker_id", "topic") == added(rows, key, "broker_id", "topic")
    rows = [{**row, "log_dir": os.path.dirname(row["dir"])} for row in rows]
    assert values(metrics["log_dir_disk_bytes"], "log_dir") == added(rows, "disk_bytes", "log_dir")
    assert values(metrics["leftover_files"], "log_dir") == added(rows, "leftovers", "log_dir")
    unknown = [row for row in rows if row["log_end_offset"] is None and row["state"] == "normal"]
    assert values(metrics["unknown_log_ends"], "topic") == added(unknown, None, "topic")


def judge_sums(metrics, rows):
    for key in ("partitions", "log_bytes", "disk_bytes", "leaving_bytes"):
        assert values(metrics[f"sum_{key}"], "by", "name") == added(rows, key, "by", "name")


def judge_rlmm_check(metrics, rows):
    assert values(metrics["results"], "result") == counted(rows, "result", ("clean", "warning", "damaged"))
    bad = [row for row in rows if row["result"] != "clean"]
    labels = ("topic", "partition", "result")
    assert values(metrics["result"], *labels) == added(bad, None, *labels)
    for name, key in (("copied_segments", "copied"), ("superseded_segments", "superseded")):
        assert values(metrics[name], "topic") == added(rows, key, "topic")
    for key in ("unfinished_copies", "unfinished_deletions", "remote_bytes"):
        assert values(metrics[key], "topic") == added(rows, key, "topic")


def judge_retention(metrics, rows):
    logs = [row for row in rows if row["type"] == "retention_partition"]
    labels = ("broker_id", "topic")
    assert values(metrics["log_bytes"], *labels) == added(logs, "size", *labels)
    for key in ("deletable_bytes", "cleanable_bytes"):
        assert values(metrics[key], *labels) == added(logs, key, *labels)
    assert values(metrics["dirty_ratio"], *labels) == added(logs, "dirty_ratio", *labels, join=max)
    unknown = [row for row in logs if row["deletable_bytes"] is None]
    assert values(metrics["unknown_partitions"], *labels) == added(unknown, None, *labels)
    blocked = [row for row in rows if row["type"] == "retention" and row["blocked_by"] is not None]
    assert values(metrics["blocked_bytes"], *labels) == added(blocked, "size", *labels)
    future = [row for row in logs if row["future_timestamps"]]
    assert values(metrics["future_partitions"], *labels) == added(future, None, *labels)
    stopped = {"cleaning-failed", "log.cleaner.enable", "open-transaction"}
    stopped = [row for row in logs if row["uncleanable_because"] in stopped]
    assert values(metrics["uncleanable_partitions"], "topic", "reason") == added(
        stopped, None, "topic", "uncleanable_because"
    )


def judge_group_offsets(metrics, rows):
    rows, labels = [row for row in rows if row["removed_by"] is None], ("group_id", "topic")
    behind = [row for row in rows if (row["lag"] or 0) >= 0]
    assert values(metrics["lag"], *labels) == added(behind, "lag", *labels)
    labels = (*labels, "position")
    assert values(metrics["partitions"], *labels) == added(rows, None, *labels)
    unknown = [row for row in rows if row["lag"] is None]
    assert values(metrics["unknown_lag_partitions"], "group_id") == added(unknown, None, "group_id")
    late = [row for row in rows if row["group_id"] == "late"]
    assert values(metrics["waiting_partitions"], "group_id", "topic") == added(
        late, None, "group_id", "topic"
    )
    newest = added(rows, "commit_timestamp", "group_id", join=max)
    assert values(metrics["last_commit_timestamp_seconds"], "group_id") == {
        name: time / 1000 for name, time in newest.items()
    }


def judge_txn_open(metrics, rows):
    words = {None: "unknown", True: "true", False: "false"}
    by = Counter((row["topic"], words[row["hanging"]]) for row in rows)
    assert values(metrics["transactions"], "topic", "hanging") == by
    hanging = [row for row in rows if row["hanging"]]
    labels = ("topic", "partition", "producer_id")
    assert values(metrics["hanging"], *labels) == added(hanging, None, *labels)
    assert values(metrics["waiting_records"], "topic") == added(rows, "records_waiting", "topic", join=max)
    oldest = added(rows, "start_timestamp", "topic", join=min)
    times = {topic: time / 1000 for topic, time in oldest.items()}
    assert values(metrics["oldest_start_timestamp_seconds"], "topic") == times


DAMAGED = "damaged/d0 damaged/d1"
DAY, AT = 86_400_000, 1_800_000_000_000
AT_WORDS = "--at 2027-01-15T08:00:00Z"
CASES = {
    "check kcli-demo": judge_check,
    f"check {DAMAGED} damaged-bad-epochs/d0 clean-damaged-zero-tail/d0": judge_check,
    "startup kcli-demo": judge_startup,
    f"startup {DAMAGED}": judge_startup,
    "startup clean-damaged-zero-tail/d0": judge_startup,
    "startup apart/lost": judge_startup,
    "startup --releases kcli-demo": judge_releases,
    f"ls kcli-demo {DAMAGED}": judge_ls,
    "ls leftovers clean-damaged-zero-tail/d0": judge_ls,
    "ls --by topic kcli-demo": judge_sums,
    "ls --by log-dir kcli-demo leftovers": judge_sums,
    "rlmm check tiered/node1": judge_rlmm_check,
    "rlmm check --stuck-after 1h node1": judge_rlmm_check,
    "rlmm check story/events": judge_rlmm_check,
    "retention kcli-demo tiered/node1": judge_retention,
    f"retention --if cleanup.policy=compact {AT_WORDS} kcli-demo apart/held": judge_retention,
    f"retention {AT_WORDS} {DAMAGED} apart/future": judge_retention,
    "retention --if remote.storage.enable=true apart/alone": judge_retention,
    "group offsets groups": judge_group_offsets,
    "group offsets --all groups kcli-demo": judge_group_offsets,
    "group offsets waits": judge_group_offsets,
    "txn open transactions": judge_txn_open,
    "txn open --at 2027-01-16 transactions/payments-0 kcli-demo": judge_txn_open,
}


@pytest.fixture(scope="module")
def scenes(folder, tmp_path_factory):
    """The folder, with what no recording has: what is blocked, held open, lost, unknown, left."""
    made = tmp_path_factory.mktemp("made")
    for name in ("orders-0", "clicks-0.0123456789abcdef0123456789abcdef-delete"):
        segment(log_dir(made / "leftovers") / name, 0, put_range(0, 5))
    (made / "leftovers" / "orders-0" / f"{9:020}.log.deleted").write_bytes(b"")
    for base, time in ((0, AT + DAY), (10, AT - 9 * DAY), (20, AT - 9 * DAY)):
        log = put_range(base, 10, timestamp=time, step=0)
        segment(log_dir(made / "apart" / "future") / "orders-0", base, log, timeindex=time_entries((time, 9)))
        held = log if base else sent(0, 7, count=10, timestamp=AT - DAY)
        segment(log_dir(made / "apart" / "held") / "orders-0", base, held, timeindex=time_entries((time, 9)))
    for name in ("future", "held"):
        (made / "apart" / name / "replication-offset-checkpoint").write_text("0\n1\norders 0 30\n")
    (made / "apart" / "held" / ".kafka_cleanshutdown").unlink()
    lost = bytearray(put_range(0, 10) + put_range(10, 10))
    lost[-1] ^= 1
    segment(log_dir(made / "apart" / "lost", clean=False) / "orders-0", 0, bytes(lost))
    orders(made / "waits", put_range(0, 20))
    coordinator(made / "waits", commit(0, "late", offset=12, epoch=9))
    shutil.copytree(cluster().node1, made / "node1")
    shutil.copytree(cluster().node1 / "t-local-0", log_dir(made / "apart" / "alone") / "t-local-0")
    story = Story(made / "story")
    for number in (1, 2):
        story.remote(number, [(0, 0), (1, 0)], [(0, 0)], [(0, 0)])
    story.remote(3, [(2, 0)], [(0, 2)], [(0, 0)])
    story.values.append(finished(3, DELETE_STARTED))
    story.command("check")
    for path in folder.iterdir():
        (made / path.name).symlink_to(path)
    return made


@pytest.mark.parametrize("line", CASES)
def test_numbers_are_those_of_the_rows(kcli, scenes, line):
    command = " ".join(line.split()[:2]) if line.split()[0] in {"rlmm", "group", "txn"} else line.split()[0]
    with chdir(scenes):
        asked = kcli(*line.split(), "-o", "json")
        done = kcli(*line.split(), "-o", "prometheus")
    document = json.loads(asked.stdout)
    metrics = read(done.stdout, command)

    assert done.exit_code == asked.exit_code
    CASES[line](metrics, document["rows"])
    findings = Counter((finding["code"], finding["severity"]) for finding in document["findings"])
    assert values(metrics["findings"], "code", "severity") == findings
    assert metrics["errors"] == {frozenset(): len(document["errors"])}
    assert metrics["bad_news"] == {frozenset(): done.exit_code % 4}  # 4: beside what cannot be read
    assert metrics["timestamp_seconds"][frozenset()] > 1_700_000_000


def test_the_table_names_what_there_is_by_the_rules_of_prometheus():
    assert set(METRICS) == PROMETHEUS.of
    for command, metrics in METRICS.items():
        names = [metric.name for metric in metrics]
        assert len({*names, *COMMON}) == len(names) + len(COMMON)
        for metric in metrics:
            columns = {column.name: column.kind for column in metric.rows.columns}
            assert metric.rows in row_types(command)
            assert not re.search("_(total|count|sum|bucket|info|ms|kib)$", metric.name)
            assert ("byte" in str(metric.value)) <= metric.name.endswith("_bytes")
            assert (columns.get(metric.value) == "timestamp") == metric.name.endswith("_timestamp_seconds")


def test_the_cases_fill_every_family(kcli, scenes):
    """A family that no case fills is judged by nothing."""
    filled = set()
    for line in CASES:
        command = next(name for name in METRICS if line.startswith(name))
        with chdir(scenes):
            metrics = read(kcli(*line.split(), "-o", "prometheus").stdout, command)
        filled |= {(command, name) for name, series in metrics.items() if any(series.values())}

    assert {(command, metric.name) for command in METRICS for metric in METRICS[command]} - filled == set()


@pytest.fixture
def data(tmp_path):
    root = log_dir(tmp_path / "data")
    segment(root / "orders-0", 0, put_range(0, 5))
    return root


@pytest.mark.parametrize("command", METRICS)
def test_an_input_that_cannot_be_read_is_counted_whatever_was_there_before(kcli, data, tmp_path, command):
    path = tmp_path / "kcli.prom"
    path.write_text("before")
    done = kcli(*command.split(), "--out", path, tmp_path / "absent")

    assert (done.exit_code, done.stdout) == (3, "")
    assert read(path.read_text(), command)["errors"] == {frozenset(): 1}
    done = kcli(*command.split(), "--out", path, tmp_path / "absent", data)
    assert done.exit_code in {3, 4}
    assert read(path.read_text(), command)["errors"][frozenset()] >= 1
    assert os.listdir(tmp_path) == ["data", path.name] or os.listdir(tmp_path) == [path.name, "data"]


@pytest.mark.parametrize("command", ["rlmm check", "group offsets", "retention", "txn open"])
def test_a_topic_that_is_not_here_is_no_input_that_cannot_be_read(kcli, tmp_path, command):
    done = kcli(*command.split(), log_dir(tmp_path / "data"), "-o", "prometheus")

    assert done.exit_code == 3
    assert read(done.stdout, command)["errors"] == {frozenset(): 0}


def test_a_file_holds_what_stdout_does(kcli, data, tmp_path):
    path = tmp_path / "new" / "kcli.prom"
    for command in METRICS:
        kcli(*command.split(), "--out", path, data)
        one, other = (
            read(text, command)
            for text in (path.read_text(), kcli(*command.split(), data, "-o", "prometheus").stdout)
        )
        assert one.pop("timestamp_seconds") and other.pop("timestamp_seconds")
        assert one == other


def test_a_run_that_breaks_leaves_the_file_as_it_was(kcli, data, tmp_path, monkeypatch):
    path, seen = tmp_path / "kcli.prom", []
    path.write_text("before")

    def interrupted(*_, **__):
        seen.extend(os.listdir(tmp_path))
        raise KeyboardInterrupt

    monkeypatch.setattr("kcli.output.metrics.Gauges.lines", interrupted)
    assert kcli("ls", data, "--out", path).exit_code == 130
    assert sorted(name for name in seen if name.endswith(".prom")) == ["kcli.prom"] and len(seen) == 3
    assert path.read_text() == "before" and sorted(os.listdir(tmp_path)) == ["data", "kcli.prom"]
    assert kcli("ls", data, "-o", "prometheus").stdout == ""


@pytest.mark.parametrize("to", ["none", "stderr", "found.ndjson"])
def test_findings_count_wherever_they_are_shown(kcli, scenes, tmp_path, monkeypatch, to):
    monkeypatch.chdir(tmp_path)
    words = ("check", scenes / "damaged" / "d0")
    inline = read(kcli(*words, "-o", "prometheus").stdout, "check")["findings"]
    kcli(*words, "--out", "kcli.prom", "--findings", to)

    assert inline and read((tmp_path / "kcli.prom").read_text(), "check")["findings"] == inline


def test_names_are_escaped(kcli, tmp_path):
    name = 'a"b\\c\nd'
    orders(tmp_path / name, put_range(0, 20))
    coordinator(tmp_path / name, commit(0, name, offset=12))
    (found,) = read(kcli("group", "offsets", tmp_path / name, "-o", "prometheus").stdout, "group offsets")[
        "lag"
    ]
    assert dict(found) == {"group_id": name, "topic": "orders"}
    rows = json.loads(kcli("ls", tmp_path / name, "-o", "json").stdout)["rows"]
    series = read(kcli("ls", tmp_path / name, "-o", "prometheus").stdout, "ls")["log_dir_disk_bytes"]
    assert values(series, "log_dir").keys() == {os.path.dirname(row["dir"]) for row in rows}


def test_workers_change_no_number(kcli, scenes):
    with chdir(scenes):
        texts = [kcli("startup", "damaged/d0", "-o", "prometheus", "--jobs", n).stdout for n in (1, 2)]
    first, second = (re.sub("timestamp_seconds \\d+", "", text) for text in texts)
    assert first == second


@pytest.mark.parametrize("command", ["scan", "dump", "producers", "group list", "rlmm state", "epoch show"])
def test_other_commands_have_no_metrics(kcli, data, tmp_path, command):
    done = kcli(*command.split(), data, "--out", tmp_path / "kcli.prom")
    assert (done.exit_code, os.listdir(tmp_path)) == (2, ["data"])
    assert f"--out FILE.prom: {command} has no metrics; check, group offsets, ls, " in done.stderr
    assert kcli(*command.split(), data, "-o", "prometheus").exit_code == 2


def test_a_prom_file_is_one_file_of_metrics(kcli, data, tmp_path):
    for words in (("--out", "runs/", "-o", "prometheus"), ("--out", "a.prom", "-o", "json")):
        assert kcli("ls", data, *words).exit_code == 2
    assert kcli("ls", data, "--findings", tmp_path / "a.prom").exit_code == 2
    assert kcli("ls", data, "--out", data / "a.prom").exit_code == 5


def test_the_manual_names_every_family():
    section = page("output").partition("## Metrics\n")[2].partition("\n## ")[0]
    table = {line.split("`")[1]: line.split("|")[2] for line in section.splitlines() if line[:3] == "| `"}
    for command, metrics in METRICS.items():
        names = re.findall("`([a-z_]+)`", table[command.replace(" ", "_")])
        assert names == [metric.name for metric in metrics]
