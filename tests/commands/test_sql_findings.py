"""`kcli sql`: findings of damaged logs and directories are those of the command of each view."""

import json

import pytest

from tests.partitions import log_dir, put_no_ops, put_range, segment
from tests.unprivileged import as_unprivileged

pytestmark = pytest.mark.slow


def _lost(partition):
    (partition / f"{10:020}.log").unlink()


def _overlapping(partition):
    segment(partition, 15, put_range(15, 9))


def _refused(partition):
    with (partition / f"{20:020}.log").open("ab") as log:
        log.write(bytes(100))


def _misnamed(partition):
    (partition / f"{30:020}.log").mkdir()
    (partition / "x.log").touch()


@pytest.mark.parametrize(
    ("damage", "codes", "status"),
    [
        (_lost, ["IDX-011"], 1),
        (_overlapping, ["LOG-017"], 1),
        (_refused, ["LOG-009", "load-failed"], 4),
        (_misnamed, ["LOG-010", "LOG-012", "load-failed"], 4),
    ],
)
def test_segments_have_the_findings_of_scan(kcli, tmp_path, damage, codes, status):
    for base in (0, 10, 20):
        segment(log_dir(tmp_path / "d") / "orders-0", base, put_range(base, 10))
    damage(tmp_path / "d" / "orders-0")
    scanned = kcli("scan", tmp_path / "d", "-o", "json", "--only", "scan_segment")
    for jobs in "12":
        asked = kcli("sql", "SELECT dir, file FROM segments", tmp_path / "d", "-o", "json", "--jobs", jobs)

        assert (asked.exit_code, scanned.exit_code) == (status, status)
        expected, document = json.loads(scanned.stdout), json.loads(asked.stdout)
        assert sorted(map(str, document["findings"])) == sorted(map(str, expected["findings"]))
        assert document["errors"] == expected["errors"]
        assert document["rows"] == [{"dir": row["dir"], "file": row["file"]} for row in expected["rows"]]
    assert set(codes) <= {finding["code"] for finding in document["findings"]} | {
        error["error"] for error in document["errors"]
    }


def test_a_bare_log_of_unknown_topic_is_no_event_log_that_is_damaged(kcli, tmp_path):
    (tmp_path / f"{0:020}.log").write_bytes(put_range(0, 9))
    asked = kcli(
        "sql", "SELECT (SELECT count(*) FROM rlmm) e, sum(count) n FROM batches", tmp_path, "-o", "json"
    )

    document = json.loads(asked.stdout)
    assert (asked.exit_code, document["rows"]) == (0, [{"e": 0, "n": 9}])
    assert document["findings"] == []


@pytest.mark.parametrize("damage", [_lost, _overlapping, _refused, _misnamed])
def test_rows_of_findings_are_those_of_check(kcli, tmp_path, damage):
    for base in (0, 10, 20):
        segment(log_dir(tmp_path / "d") / "orders-0", base, put_range(base, 10))
    damage(tmp_path / "d" / "orders-0")
    checked = json.loads(kcli("check", tmp_path / "d", "-o", "json").stdout)
    expected = [
        (finding["code"], finding["message"], finding["path"] or finding["dir"])
        for finding in checked["findings"]
    ]
    expected += [(error["error"], error["message"], error["path"]) for error in checked["errors"]]
    for jobs in "12":
        query = "SELECT code, message, path FROM findings"
        done = kcli("sql", query, tmp_path / "d", "-o", "json", "--jobs", jobs)

        assert done.exit_code == 0
        assert [tuple(row.values()) for row in json.loads(done.stdout)["rows"]] == expected
        assert expected


@pytest.mark.parametrize("view", ["batches", "records", "segments"])
def test_names_that_are_no_log_are_findings_of_every_view_of_logs(kcli, tmp_path, view):
    segment(log_dir(tmp_path / "d") / "orders-0", 0, put_range(0, 10))
    _misnamed(tmp_path / "d" / "orders-0")
    done = kcli("sql", f"SELECT count(*) FROM {view}", tmp_path / "d", "-o", "json")

    assert done.exit_code == (4 if view == "segments" else 1)
    assert {finding["code"] for finding in json.loads(done.stdout)["findings"]} >= {"LOG-010", "LOG-012"}


def _meta(log_dir, directory_id):
    lines = ("version=1", "cluster.id=x", "node.id=1", f"directory.id={directory_id}")
    (log_dir / "meta.properties").write_text("\n".join(lines))


@pytest.mark.parametrize("is_twice", [False, True])
def test_log_dirs_that_do_not_start_together_are_found_as_in_ls_and_scan(kcli, tmp_path, is_twice):
    dirs = tmp_path / "d0", tmp_path / "d1"
    for name, path in zip(("orders-0", "orders-0" if is_twice else "orders-1"), dirs, strict=True):
        segment(log_dir(path) / name, 0, put_range(0, 3))
    segment(dirs[0] / "__cluster_metadata-0", 0, put_no_ops(0, 3))
    _meta(dirs[0], "AAAAAAAAAAAAAAAAAAAAZw")
    if is_twice:
        _meta(dirs[1], "AAAAAAAAAAAAAAAAAAAAaA")
    else:
        (dirs[1] / "meta.properties").unlink()

    def found(*words):
        done = kcli(*words, *dirs, "-o", "json")
        findings = json.loads(done.stdout)["findings"]
        return [
            finding["path"] or finding["dir"] for finding in findings if finding["code"] == "START-009"
        ], done.exit_code

    for view, command in (("offsets", "ls"), ("segments", "scan")):
        contradictions, status = found("sql", f"FROM {view}")
        assert (contradictions, status) == found(command)
        assert (len(contradictions), status) == (1, 1)
    assert found("sql", "FROM epochs") == ([], 0)
    query = "SELECT dir, topic, partition FROM findings WHERE code = 'START-009'"
    done = kcli("sql", query, *dirs, "-o", "json")
    document = json.loads(done.stdout)
    place = ("orders", 0) if is_twice else (None, None)
    directory = dirs[1] / "orders-0" if is_twice else dirs[1]
    row = dict(zip(("dir", "topic", "partition"), (str(directory), *place), strict=True))
    assert (done.exit_code, document["rows"], document["findings"]) == (0, [row], [])


IMPORTS = """
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from kcli.views.options import query
from kcli.views.plan import plan_view
"""
UNREAD = """
asked = [query({"view": view, "path": sys.argv[1]}) for view in ("batches", "records", "segments")]
found = find([sys.argv[1]], Selection())
print([failure.error for one in asked for failure in plan_view(one, found, ()).failures])
"""


def test_a_partition_that_cannot_be_listed_is_an_error_of_every_view_of_logs(tmp_path):
    for number in range(2):
        segment(log_dir(tmp_path / "d") / f"orders-{number}", 0, put_range(0, 10))
    (tmp_path / "d" / "orders-0").chmod(0)

    assert as_unprivileged(IMPORTS, UNREAD, tmp_path / "d") == f"{['no-permission'] * 3}\n"
