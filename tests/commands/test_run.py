"""What every command does alike: inputs, formats, columns, findings.

Shown with `epoch end-offset` and `rlmm dump`.
"""

import base64
import csv
import io
import json
import os
import shutil
import subprocess
import sys

import pytest

from kcli.rows.epochs import END_OFFSET
from tests.conftest import CLUSTER_ID
from tests.terminal import terminal

pytestmark = pytest.mark.slow

KCLI = [sys.executable, "-m", "kcli"]
ASK = ("epoch", "end-offset", "--epoch", "2")
FENCE = ("current_leader_epoch", "partition_leader_epoch", "partition_leader_epoch_source", "error")
NO_FENCE = "\t\\N" * len(FENCE)
"""What these columns hold where the request names no leader epoch."""


@pytest.fixture
def orders(log_dir):
    log_dir.partition("orders-0")
    log_dir.partition("orders-1", epochs=((0, 0), (1, 3)), end=7)
    log_dir.partition("orders-10")
    log_dir.partition("__internal-0")
    return log_dir.path


def answers(result):
    return [
        (row["topic"], row["partition"], row["leader_epoch"], row["end_offset"])
        for row in json.loads(result.stdout)["rows"]
    ]


class TestFormats:
    def test_json_is_one_document(self, kcli, orders):
        (orders / ".kafka_cleanshutdown").touch()
        document = json.loads(kcli(*ASK, orders / "orders-0", "-o", "json").stdout)

        assert document == {
            "command": "epoch end-offset",
            "version": 1,
            "findings": [],
            "errors": [],
            "rows": [
                {
                    "dir": str(orders / "orders-0"),
                    "broker_id": 1,
                    "cluster_id": CLUSTER_ID,
                    "topic": "orders",
                    "partition": 0,
                    "requested_epoch": 2,
                    "leader_epoch": 2,
                    "end_offset": 25,
                    "log_end_offset": 40,
                    "log_end_offset_source": "index",
                    "rule": "between",
                    **dict.fromkeys(FENCE),
                }
            ],
        }
        assert list(document) == ["command", "version", "rows", "findings", "errors"]
        assert list(document["rows"][0]) == list(END_OFFSET.names)

    def test_ndjson_lines_have_a_type_and_end_with_findings_and_errors(self, kcli, orders):
        (orders / "orders-1" / "leader-epoch-checkpoint").unlink()
        result = kcli(*ASK, orders, orders / "absent", "--topic", "orders", "-o", "ndjson")
        lines = [json.loads(line) for line in result.stdout.splitlines()]

        types = [line["type"] for line in lines]
        assert types == ["end_offset"] * 3 + ["finding"] * (len(lines) - 4) + ["error"]
        assert "EPOCH-001" in {line["code"] for line in lines[3:-1]}
        assert lines[-1]["path"] == str(orders / "absent")
        assert (
            result.stderr == f"error {orders / 'absent'}: no such file or directory\n"
            "kcli: 1 of 4 inputs could not be read\n"
        )

    def test_tsv_is_what_a_pipe_gets(self, kcli, orders):
        result = kcli(*ASK, orders / "orders-0")

        assert result.stdout.splitlines() == [
            "\t".join(END_OFFSET.names),
            f"{orders}/orders-0\t1\t{CLUSTER_ID}\torders\t0\t2\t2\t25\t40\trecovered\tbetween{NO_FENCE}",
        ]

    def test_csv_is_read_back_by_a_csv_reader(self, kcli, log_dir):
        strange = log_dir.path / 'a "quoted", name'
        strange.mkdir()
        (strange / "00000000000000000000.log").write_bytes(b"")
        (strange / "leader-epoch-checkpoint").write_text("0\n0\n")
        header, row = csv.reader(io.StringIO(kcli(*ASK, strange, "-o", "csv").stdout))

        assert header == list(END_OFFSET.names)
        assert row[:5] == [str(strange), "1", CLUSTER_ID, "", ""]

    def test_wide_has_every_value_whole_whatever_the_width(self, kcli, orders):
        result = kcli(*ASK, orders / "orders-0", "-o", "wide", env={"COLUMNS": "20"})
        header, row = result.stdout.splitlines()

        assert header.split() == list(END_OFFSET.names)
        assert row.split() == [
            str(orders / "orders-0"),
            "1",
            CLUSTER_ID,
            "orders",
            "0",
            "2",
            "2",
            "25",
            "40",
            "recovered",
            "between",
            *["-"] * len(FENCE),
        ]
        assert "\x1b" not in result.stdout

    def test_text_is_only_where_a_command_has_it(self, kcli, orders):
        result = kcli(*ASK, orders, "-o", "text")

        assert (result.exit_code, result.stdout) == (2, "")
        assert (
            result.stderr
            == "kcli: --output text: epoch end-offset prints table, wide, json, ndjson, csv, tsv\n"
        )

    @pytest.mark.parametrize("output", ["csv", "tsv", "table"])
    def test_mixed_rows_need_only(self, kcli, orders, output):
        (orders / "_rlmm_committed_offsets").write_text("0\n1\n0 5\n")
        (orders / "__remote_log_metadata-0").mkdir()
        (orders / "__remote_log_metadata-0" / "00000000000000000000.log").write_bytes(b"")
        result = kcli("rlmm", "dump", orders, "-o", output)

        assert (result.exit_code, result.stdout) == (2, "")
        assert "--only rlmm_event|rlmm_committed_offset, or -o ndjson" in result.stderr

    @pytest.mark.parametrize("output", ["csv", "tsv", "wide"])
    def test_one_kind_of_row_needs_no_only(self, kcli, orders, output):
        (orders / "_rlmm_committed_offsets").write_text("0\n1\n0 5\n")
        result = kcli("rlmm", "dump", orders, "-o", output)

        assert result.exit_code == 0
        assert [line.replace(",", " ").split()[-2:] for line in result.stdout.splitlines()] == [
            ["metadata_partition", "committed_offset"],
            ["0", "5"],
        ]

    def test_only_refuses_a_type_that_does_not_exist(self, kcli, orders):
        assert kcli("rlmm", "dump", orders, "--only", "epoch").exit_code == 2


class TestColumns:
    def test_columns_are_printed_in_the_order_given(self, kcli, orders):
        result = kcli(*ASK, orders, "--topic", "orders", "--columns", "end_offset,partition")

        assert result.stdout.splitlines() == ["end_offset\tpartition", "25\t0", "-1\t1", "25\t10"]

    def test_columns_apply_to_json(self, kcli, orders):
        result = kcli(*ASK, orders / "orders-0", "--columns", "rule,dir", "-o", "json")

        assert [list(row) for row in json.loads(result.stdout)["rows"]] == [["rule", "dir"]]

    @pytest.mark.parametrize(
        "words",
        [("--columns", "nothing"), ("--sort", "nothing"), ("--columns", "dir,dir"), ("--columns", "")],
    )
    def test_an_unknown_or_repeated_column_is_a_usage_error(self, kcli, orders, words):
        result = kcli(*ASK, orders, *words)

        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)

    def test_sorted_by_two_columns_then_cut(self, kcli, orders):
        result = kcli(
            *ASK,
            orders,
            "--sort",
            "-end_offset,-partition",
            "--limit",
            "3",
            "--columns",
            "end_offset,partition",
            "--no-headers",
        )

        assert result.stdout.splitlines() == ["25\t10", "25\t0", "25\t0"]

    @pytest.mark.parametrize(("limit", "status"), [(2**63 - 1, 0), (2**63, 2)])
    def test_the_largest_limit_is_accepted(self, kcli, orders, limit, status):
        assert kcli(*ASK, orders, "--limit", limit).exit_code == status

    def test_limit_0_still_reads_everything(self, kcli, orders):
        result = kcli(*ASK, orders, orders / "absent", "--limit", "0", "-o", "json")

        assert json.loads(result.stdout)["rows"] == []
        assert result.exit_code == 4


class TestInputs:
    def test_a_log_dir_is_all_its_partitions_in_order(self, kcli, orders):
        result = kcli(*ASK, orders, "-o", "json")

        assert [answer[:2] for answer in answers(result)] == [
            ("__internal", 0),
            ("orders", 0),
            ("orders", 1),
            ("orders", 10),
        ]

    @pytest.mark.parametrize(
        ("words", "partitions"),
        [
            (["--topic", "orders"], [0, 1, 10]),
            (["--topic", "orders", "--partition", "1-9,10"], [1, 10]),
            (["--topic-regex", "ord"], None),
            (["--topic-regex", "ord.*", "--partition", "0"], [0]),
            (["--exclude-internal"], [0, 1, 10]),
        ],
    )
    def test_topic_and_partition_options_select_partitions(self, kcli, orders, words, partitions):
        result = kcli(*ASK, orders, *words, "-o", "json")

        if partitions is None:
            assert result.exit_code == 3
            assert [error["error"] for error in json.loads(result.stdout)["errors"]] == ["nothing-matched"]
        else:
            assert [answer[1] for answer in answers(result)] == partitions

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

    def test_globs_are_expanded(self, kcli, orders):
        assert [answer[1] for answer in answers(kcli(*ASK, f"{orders}/orders-1*", "-o", "json"))] == [1, 10]

    def test_a_path_that_is_not_utf8_is_read(self, orders):
        os.rename(os.fsencode(orders / "orders-1"), os.fsencode(orders) + b"/b\xe9-1")
        done = subprocess.run(
            [*KCLI, *ASK, os.fsencode(orders) + b"/b\xe9-1", "-o", "json"], capture_output=True, check=False
        )

        assert done.returncode == 0
        assert json.loads(done.stdout)["rows"][0]["dir"] == f"{orders}/b%E9-1"

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
        done = subprocess.run(
            [
                "bash",
                "-c",
                (
                    '"$@" --files-from <(echo "$HERE/orders-0")'
                    ' --server-config <(cat "$HERE/../server.properties")'
                ),
                "-",
                *KCLI,
                *ASK,
                "-o",
                "json",
            ],
            capture_output=True,
            check=False,
            env={**os.environ, "HERE": str(orders)},
        )

        assert [answer[1] for answer in answers(done)] == [0, 10]

    def test_a_list_may_be_the_stdin_by_name(self, orders):
        done = subprocess.run(
            [*KCLI, *ASK, "--files-from", "/dev/stdin", "-o", "json"],
            input=os.fsencode(orders / "orders-1"),
            capture_output=True,
            check=False,
        )

        assert [answer[1] for answer in answers(done)] == [1]

    def test_a_list_of_paths_has_a_size_limit(self, kcli, monkeypatch):
        monkeypatch.setattr("commands._inputs.LIST_LIMIT", 1000)

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

        assert (result.exit_code, result.stderr) == (
            4,
            "error '': an empty path; is a shell variable unset?\n",
        )

    def test_leftovers_that_would_have_matched_are_counted(self, kcli, log_dir):
        log_dir.partition("orders-0")
        log_dir.partition(f"old-0.{'a' * 32}-delete")

        assert (
            kcli(*ASK, log_dir.path, "--topic", "old")
            .stderr.splitlines()[-1]
            .endswith(
                "matches what was asked for; 1 -delete, -stray or -future left out; --include-leftovers "
                "reads them"
            )
        )
        assert kcli(*ASK, log_dir.path, "--topic", "new").stderr.endswith("matches what was asked for\n")

    def test_no_path_is_a_usage_error(self, kcli):
        result = kcli(*ASK)

        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


class TestFindings:
    def test_findings_are_one_line_each_on_stderr(self, kcli, orders):
        (orders / "orders-1" / "leader-epoch-checkpoint").unlink()
        result = kcli(*ASK, orders / "orders-1", orders / "absent")

        *findings, error, count = result.stderr.splitlines()
        assert any(line.startswith(f"warning EPOCH-001 {orders}/orders-1") for line in findings)
        assert error == f"error {orders}/absent: no such file or directory"
        assert count == "kcli: 1 of 2 inputs could not be read"

    def test_v_explains_findings(self, kcli, orders):
        (orders / "orders-1" / "leader-epoch-checkpoint").unlink()
        result = kcli(*ASK, orders / "orders-1", "-v")

        assert [line.split(":")[0] for line in result.stderr.splitlines()][1:3] == [
            "  broker",
            "  what to do",
        ]

    def test_a_finding_about_the_log_dir_is_printed_once(self, kcli, orders):
        (orders / ".kafka_cleanshutdown").touch()
        (orders / "recovery-point-offset-checkpoint").write_text("not a checkpoint\n")
        findings = json.loads(kcli(*ASK, orders, "-o", "json").stdout)["findings"]

        assert [(finding["code"], finding["file"], finding["path"]) for finding in findings] == [
            (
                "DIR-003",
                "recovery-point-offset-checkpoint",
                f"{orders}/recovery-point-offset-checkpoint",
            )
        ]

    def test_leftovers_are_findings_one_by_one(self, kcli, log_dir):
        log_dir.partition("orders-0")
        for kind, tag in (("delete", "a"), ("stray", "b")):
            log_dir.partition(f"old-0.{tag * 32}-{kind}")
        findings = json.loads(kcli(*ASK, log_dir.path, "-o", "json").stdout)["findings"]

        assert [finding["code"] for finding in findings] == ["DIR-002", "DIR-002"]

    def test_quiet_says_nothing_anywhere(self, kcli, orders):
        result = kcli(*ASK, orders, orders / "absent", "-q")

        assert (result.exit_code, result.output) == (4, "")

    def test_an_error_without_rows_is_no_empty_table(self, kcli, tmp_path):
        for output in ("tsv", "csv", "table", "ndjson"):
            result = kcli(*ASK, tmp_path / "absent", "-o", output)

            assert result.exit_code == 3
            assert "leader_epoch" not in result.stdout


class TestEngines:
    @pytest.mark.parametrize("output", ["json", "ndjson", "tsv"])
    def test_jobs_give_the_same_bytes(self, kcli, orders, output):
        (orders / "orders-1" / "leader-epoch-checkpoint").write_text("0\n1\nx 0\n")
        words = (*ASK, orders, orders / "absent", "-o", output)

        inline, pool = kcli(*words), kcli(*words, "--jobs", "2")

        assert inline.exit_code == 4
        assert (inline.stdout, inline.stderr, inline.exit_code) == (pool.stdout, pool.stderr, pool.exit_code)

    @pytest.mark.parametrize(
        "words",
        [
            ("--jobs", "2", "--spark"),
            ("--spark-conf", "novalue"),
            ("--spark-master", "x", "--spark-remote", "y"),
            ("--jobs", "0"),
        ],
    )
    def test_contradicting_engine_options_are_usage_errors(self, kcli, orders, words):
        assert kcli(*ASK, orders, *words).exit_code == 2


def on_terminal(*words, **environment):
    """Run kcli with a terminal as stdout; return what it printed."""
    printed, _, status = terminal([*KCLI, *words], **environment)
    assert status == 0
    return printed.decode()


class TestTerminal:
    def test_a_coloured_table(self, orders):
        printed = on_terminal(*ASK, orders / "orders-0")

        assert "\x1b[1m" in printed
        assert str(orders) in printed.replace("\r\n", "")

    @pytest.mark.parametrize(
        ("words", "environment"),
        [((), {"NO_COLOR": "1"}), (("--color", "never"), {"FORCE_COLOR": "1"}), ((), {"TERM": "dumb"})],
    )
    def test_a_table_without_colour(self, orders, words, environment):
        printed = on_terminal(*ASK, orders / "orders-0", *words, **environment)

        assert "\x1b" not in printed
        assert "ASKED FOR" in printed

    def test_force_color_colours_a_pipe(self, kcli, orders):
        for words, env in ((("--color", "always"), {}), ((), {"FORCE_COLOR": "1"})):
            assert "\x1b[1m" in kcli(*ASK, orders / "orders-0", "-o", "table", *words, env=env).stdout


def test_a_command_without_files_prints_rows(kcli):
    result = kcli("rlmm", "partition", "AAAAAAAAAAAAAAAAAAAAAA:3", "-o", "json")

    assert result.exit_code == 0
    assert [row["partition"] for row in json.loads(result.stdout)["rows"]] == [3]


def test_bytes_are_base64_apart_from_null():
    from kcli.output.values import cell

    assert [cell(value) for value in (b"\0\xff", b"", None)] == [
        base64.b64encode(b"\0\xff").decode(),
        "",
        r"\N",
    ]
