"""Completion: the words that may follow, and the shells that are here with a person at the keyboard."""

import shutil
import subprocess
import sys

import pytest

from commands.app import COMMANDS
from kcli.cli.completion import SCRIPTS, candidates
from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.manual import TOPICS
from kcli.rows import row_types
from tests.shell import Shell


def words(*line):
    return [word for word, _ in candidates(list(line))]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["ep"], ["epoch"]),
        (["epoch", ""], ["show", "end-offset", "at", "validate", "diff", "check"]),
        (["epoch", "end-offset", "--fr"], ["--from"]),
        (["epoch", "end-offset", "--from", ""], ["checkpoint", "batches"]),
        (["epoch", "end-offset", "--from=b"], ["--from=batches"]),
        (["epoch", "end-offset", "--from", "=", "b"], ["batches"]),
        (["epoch", "show", "--from", "="], ["checkpoint", "batches"]),
        (["ls", "-o", ""], ["table", "wide", "json", "ndjson", "csv", "tsv"]),
        (["dump", "-o", "t"], ["table", "tsv", "text"]),
        (["ls", "--fail-on", ""], ["info", "warning", "error", "never"]),
        (["scan", "--only", "scan_s"], ["scan_segment"]),
        (["epoch", "at", "--columns", "epoch,of"], ["epoch,offset"]),
        (["epoch", "at", "--columns", "offset,of"], []),
        (["epoch", "at", "--sort", "-of"], ["-offset"]),
        (["dump", "--codec", "gzip,z"], ["gzip,zstd"]),
        (["dump", "--decoder", "__c"], ["__consumer_offsets", "__cluster_metadata"]),
        (["ls", "--limit", "5", "--lim"], []),
        (["ls", "-v", "--verb"], ["--verbose"]),
        (["ls", "--limit", ""], []),
        (["ls", "/var"], []),
        (["explain", "TRUNC-00"], [code for code in CATALOGUE if code.startswith("TRUNC")]),
        (["help", "trunc"], ["truncation", "truncate"]),
        (
            ["help", "columns", "epoch", ""],
            ["show", "end-offset", "at", "validate", "diff", "check"],
        ),
        (["schema", "lookup", "o"], ["offset"]),
        (["completion", ""], list(SCRIPTS)),
        (["no-such", "x"], []),
        (["ls", "--findings", ""], ["inline", "stderr", "none"]),
        (["ls", "--findings", "rep"], []),
        (
            ["ls", "--where", "log_"],
            ["log_bytes", "log_start_offset", "log_end_offset", "log_end_offset_source"],
        ),
        (["dump", "--where", "size < 200 and is_tr"], ["size < 200 and is_transactional"]),
        (["dump", "--where", "size<200 and(is_tr"], ["size<200 and(is_transactional"]),
        (["ls", "--where", "high_watermark is no"], ["high_watermark is not"]),
        (["ls", "--where=leftov"], ["--where=leftovers"]),
        (["truncate", "--protocol", "h"], ["high-watermark"]),
        (["truncate", "--res"], ["--rescue"]),
        (["truncate", "--rescue", ""], []),
        (["dump", "--time", "yes"], ["yesterday"]),
        (["lookup", "timestamp", "m"], ["max"]),
        (["lookup", "offset", ""], ["earliest", "latest"]),
        (["lookup", "offset", "5", ""], []),
        (["replica", "simulate", "uncl"], ["unclean"]),
        ([""], list(COMMANDS)),
    ],
)
def test_words_that_may_follow(line, expected):
    assert words(*line) == expected


def test_every_column_finding_and_page_is_offered():
    assert words("ls", "--columns", "") == list(row_types("ls")[0].names)
    assert words("explain", "") == list(CATALOGUE)
    assert {*TOPICS, *COMMANDS, "columns"} == set(words("help", ""))


def test_words_have_a_meaning_where_the_shell_shows_it():
    assert dict(candidates(["ls", "--columns", "segm"])) == {"segments": "segments on disk"}
    assert dict(candidates(["explain", "EPOCH-003"]))["EPOCH-003"].startswith("Epoch entries start at")


def test_a_shell_that_is_not_known_is_refused(kcli):
    done = kcli("completion", "tcsh")

    assert (done.exit_code, done.stderr) == (2, "kcli: completion tcsh: expected one of bash, zsh, fish\n")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_of_that_shell(kcli, shell):
    script = kcli("completion", shell).stdout

    assert script == SCRIPTS[shell]
    if shutil.which(shell):
        subprocess.run([shell, "-n", "-c", script], check=True)


def test_completing_starts_no_workers_and_reads_nothing():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kcli", "ls", "--jobs", "4", "/proc", "--col"],
        env={"_KCLI_COMPLETE": "bash"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "--columns\n--color\n"
    assert "kcli.engine.pool" not in done.stderr and "kcli.jobs" not in done.stderr


@pytest.fixture(params=SCRIPTS)
def shell(request, tmp_path):
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} here")
    (tmp_path / "data-of-broker").mkdir()
    shell = Shell(request.param, tmp_path)
    yield shell
    shell.end()


@pytest.mark.slow
def test_tab_completes_in_a_shell(shell):
    assert shell.line_after_tab("kcli ep") == "kcli epoch"
    assert shell.line_after_tab("kcli epoch end-offset --fr") == "kcli epoch end-offset --from"
    assert (
        shell.line_after_tab("kcli epoch end-offset --from ch") == "kcli epoch end-offset --from checkpoint"
    )
    assert shell.line_after_tab("kcli epoch at --columns epoch,off") == "kcli epoch at --columns epoch,offset"
    assert shell.line_after_tab("kcli ls --columns=segm") == "kcli ls --columns=segments"
    assert shell.line_after_tab("kcli ls data-of") in {"kcli ls data-of-broker", "kcli ls data-of-broker/"}
    assert shell.line_after_tab("kcli ls --where high_wat") == "kcli ls --where high_watermark"
    assert shell.line_after_tab("kcli ls --findings std") == "kcli ls --findings stderr"
    quoted = shell.line_after_tab("kcli dump --where 'size < 200 and is_tr")
    assert quoted == "kcli dump --where size < 200 and is_transactional"  # as echo has it
    listed = shell.listed("kcli dump --codec ", "zstd")
    assert all(codec in listed for codec in ("gzip", "snappy", "zstd"))
