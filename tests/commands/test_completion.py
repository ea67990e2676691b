"""Completion: the words that may follow, and the shells that are here with a person at the keyboard."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from commands.app import COMMAND_NAMES
from commands.completion import SHELLS
from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.manual import TOPICS
from kcli.rows import row_types
from tests.processes import run_program
from tests.shell import Shell

FORMATS = ["table", "wide", "json", "ndjson", "csv", "tsv", "html", "markdown"]
ASK = """
import json, sys, typer.main
from commands.app import app
from typer._completion_classes import BashComplete
bash = BashComplete(typer.main.get_command(app), {}, "kcli", "_KCLI_COMPLETE")
for line in sys.stdin:
    *before, last = json.loads(line)
    found = bash.get_completions(before, last)
    print(json.dumps([(item.value, item.help) for item in found]), flush=True)
"""


@pytest.fixture(scope="module")
def candidates():
    """What the last word of a line may become, and what it means: of a kcli that a shell has started."""
    process = subprocess.Popen(
        [sys.executable, "-c", ASK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "_KCLI_COMPLETE": "complete_bash"},
        text=True,
    )

    def ask(*line):
        process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        return [tuple(pair) for pair in json.loads(process.stdout.readline())]

    with process:
        yield ask
        process.stdin.close()


@pytest.fixture(scope="module")
def words(candidates):
    return lambda *line: [word for word, _ in candidates(*line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["ep"], ["epoch"]),
        (["epoch", ""], ["show", "end-offset", "at", "validate", "diff", "check"]),
        (["epoch", "end-offset", "--fr"], ["--from"]),
        (["epoch", "end-offset", "--from", ""], ["checkpoint", "batches"]),
        (["epoch", "end-offset", "--from=b"], ["batches"]),
        (["epoch", "show", "--from", "="], ["checkpoint", "batches"]),
        (["ls", "-o", ""], [*FORMATS, "prometheus"]),
        (["scan", "-o", ""], FORMATS),
        (["dump", "-o", "t"], ["table", "tsv", "text"]),
        (["ls", "--fail-on", ""], ["info", "warning", "error", "never"]),
        (["scan", "--only", "scan_s"], ["scan_segment"]),
        (["epoch", "at", "--columns", "epoch,of"], ["epoch,offset"]),
        (["epoch", "at", "--columns", "offset,of"], []),
        (["epoch", "at", "--sort", "of"], ["offset"]),
        (["dump", "--codec", "gzip,z"], ["gzip,zstd"]),
        (["dump", "--decoder", "__c"], ["__consumer_offsets", "__cluster_metadata"]),
        (["ls", "--limit", "5", "--lim"], []),
        (["ls", "--limit", ""], []),
        (["ls", "/var"], []),
        (["explain", "TRUNC-00"], [code for code in CATALOGUE if code.startswith("TRUNC")]),
        (["help", "trunc"], ["truncation", "truncate"]),
        (["help", "columns", "epoch", ""], ["show", "end-offset", "at", "validate", "diff", "check"]),
        (["schema", "lookup", "o"], ["offset"]),
        (["completion", ""], list(SHELLS)),
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
        (["ls", "--where=leftov"], ["leftovers"]),
        (["truncate", "--protocol", "h"], ["high-watermark"]),
        (["truncate", "--res"], ["--rescue"]),
        (["truncate", "--rescue", ""], []),
        (["dump", "--time", "yes"], ["yesterday"]),
        (["lookup", "timestamp", "m"], ["max"]),
        (["lookup", "offset", ""], ["earliest", "latest"]),
        (["lookup", "offset", "5", ""], []),
        (["replica", "simulate", "uncl"], ["unclean"]),
        (["runbook", "pre"], ["pre-start-gate"]),
        ([""], list(COMMAND_NAMES)),
    ],
)
def test_words_that_may_follow(words, line, expected):
    assert words(*line) == expected


def test_every_column_finding_and_page_is_offered(words):
    names = [name for row_type in row_types("ls") for name in row_type.names]
    assert words("ls", "--columns", "") == list(dict.fromkeys(names))
    assert words("explain", "") == list(CATALOGUE)
    assert {*TOPICS, *COMMAND_NAMES, "columns"} == set(words("help", ""))


def test_words_have_a_meaning_where_the_shell_shows_it(candidates):
    (meaning,) = dict(candidates("ls", "--columns", "segm")).values()
    assert meaning.startswith("segments on disk")
    assert dict(candidates("explain", "EPOCH-003"))["EPOCH-003"].startswith(
        "A start loads other leader epochs"
    )


def test_a_shell_that_is_not_known_is_refused(kcli):
    done = kcli("completion", "tcsh")

    said = "kcli: completion tcsh: expected one of bash, zsh, fish\n"
    assert (done.exit_code, done.stderr) == (2, said)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_of_that_shell(kcli, shell):
    script = kcli("completion", shell).stdout

    assert "_KCLI_COMPLETE" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n", "-c", script], check=True)


def test_completing_starts_no_workers_and_reads_nothing():
    asked = {
        "_KCLI_COMPLETE": "complete_bash",
        "COMP_WORDS": "kcli ls --jobs 4 /proc --col",
        "COMP_CWORD": "5",
    }
    done = run_program([sys.executable, "-X", "importtime", "-m", "kcli"], check=True, env=asked)

    assert done.stdout == "--columns\n--color\n"
    assert "kcli.engine.pool" not in done.stderr and "kcli.jobs" not in done.stderr


@pytest.fixture(params=SHELLS)
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
    assert shell.line_after_tab("kcli ls data-of") in {"kcli ls data-of-broker", "kcli ls data-of-broker/"}
    assert shell.line_after_tab("kcli ls --where high_wat") == "kcli ls --where high_watermark"
    assert shell.line_after_tab("kcli ls --findings std") == "kcli ls --findings stderr"
    quoted = shell.line_after_tab("kcli dump --where 'size < 200 and is_tr")
    assert quoted == "kcli dump --where size < 200 and is_transactional"  # as echo has it
    listed = shell.listed("kcli dump --codec ", "zstd")
    assert all(codec in listed for codec in ("gzip", "snappy", "zstd"))
