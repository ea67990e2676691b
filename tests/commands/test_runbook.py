"""`kcli runbook`: each script is plain sh, asks what is documented, and knows good log dirs from bad ones."""

import base64
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from commands.app import app
from kcli.cli.settings import every_command
from kcli.manual import page
from kcli.output.metric_families import METRICS
from kcli.output.schema import document_schema
from kcli.rows.truncation import RescuedRecordRow
from kcli.runbooks import DASHBOARD, RULES, SCRIPT, runbooks
from tests import transactions
from tests.builders import put_record, put_records
from tests.conftest import LogDir
from tests.groups import batch, screen_dirs, text
from tests.loaded import loaded
from tests.partitions import orders, put_range, put_topic_id, segment
from tests.recordings import pack
from tests.recordings.watch import tree
from tests.starts.observe import prepare
from tests.starts.states import OTHER_ID
from tests.transactions import PAYMENTS, hanging_log_dir, key_of, value_of

RUNBOOKS = {name: entry.text for name, entry in runbooks().items() if entry.kind == SCRIPT}
SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
CALL = re.compile(r"(?:^|\$\(|if )\s*(?:kcli|ask|keep [a-z]+) ((?:[^\\\n|)]|\\\n)*)", re.MULTILINE)
"""A command line of kcli in a script without its comments; functions that pass words on begin with "$@"."""


SH = shutil.which("sh")


@cache
def commands():
    return {" ".join(words): command for words, command in every_command(get_command(app)).items()}


def code(text):
    """Return a script without comments and without the text that it prints for people."""
    text = re.sub(r"<< ?'?END'?\n.*?^END\n", "\n", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("#", "echo "))]
    return "\n".join(lines)


def keys(text):
    """Return the keys that the jq programs of a script read, without those that they make themselves."""
    programs = " ".join(re.findall(r"jq [^'\n]*'([^']*)'", code(text)))
    read = re.findall(r"(?<![\w/\"-])(?:\$[a-z]+)?((?:\.[a-z][a-z_]*)+)", programs)
    made = re.findall(r"[{,\n] *([a-z_]+)(?=:)", programs) + re.findall(r"\.([a-z_]+) = ", programs)
    return {key for path in read for key in path[1:].split(".")} - set(made)


def calls(text):
    """Yield each command of kcli that a script runs, and its command line."""
    lines = CALL.findall(code(text))
    passed_on = " ".join(line.removeprefix('"$@"') for line in lines if line.startswith('"$@"'))
    for line in (f"{line} {passed_on}" for line in lines if not line.startswith('"$@"')):
        words = line.split()
        yield next(name for name in (" ".join(words[:2]), words[0]) if name in commands()), line


@pytest.mark.parametrize("name", RUNBOOKS)
def test_a_runbook_is_short_and_says_what_it_answers(name):
    lines = RUNBOOKS[name].splitlines()

    assert lines[0] == "#!/bin/sh"
    assert re.fullmatch(r"# .*\?", lines[1])
    assert re.match(r"# 0: .*; else: ", lines[2])
    assert f"sh {name}.sh " in RUNBOOKS[name]
    assert "set -eu" in lines and "\nexport KCLI_CONFIG= " in RUNBOOKS[name]
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 110


@pytest.mark.parametrize("name", RUNBOOKS)
def test_shells_and_shellcheck_take_it(name):
    for shell in filter(shutil.which, ("sh", "dash", "bash")):
        done = subprocess.run(
            [shell, "-n"], input=RUNBOOKS[name], text=True, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
    if SHELLCHECK is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(
        [SHELLCHECK, "--shell=sh", "--norc", "-"],
        input=RUNBOOKS[name],
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("name", RUNBOOKS)
def test_it_asks_with_options_and_reads_keys_that_are_documented(name):
    asked = list(calls(RUNBOOKS[name]))
    known = {"exit_status", "type"} | {
        key
        for command, _ in asked
        for schema in (document_schema(command), *document_schema(command)["$defs"].values())
        for key in schema["properties"]
    }
    if any("--rescue" in line for _, line in asked):
        known |= {*RescuedRecordRow._fields}

    assert asked
    for command, line in asked:
        options = {
            option for param in commands()[command].params for option in (*param.opts, *param.secondary_opts)
        }
        assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", line)) <= options
        assert re.search(r"-o (json|ndjson)\b", line), line
    assert keys(RUNBOOKS[name]) - known == set()


@pytest.mark.parametrize("name", RUNBOOKS)
def test_it_runs_nothing_that_changes_files(name):
    shell = re.sub(r"'[^']*'", "", code(RUNBOOKS[name]))
    changing = "mv|rm|cp|mkdir|rmdir|ln|truncate|dd|touch|tee|chmod|chown|install|systemctl|kill|[a-z-]+\\.sh"

    assert re.findall(rf"(?:^|[;|&({{]|then|else|do) *({changing})(?=\s)", shell, re.MULTILINE) == []
    assert set(re.findall(r"> *([^\s;]+)", shell)) <= {"/dev/null", "&2", "&1"}


def test_the_list_has_each_with_its_question_and_status(kcli):
    listed = kcli("runbook").stdout

    for name, entry in runbooks().items():
        assert f"{name} " in listed and entry.question in listed and entry.answer in listed
        assert entry.question.endswith("?") and entry.answer.startswith(
            "status 0: " if entry.kind == SCRIPT else "use: "
        )
        assert kcli("runbook", name).stdout == entry.text
        assert f"`kcli runbook {name}`" in page("runbooks")


EACH = "errors", "findings", "bad_news", "timestamp_seconds"
FAMILIES = {
    **{
        f"kcli_{command.replace(' ', '_')}_{name}": {"code", "severity"} if name == "findings" else set()
        for command in METRICS
        for name in EACH
    },
    **{
        f"kcli_{command.replace(' ', '_')}_{metric.name}": {*metric.labels.split()}
        for command, metrics in METRICS.items()
        for metric in metrics
    },
}
"""Every family, and its labels."""
ALL_COMMANDS = "|".join(command.replace(" ", "_") for command in METRICS)
OF_TARGETS = {"instance", "command"}
"""Labels of the scrape, and that which rules over all commands make of the name."""


def judge_expression(text):
    """Judge an expression by the table of metrics; return the labels of its series."""
    of_all = re.findall(r'\{__name__=~"kcli_\(([a-z_|]+)\)_([a-z_]+)"', text)
    assert all((commands, name in EACH) == (ALL_COMMANDS, True) for commands, name in of_all)
    named = re.findall(r"\b(kcli_[a-z_]+)(?:\{([^}]*)\})?", re.sub(r'"kcli_[^"]*"', "", text))
    assert named or of_all
    labels = set()
    for name, matchers in named:
        assert set(re.findall(r"([a-z_]+)(?==|!=|=~|!~)", re.sub(r'"[^"]*"', "", matchers))) <= {
            *FAMILIES[name],
            *OF_TARGETS,
        }
        labels |= FAMILIES[name]
    return labels | OF_TARGETS


def test_rules_ask_for_metrics_that_there_are():
    (rules,) = (entry.text for entry in runbooks().values() if entry.kind == RULES)
    alerts = rules.split("- alert: ")[1:]
    for alert in alerts:
        labels = judge_expression(re.search("expr: (.*)", alert)[1])
        assert set(re.findall(r"\$labels\.([a-z_]+)", alert)) <= labels
        assert re.search("severity: (warning|critical)", alert) and "summary: " in alert
        assert set(re.findall("kcli runbook ([a-z-]+)", alert)) <= set(RUNBOOKS)
    assert {command.replace(" ", "_") for command in METRICS} == set(ALL_COMMANDS.split("|"))
    assert len(alerts) > 10


def test_the_dashboard_asks_for_metrics_that_there_are():
    (text,) = (entry.text for entry in runbooks().values() if entry.kind == DASHBOARD)
    panels = json.loads(text)["panels"]
    for panel in panels:
        for target in panel["targets"]:
            labels = judge_expression(target["expr"])
            assert set(re.findall(r"\{\{([a-z_]+)\}\}", target["legendFormat"])) <= labels
            # what is in the logs of all replicas counts once
            assert not re.search(r"\(sum by|^sum by", target["expr"]) or re.search(
                r"kcli_(ls|check|retention)_|max by", target["expr"]
            )
    assert len({panel["id"] for panel in panels}) == len(panels) > 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory of the path, with a kcli that begins at once."""
    lines = {f"{command} /none" for text in RUNBOOKS.values() for command, _ in calls(text)}
    with loaded(tmp_path_factory.mktemp("bin"), lines) as folder:
        yield folder


@pytest.fixture
def run(tmp_path, folder, monkeypatch):
    """Run a runbook in `tmp_path`, which ends with a status; return what it prints; no log dir changes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def run(name, *words, status=0):
        log_dirs = [path.parent for path in tmp_path.rglob("meta.properties")]
        before = [tree(path) for path in log_dirs]
        (folder / f"{name}.sh").write_text(RUNBOOKS[name])
        done = subprocess.run(
            [SH, folder / f"{name}.sh", *map(str, words)], text=True, capture_output=True, check=False
        )
        assert [tree(path) for path in log_dirs] == before
        output = done.stdout + done.stderr
        assert done.returncode == status, output
        return output

    return run


needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="the scripts need jq")


def runs(test):
    """Mark a test that runs scripts."""
    return pytest.mark.slow(needs_jq(test))


@runs
@pytest.mark.parametrize("name", RUNBOOKS)
def test_it_says_how_it_is_used_and_what_is_missing(run, monkeypatch, folder, name):
    question, answers = RUNBOOKS[name].splitlines()[1:3]
    usage = f"{question[2:]}\n{answers[2:]}\n"
    for words, status in ((("-h",), 0), (("--help",), 0), ((), 2)):
        output = run(name, *words, status=status)
        assert output.startswith(usage) and f"sh {name}.sh " in output and "set -eu" not in output
    monkeypatch.setenv("PATH", str(folder))
    if "jq -" in code(RUNBOOKS[name]):
        words = ("1", "a", *["b"] * (name != "disk-swap"))
        assert run(name, *words, status=127) == "jq is not here\n"


@runs
@pytest.mark.parametrize(
    ("change", "status", "output"),
    [
        ("healthy", 0, "YES: start it, if what follows is what you expect.\nbroker 1 starts\n"),
        (
            "-delete and -stray directories",
            0,
            "  1 stray: a former replica: b/d0/events-1 has all offsets up",
        ),
        (
            "zeros after a clean stop",
            1,
            "do: remove b/d1/.kafka_cleanshutdown: recovery then cuts the log there",
        ),
        (
            "partition.metadata missing",
            1,
            "  1 stray: no partition.metadata names its topic id\n    b/d0/orders-0, loses 25 records\n",
        ),
        ("recovery-point of NUL bytes in d1", 1, "NO: do not start it.\nbroker 1 starts-degraded\n"),
    ],
)
def test_pre_start_gate(run, tmp_path, monkeypatch, change, status, output):
    prepare("4.3.1", change, tmp_path / "b")
    assert output in run("pre-start-gate", "b/d0", "b/d1", status=status)
    if "loses" in output:
        monkeypatch.setenv("ACCEPT_LOSS", "yes")
        run("pre-start-gate", "b/d0", "b/d1")


@runs
def test_pre_start_gate_lets_nothing_pass_without_an_answer(run, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCEPT_LOSS", "yes")
    run("pre-start-gate", status=2)
    run("pre-start-gate", "absent", status=3)
    prepare("4.3.1", "zeros after a clean stop", tmp_path / "b")
    (tmp_path / "kcli").mkdir()
    (tmp_path / "kcli" / "config.toml").write_text('where = "partition = 9"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("KCLI_FAIL_ON", "never")
    run("pre-start-gate", "b/d0", "b/d1", status=1)


@runs
def test_gates_say_yes_only_of_a_broker_with_all_that_only_it_has(run, tmp_path):
    prepare("4.3.1", "healthy", tmp_path / "b")
    for gate in (["pre-start-gate"], ["rollback-gate", "4.3"]):
        output = run(*gate, "b/d0/orders-0", status=3)
        assert "YES" not in output and "name the log dirs of a broker" in output
        output = run(*gate, "b/d0", status=1)
        assert output.startswith("NO: ") and "bring its volume back before the start" in output
    shutil.rmtree(tmp_path / "b/d0/__cluster_metadata-0")
    output = run("pre-start-gate", "b/d0", "b/d1")
    assert "not judged: which replicas the metadata makes -stray" in output


@runs
def test_rollback_gate(run, tmp_path):
    prepare("4.3.1", "healthy", tmp_path / "b")
    run("rollback-gate", "4.3", "b/d0", "b/d1")
    output = run("rollback-gate", "3.9", "b/d0", "b/d1", status=1)
    assert "NO: do not start 3.9 here." in output
    assert "\n  4.3  starts\n" in output and "\n  3.9  fails: No MetadataVersion with feature level" in output
    run("rollback-gate", "9", "b/d0", "b/d1", status=2)


@runs
def test_gates_say_no_of_a_volume_that_is_gone(run, tmp_path, monkeypatch):
    properties = prepare("4.3.1", "log dir d1 missing", tmp_path / "b")
    monkeypatch.setenv("ACCEPT_LOSS", "yes")
    for gate in (["pre-start-gate"], ["rollback-gate", "4.3"]):
        output = run(*gate, "--server-config", properties, status=4)
        assert "NO: do not start " in output and "No `meta.properties` found" in output
        assert f"NOT READ: {tmp_path}/b/d1: no such file or directory\n" in output


@runs
def test_nightly_sweep(run, tmp_path):
    prepare("4.3.1", "healthy", tmp_path / "b")
    runs = tmp_path / "runs"
    run("nightly-sweep", "runs", "b/d0", "b/d1", status=2)
    run("nightly-sweep", "b/d0", "b/d0", "b/d1", status=5)
    runs.mkdir()
    assert run("nightly-sweep", "runs", "b/d0", "b/d1") == ""
    next(runs.glob("check-*")).rename(runs / "check-2026-01-02T020000Z")
    with (tmp_path / "b" / "d0" / "orders-0" / f"{0:020}.log").open("r+b") as log:
        log.seek(100)
        log.write(b"?")
    shutil.rmtree(tmp_path / "b" / "d1" / "events-2")
    output = run("nightly-sweep", "runs", "b/d0", "b/d1", status=1)
    assert f"error LOG-003 b/d0/orders-0/{0:020}.log: offset 0: the checksum does not match" in output
    assert "damaged b/d0/orders-0: log end 26 to 26 LOG-003\n" in output and "gone b/d1/events-2" in output
    next(path for path in runs.glob("check-*") if "01-02" not in path.name).rename(runs / "check-2026-01-03")
    output = run("nightly-sweep", "runs", "b/d0", "b/d1", "absent", status=4)
    assert "error not-found absent: no such file or directory\n" in output
    assert "damaged absent: " in output and "kcli diff runs\n" in output


@runs
def test_before_truncation(run, tmp_path):
    recording = pack.unpack("truncation", tmp_path)
    leader, follower, truncated = (
        recording / f"{name}" for name in ("before-leader", "before-follower", "after-follower-stopped")
    )
    output = run("before-truncation", "saved.ndjson", leader, follower, status=1)
    lost = len((tmp_path / "saved.ndjson").read_text().splitlines())
    assert lost > 0 and f"{lost} of {lost} records that go are in saved.ndjson" in output
    run("before-truncation", "saved.ndjson", leader, follower, status=2)
    run("before-truncation", follower / "saved.ndjson", leader, follower, status=4)
    assert run("before-truncation", "none.ndjson", leader, truncated) == "No record is lost.\n"
    assert not (tmp_path / "none.ndjson").exists()


@runs
def test_end_markers_that_go_are_no_records_to_save(run, tmp_path):
    epochs, marker = {"epochs": ((0, 0), (1, 10))}, transactions.ended(10, producer=7)
    put_topic_id(orders(tmp_path / "leader", put_range(0, 10), put_range(10, 2, epoch=1), **epochs))
    put_topic_id(orders(tmp_path / "marker", put_range(0, 10), marker))
    put_topic_id(orders(tmp_path / "more", put_range(0, 10), marker, put_range(11, 5)))
    assert run("before-truncation", "none.ndjson", "leader", "marker", status=1) == "No record is lost.\n"
    output = run("before-truncation", "saved.ndjson", "leader", "more", status=1)
    assert "5 of 5 records that go are in saved.ndjson" in output
    assert len((tmp_path / "saved.ndjson").read_text().splitlines()) == 6


@runs
def test_choose_leader(run, tmp_path):
    recording = pack.unpack("truncation", tmp_path)
    replicas = recording / "before-leader", recording / "before-follower"
    output = run("choose-leader", "--topic", "segments", *replicas)
    assert "broker 1, log end 100: as the leader it costs 15 records, 15 of them committed" in output
    assert "  best: broker 2\n" in output
    assert "--election-type unclean --topic segments --partition 0\n" in output
    for path in replicas:
        shutil.copytree(path / "segments-0", tmp_path / path.name / "segments-0")
    copies = (tmp_path / path.name for path in replicas)
    assert "an unknown number of them committed" in run("choose-leader", *copies, status=1)
    output = run("choose-leader", "--topic", "segments", *replicas, "absent", status=4)
    assert "  best: broker 2\n" in output and "NOT READ: absent: " in output


@runs
def test_hanging_transaction(run, tmp_path):
    root = hanging_log_dir(tmp_path / "d")
    ended = value_of(7, 3, "CompleteCommit", [])
    transactions.coordinator(
        root, (key_of("pay"), ended), (key_of("tax"), value_of(8, 0, "Ongoing", [PAYMENTS]))
    )
    output = run("hanging-transaction", "d", status=1)
    assert "HANGS: pay is CompleteCommit" in output and "ends by itself: tax is Ongoing" in output
    assert "abort --topic payments --partition 0 --start-offset 3\n" in output
    output = run("hanging-transaction", "d/payments-0", status=1)
    assert "MAY HANG: no partition of __transaction_state is here" in output
    output = run("hanging-transaction", "d", "absent", status=4)
    assert "HANGS: pay is CompleteCommit" in output and "NOT READ: absent: " in output
    output = run("hanging-transaction", pack.unpack("failover", tmp_path) / "node1")
    assert output == "No transaction is open.\n"


@runs
def test_group_offsets(run, tmp_path):
    screen_dirs(tmp_path / "d")
    output = run("group-offsets", "billing", "d")
    assert output.startswith("orders,0,38\norders,1,130\norders-0: committed 38, log 0 to 40, lag 2, valid")
    output = run("group-offsets", "etl-photos", "d", status=1)
    assert output.startswith("orders,0,40\norders,1,100\n")
    assert "2020, log 0 to 40, lag -1980, out-of" in output
    output = run("group-offsets", "reports", "d", status=1)
    assert output.startswith("orders,0,3\n") and "valid, REMOVED by record 8" in output
    run("group-offsets", "absent", "d", status=3)
    run("group-offsets", "*", "d", status=2)
    key = struct.pack(">h", 0) + text("jobs") + bytes(16) + struct.pack(">i", 0)
    value = struct.pack(">hiiiqqq", 0, 1, 0, 3, 5, 0, 0) + b"\1\0"
    segment(tmp_path / "d" / "__share_group_state-1", 0, batch(0, (key, value)))
    output = run("group-offsets", "jobs", "d", status=2)
    assert "is a share group" in output and "consumer-groups.sh" not in output


@runs
def test_disk_swap(run, tmp_path, monkeypatch):
    prepare("4.3.1", "-stray beside its current log", tmp_path / "b")
    log = tmp_path / "b" / "d0" / "orders-0" / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-1])
    (log.with_suffix(".index")).write_bytes(b"?" * 13)
    copy = shutil.copytree(tmp_path / "b" / "d0", tmp_path / "copy")
    monkeypatch.setenv("KCLI_LIMIT", "3")
    run("disk-swap", "before.ndjson", "b/d0")
    assert run("disk-swap", "before.ndjson", "copy").startswith("The same: 6 partitions.")
    with (copy / "orders-0" / f"{0:020}.log").open("r+b") as log:
        log.seek(100)
        log.write(b"?")
    shutil.rmtree(copy / "events-1")
    (stray,) = copy.glob("*-stray")
    shutil.rmtree(stray)
    first, *lines = run("disk-swap", "before.ndjson", "copy", status=1).splitlines()
    found = sorted(line.split()[:2] for line in lines)
    assert "THEY DIFFER" in first
    assert found == [["new", "orders-0"], *(["old", name] for name in ("events-1", "orders-0", stray.name))]
    run("disk-swap", "before.ndjson", "absent", status=3)
    run("disk-swap", "b/d0/new.ndjson", "b/d0", status=5)


@runs
def test_disk_full(run, tmp_path):
    properties = prepare("4.3.1", "-delete and -stray directories", tmp_path / "b")  # log.retention.ms=-1
    output = run("disk-full", 876_000, "--server-config", properties, status=1)
    assert output.count("  nothing\n") == 2 and re.search(r"  \d+ KiB  \S+-stray\n", output)
    LogDir(tmp_path / "full").partition("orders-0")
    assert "\n  1 KiB  orders\n" in run("disk-full", 1, "full")
    output = run("disk-full", 1, "full", "absent", status=4)
    assert "\n  1 KiB  orders\n" in output and output.count("NOT READ: absent: ") == 1
    (tmp_path / "full" / "orders-0").rename(tmp_path / "full" / "__remote_log_metadata-0")
    output = run("disk-full", 1, "full", status=1)
    assert output.count("  nothing\n") == 3
    for hours in ("full", "abc", "0", "24h", "1.5", "", "-1", "9999999"):
        run("disk-full", hours, "full", status=2)


@runs
def test_stuck_upload(run, node):
    output = run("stuck-upload", 1, node, status=1)
    assert "t-retention-0: warning, 8 segments copied, not finished: 1 copies, 0 deletions" in output
    assert "  t-retention-0 48..96 COPY_SEGMENT_STARTED since 2026-11-21T12:11:04Z by broker 2" in output
    assert run("stuck-upload", 1_000_000, node).startswith("No copy and no deletion is stuck.")


@runs
def test_stray_directory(run, tmp_path):
    prepare("4.3.1", "-delete and -stray directories", tmp_path / "b")
    assert "  not needed: the current log has all of its records\n" in run("stray-directory", "b/d0", "b/d1")
    run("stray-directory", "b/d1", status=3)
    run("stray-directory", "b/d0", "b/d1", "absent", status=1)
    for path in (tmp_path / "b" / "d0").glob("*-delete"):
        shutil.rmtree(path)
    (stray,) = (tmp_path / "b" / "d0").glob("*-stray")
    shutil.rmtree(stray)
    shutil.move(tmp_path / "b" / "d0" / "events-1", stray)
    (stray / "partition.metadata").unlink()
    output = run("stray-directory", "b/d0", "b/d1", status=1)
    assert "NEEDED: no other replica is in sync" in output
    printed = [line for line in output.splitlines() if line.startswith("    ")]
    subprocess.run(["sh", "-eu"], input="\n".join(printed), text=True, check=True)
    run("pre-start-gate", "b/d0", "b/d1")


@runs
def test_a_stray_directory_that_has_other_records_or_went_elsewhere_is_for_a_person(run, tmp_path):
    prepare("4.3.1", "-stray beside its current log", tmp_path / "b")
    (stray,) = (tmp_path / "b" / "d0").glob("*-stray")
    run("stray-directory", "b/d0", "b/d1")
    (stray / f"{0:020}.log").write_bytes(put_records([put_record(offset_delta=n) for n in range(9)]))
    (stray / "partition.metadata").unlink()
    assert "  LOOK: the current log has other records" in run("stray-directory", "b/d0", "b/d1", status=1)
    (stray / "partition.metadata").write_text(f"version: 0\ntopic_id: {OTHER_ID}")
    assert "  LOOK: its topic is deleted or made anew" in run("stray-directory", "b/d0", "b/d1", status=1)
    prepare("4.3.1", "reassigned away", tmp_path / "c")
    (tmp_path / "c" / "d0" / "orders-0").rename(tmp_path / "c" / "d0" / stray.name)
    assert "  LOOK if brokers [2] have its records" in run("stray-directory", "c/d0", "c/d1", status=1)


def damage(log):
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)


@runs
def test_no_script_says_that_all_is_well_of_what_it_did_not_read(run, tmp_path):
    """Of damage, and of partitions of which nothing is judged."""
    prepare("4.3.1", "-stray beside its current log", tmp_path / "b")
    damage(tmp_path / "b" / "d0" / "orders-0" / f"{0:020}.log")
    assert "  LOOK: not all can be read\n" in run("stray-directory", "b/d0", "b/d1", status=1)
    screen_dirs(tmp_path / "groups")
    damage(next(tmp_path.glob("groups/__consumer_offsets-*/*.log")))
    assert "NOT ALL IS READ" in run("group-offsets", "billing", "groups", status=1)
    root = hanging_log_dir(tmp_path / "open")
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\npayments 0 100\n")
    (root / ".kafka_cleanshutdown").touch()
    output = run("hanging-transaction", "open", status=4)
    assert "No transaction is open.\n" not in output
    recording = pack.unpack("truncation", tmp_path)
    leader, follower = recording / "before-leader", recording / "before-follower"
    meta = shutil.copytree(follower, tmp_path / "other") / "meta.properties"
    meta.write_text(re.sub("cluster.id=.*", "cluster.id=0000000000000000000000", meta.read_text()))
    output = run("choose-leader", "--topic", "segments", leader, "other", status=2)
    assert "replicas of two clusters" in output
    assert "No partition is judged." in run("choose-leader", leader / "segments-0", "absent", status=4)
    damage(leader / "zstd-0" / f"{0:020}.log")
    assert "warning START-001 " in run("choose-leader", "--topic", "zstd", leader, follower, status=4)
    damage(follower / "segments-0" / f"{65:020}.log")
    output = run("before-truncation", "saved.ndjson", leader, follower, "--topic", "segments", status=4)
    assert "NOT ALL IS SAVED" in output


@runs
def test_evidence_holds_no_key_and_no_value(run, tmp_path):
    secret = b"s3cr3t-of-a-customer"
    records = [
        put_record(offset_delta=n, key=secret, value=secret, headers=[(b"h", secret)]) for n in range(3)
    ]
    log_dir = LogDir(tmp_path / "data")
    folder = log_dir.partition("orders-0")
    (folder / f"{0:020}.log").write_bytes(
        put_records(records) + put_records(records, base_offset=3)[:-1] + b"?"
    )
    run("evidence", "out", "data")
    with tarfile.open(tmp_path / "out.tar.gz") as archive:
        files = [archive.extractfile(member).read() for member in archive if member.isfile()]
    files += [gzip.decompress((tmp_path / "out" / "bundle.tar.gz").read_bytes())]
    encoded = base64.b64encode(secret)
    assert len(files) > 20 and not [data for data in files if secret in data or encoded[:12] in data]
    run("evidence", "out", "data", status=2)
    run("evidence", "data/orders-0/new", "data", status=5)


@runs
@pytest.mark.parametrize("program", ["tar", "kcli bundle", "kcli check"])
def test_evidence_that_cannot_be_written_is_not_said_to_be_made(run, folder, tmp_path, monkeypatch, program):
    LogDir(tmp_path / "data").partition("orders-0")
    name, _, command = program.partition(" ")
    stub = tmp_path / "bin" / name
    stub.parent.mkdir()
    # what kcli ends with where a disk is full
    stub.write_text(f'#!/bin/sh\ncase "$1" in {command}*) exit 4 ;; esac\nexec {folder}/{name} "$@"\n')
    stub.chmod(0o755)
    monkeypatch.setitem(RUNBOOKS, "evidence", f'PATH={stub.parent}:"$PATH"\n{RUNBOOKS["evidence"]}')
    output = run("evidence", "out", "data", status=1)
    assert output.endswith("out.tar.gz is not there, or not whole: begin anew where there is room\n")
    assert "is made" not in output
