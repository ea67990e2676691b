"""What every command makes of its inputs: paths, log dirs, selections, lists of paths."""

import json
import os
import shutil

import pytest

from tests.commands.answers import ASK, answers
from tests.processes import KCLI, run_program

pytestmark = pytest.mark.slow


class TestInputs:
    def test_a_topic_that_is_not_here_is_an_error_and_the_others_are_answered(self, kcli, orders):
        result = kcli(*ASK, orders, "--topic", "ordres,orders", "-o", "json")

        document = json.loads(result.stdout)
        assert (result.exit_code, {row["topic"] for row in document["rows"]}) == (4, {"orders"})
        (error,) = document["errors"]
        assert error["message"].startswith("--topic ordres: no partition") and "orders?" in error["message"]

    def test_paths_from_stdin(self, kcli, orders):
        result = kcli(*ASK, "-", "-o", "json", input=f"{orders}/orders-0\n\n{orders}/orders-1\n")

        assert [answer[1] for answer in answers(result)] == [0, 1]

    def test_paths_from_a_file_ended_by_nul(self, kcli, orders, tmp_path):
        strange = orders / "two\nlines-0"
        (orders / "orders-1").rename(strange)
        (tmp_path / "list").write_bytes(
            b"%s\0%s\0" % (os.fsencode(strange), os.fsencode(orders / "orders-0"))
        )
        result = kcli(*ASK, "--files-from", tmp_path / "list", "-0", "-o", "json")

        assert [row["dir"] for row in json.loads(result.stdout)["rows"]] == [
            str(strange),
            str(orders / "orders-0"),
        ]

    def test_log_dirs_of_a_server_config(self, kcli, orders, tmp_path):
        other = shutil.copytree(orders / "orders-0", tmp_path / "second" / "orders-0").parent
        words = f"# a broker\nbroker.id=1\nlog.dirs = {orders} , {other}\n"
        (tmp_path / "server.properties").write_text(words)
        result = kcli(*ASK, "--server-config", tmp_path / "server.properties", "-o", "json")

        assert len(answers(result)) == 5
        for words in ((orders / "orders-0",), ("--files-from", "-")):
            named = ("--server-config", tmp_path / "server.properties", *words, "-o", "json")
            assert [answer[1] for answer in answers(kcli(*ASK, *named, input=f"{orders}/orders-0\n"))] == [0]

    @pytest.mark.parametrize("by_config", [True, False])
    def test_a_volume_that_is_not_mounted_is_an_error_but_of_who_judges_a_start(
        self, kcli, orders, tmp_path, by_config
    ):
        gone, config = tmp_path / "gone", tmp_path / "server.properties"
        gone.mkdir()
        config.write_text(f"log.dirs={orders},{gone}\n")
        paths = ("--server-config", config) if by_config else (orders, gone)
        for command in ("scan", "txn open", "retention", "checkpoint show", "producers", "epoch show"):
            done = kcli(*command.split(), *paths, "-o", "json")
            errors = [error["path"] for error in json.loads(done.stdout)["errors"]]
            assert (errors, done.exit_code) == ([str(gone)], 4), command
        assert "kcli_txn_open_errors 1\n" in kcli("txn", "open", *paths, "-o", "prometheus").stdout
        for command in ("startup", "check", "ls"):
            done = json.loads(kcli(command, *paths, "-o", "json").stdout)
            assert done["errors"] == []
            assert ("START-009", str(gone)) in {
                (finding["code"], finding["dir"]) for finding in done["findings"]
            }
        asked = json.loads(kcli("sql", "SELECT code, dir FROM findings", *paths, "-o", "json").stdout)
        assert {"code": "START-009", "dir": str(gone)} in asked["rows"]
        assert "not-a-log-dir" not in {row["code"] for row in asked["rows"]}

    @pytest.mark.parametrize(
        "path", ["s3a://bucket/data", "hdfs://name/data", "file:///data", "S3://bucket/data"]
    )
    def test_urls_are_refused_in_one_line(self, kcli, path):
        result = kcli(*ASK, path)

        assert (result.exit_code, result.stdout) == (2, "")
        assert (
            result.stderr == f"kcli: {path}: kcli reads files, not URLs; "
            "mount or copy them to where every worker sees them\n"
        )

    def test_lists_may_be_pipes(self, orders, tmp_path):
        (tmp_path / "server.properties").write_text(f"log.dirs={orders}/orders-10\n")
        pipes = '--files-from <(echo "$HERE/orders-0") --server-config <(cat "$HERE/../server.properties")'
        line = ["bash", "-c", f'"$@" {pipes}', "-", *KCLI, *ASK, "-o", "json"]
        done = run_program(line, env={**os.environ, "HERE": str(orders)})

        assert [answer[1] for answer in answers(done)] == [0]

    def test_a_list_of_paths_has_a_size_limit(self, kcli, monkeypatch):
        monkeypatch.setattr("kcli.cli.inputs.LIST_LIMIT", 1000)

        for words in (("--files-from", "/dev/zero"), ("--server-config", "/dev/zero")):
            assert kcli(*ASK, *words).stderr == f"kcli: {' '.join(words)}: more than 1000 bytes\n"
        assert kcli(*ASK, "-", input="x" * 1001).stderr == "kcli: -: more than 1000 bytes\n"

    @pytest.mark.parametrize(
        ("path", "reason"), [("absent", "no such file or directory"), (".", "is a directory")]
    )
    def test_a_list_that_cannot_be_read_is_a_usage_error(self, kcli, path, reason):
        assert kcli(*ASK, "--files-from", path).stderr == f"kcli: --files-from {path}: {reason}\n"

    @pytest.mark.parametrize(
        ("words", "answer"),
        [
            ((), "expected at least one PATH, or --files-from, or --server-config"),
            (("-",), "-: stdin names no PATH"),
            (("--files-from", "-"), "--files-from -: stdin names no PATH"),
            (("--files-from", "list"), "--files-from list: the file names no PATH"),
            (("--files-from", "list", "-0"), "--files-from list: the file names no PATH"),
            (
                ("-", "--files-from", "list"),
                "-: stdin names no PATH; --files-from list: the file names no PATH",
            ),
        ],
    )
    @pytest.mark.parametrize("text", ["", "\n\r\n"])
    def test_a_list_without_a_path_is_named(self, kcli, tmp_path, monkeypatch, words, answer, text):
        monkeypatch.chdir(tmp_path)
        text = text if "-0" not in words else "\0" * len(text)
        (tmp_path / "list").write_text(text)
        done = kcli(*ASK, *words, input=text)

        assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"kcli: {answer}\n")

    def test_a_server_config_without_log_dirs_is_a_usage_error(self, kcli, tmp_path):
        (tmp_path / "server.properties").write_text("log.dirs=\n")
        result = kcli(*ASK, "--server-config", tmp_path / "server.properties")

        assert result.exit_code == 2
        assert (
            result.stderr == f"kcli: --server-config {tmp_path}/server.properties: its log.dirs is empty; "
            "a broker does not start with that\n"
        )

    def test_an_empty_path_is_an_error_with_its_likely_cause(self, kcli, orders):
        result = kcli(*ASK, "", orders / "orders-0")

        said = "error '': an empty path; is a shell variable unset?\n"
        assert (result.exit_code, result.stderr) == (4, said)

    def test_leftovers_that_would_have_matched_are_counted(self, kcli, log_dir):
        log_dir.partition("orders-0")
        log_dir.partition(f"old-0.{'a' * 32}-delete")

        said = "asked for; 1 -delete, -stray or -future left out; --include-leftovers reads them\n"
        assert kcli(*ASK, log_dir.path, "--topic", "old").stderr.endswith(said)
        assert kcli(*ASK, log_dir.path, "--topic", "new").stderr.endswith("matches what was asked for\n")
