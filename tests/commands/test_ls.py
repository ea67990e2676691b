"""`kcli ls` on the command line."""

import json

import jsonschema
from typer.testing import CliRunner

from commands.app import app
from kcli.output.schema import document_schema
from tests.partitions import orders, put_range, segment


def document(*words):
    done = CliRunner().invoke(app, ["ls", *map(str, words), "-o", "json"])
    answer = json.loads(done.stdout)
    jsonschema.validate(answer, document_schema("ls"))
    return answer, done.exit_code


def test_leftovers_are_listed_too(tmp_path):
    directory = orders(tmp_path / "d", put_range(0, 3))
    segment(tmp_path / "d" / "orders-3.0123456789abcdef0123456789abcdef-delete", 0)
    answer, status = document(directory.parent)
    assert [(row["partition"], row["log_end_offset"], row["state"]) for row in answer["rows"]] == [
        (0, 3, "normal"),
        (3, 0, "delete"),
    ]
    assert status == 0


def test_a_partition_that_is_partly_readable_has_a_row_and_findings(tmp_path):
    directory = orders(tmp_path / "d", put_range(0, 3))
    (directory / "leader-epoch-checkpoint").write_text("x")
    answer, status = document(directory.parent)
    assert [(row["log_end_offset"], row["latest_epoch"]) for row in answer["rows"]] == [(None, None)]
    assert [error["path"] for error in answer["errors"]] == [f"{directory}/leader-epoch-checkpoint"]
    assert status == 4


def two_log_dirs(tmp_path, first_id, second_id):
    for name, directory_id in (("d0", first_id), ("d1", second_id)):
        orders(tmp_path / name, put_range(0, 3))
        lines = ("version=1", "cluster.id=x", "node.id=1", f"directory.id={directory_id}")
        (tmp_path / name / "meta.properties").write_text("\n".join(lines))
    return tmp_path / "d0", tmp_path / "d1"


def test_a_partition_in_two_log_dirs_of_a_broker(tmp_path):
    first, second = two_log_dirs(tmp_path, "AAAAAAAAAAAAAAAAAAAAZw", "AAAAAAAAAAAAAAAAAAAAaA")
    for command in ("ls", "scan", "check"):
        done = CliRunner().invoke(app, [command, str(first), str(second), "-o", "json"])
        found = [one for one in json.loads(done.stdout)["findings"] if one["code"] == "START-009"]
        assert ([one["dir"] for one in found], done.exit_code) == ([str(second / "orders-0")], 1)
        assert "IllegalStateException" in found[0]["message"]
    assert document(second)[1] == 0


def test_copies_of_a_log_dir_are_no_duplicates(tmp_path):
    for name in ("before", "after"):
        two_log_dirs(tmp_path / name, "AAAAAAAAAAAAAAAAAAAAZw", "AAAAAAAAAAAAAAAAAAAAZw")
    first, second = tmp_path / "before" / "d0", tmp_path / "after" / "d0"
    answer, status = document(first, second)
    assert ([one["code"] for one in answer["findings"] if one["severity"] == "error"], status) == ([], 0)


def test_copies_of_a_log_dir_side_by_side_are_one_contradiction(tmp_path):
    first, second = two_log_dirs(tmp_path, "AAAAAAAAAAAAAAAAAAAAZw", "AAAAAAAAAAAAAAAAAAAAZw")
    for command in ("ls", "scan"):
        done = CliRunner().invoke(app, [command, str(first), str(second), "-o", "json"])
        (found,) = [one for one in json.loads(done.stdout)["findings"] if one["severity"] == "error"]
        assert (found["code"], found["path"]) == ("START-009", str(second / "meta.properties"))


def test_an_empty_log_dir_matches_nothing(tmp_path):
    answer, status = document(tmp_path / "nowhere")
    assert ([error["error"] for error in answer["errors"]], status) == (["not-found"], 3)


def test_help_has_an_example():
    assert "kcli ls /" in CliRunner().invoke(app, ["ls", "--help"]).stdout
