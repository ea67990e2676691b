"""What every command does alike (inputs, formats, columns, findings), shown with two of them."""

import json

import pytest

from kcli.rows.declare import declared_type
from kcli.rows.epochs import EndOffsetRow
from tests.commands.answers import ASK
from tests.conftest import CLUSTER_ID
from tests.processes import KCLI
from tests.terminal import terminal

pytestmark = pytest.mark.slow

FENCE = ("current_leader_epoch", "partition_leader_epoch", "partition_leader_epoch_source", "error")
NO_FENCE = "\t\\N" * len(FENCE)
"""What these columns hold where the request names no leader epoch."""


class TestFormats:
    def test_json_is_one_document(self, kcli, orders):
        (orders / ".kafka_cleanshutdown").touch()
        document = json.loads(kcli(*ASK, orders / "orders-0", "-o", "json").stdout)

        assert [*document.values()] == ["epoch end-offset", 1, document["rows"], [], []]
        assert list(document) == ["command", "version", "rows", "findings", "errors"]
        assert list(document["rows"][0]) == list(declared_type(EndOffsetRow).names)

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
            "kcli: 1 of 4 partitions and files gave an error\n"
        )

    def test_tsv_is_what_a_pipe_gets(self, kcli, orders):
        result = kcli(*ASK, orders / "orders-0")

        assert result.stdout.splitlines() == [
            "\t".join(declared_type(EndOffsetRow).names),
            f"{orders}/orders-0\t1\t{CLUSTER_ID}\torders\t0\t2\t2\t25\t40\trecovered\tbetween{NO_FENCE}",
        ]

    def test_wide_has_every_value_whole_whatever_the_width(self, kcli, orders):
        result = kcli(*ASK, orders / "orders-0", "-o", "wide", env={"COLUMNS": "20"})
        header, row = result.stdout.splitlines()

        assert header.split() == list(declared_type(EndOffsetRow).names)
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

    @pytest.mark.parametrize("output", ["csv", "tsv", "wide"])
    def test_one_kind_of_row_needs_no_only(self, kcli, orders, output):
        (orders / "_rlmm_committed_offsets").write_text("0\n1\n0 5\n")
        result = kcli("rlmm", "dump", orders, "-o", output)

        assert result.exit_code == 0
        assert [line.replace(",", " ").split()[-2:] for line in result.stdout.splitlines()] == [
            ["metadata_partition", "committed_offset"],
            ["0", "5"],
        ]

    def test_limit_0_still_reads_everything(self, kcli, orders):
        result = kcli(*ASK, orders, orders / "absent", "--limit", "0", "-o", "json")

        assert json.loads(result.stdout)["rows"] == []
        assert result.exit_code == 4


class TestFindings:
    def test_findings_are_one_line_each_on_stderr(self, kcli, orders):
        (orders / "orders-1" / "leader-epoch-checkpoint").unlink()
        result = kcli(*ASK, orders / "orders-1", orders / "absent")

        *findings, error, count = result.stderr.splitlines()
        assert any(line.startswith(f"warning EPOCH-001 {orders}/orders-1") for line in findings)
        assert error == f"error {orders}/absent: no such file or directory"
        assert count == "kcli: 1 of 2 partitions and files gave an error"

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
            ("DIR-005", "recovery-point-offset-checkpoint", f"{orders}/recovery-point-offset-checkpoint")
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
