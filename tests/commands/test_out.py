"""`--out FILE`: the same rows as on stdout, in a file that is whole or not there, and never in a log dir."""

import json
import os
import resource
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kcli.output.values import compact
from tests.commands.answers import EXPECTED
from tests.out_rows import columns_without_head, without_head
from tests.processes import ENVIRONMENT, KCLI, run_program
from tests.unprivileged import as_unprivileged

pytestmark = pytest.mark.slow


COMMANDS = [
    ("ls", "D"),
    ("epoch", "end-offset", "--epoch", "all", "D", "absent"),
    ("rlmm", "dump", "D", "--only", "rlmm_event"),
    ("dump", "--records", "D/orders-0", "D/payments-0", "--only", "dump_record"),
    ("dump", "D/orders-1", "--only", "dump_batch", "--sort", "-position", "--limit", "7"),
    ("dump", "D/orders-1", "--only", "dump_batch", "--columns", "position,file"),
    ("truncate", "--dry-run", "--to-offset", "30", "D", "--topic", "orders"),
    ("rlmm", "partition", "u4NdSfWRQjaZ_ENyxMXLJA:0", "u4NdSfWRQjaZ_ENyxMXLJA:7"),
]


ALLOWED = """
from typer.testing import CliRunner
from commands.app import app
log_dir, first, second = sys.argv[1:]
allowed = CliRunner().invoke(app, ["ls", log_dir, "--out", first])  # all that is imported is read by now
"""
DENIED = """
denied = CliRunner().invoke(app, ["ls", log_dir, "--out", second])
print(allowed.exit_code, denied.exit_code, denied.stderr, end="")
"""


@pytest.fixture
def ask(kcli, demo, tmp_path, monkeypatch):
    """Run kcli in an empty directory, `D` for the demo's log dir; return result and directory entries."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(*words):
        result = kcli(
            *(str(word).replace("D", str(demo)) if str(word)[:1] == "D" else word for word in words)
        )
        return result, sorted(os.listdir())

    return run


def json_rows(path):
    """Return the rows of a Parquet file as JSON has them, without columns that hold objects as text."""
    rows = columns_without_head(pq.ParquetFile(path).read()).to_pylist()
    return [
        json.loads(compact({name: value for name, value in row.items() if name not in OPEN})) for row in rows
    ]


OPEN = {"rounds", "decoded_key", "decoded_value"}


def ndjson_rows(text):
    rows = [json.loads(line) for line in text.splitlines()]
    dropped = OPEN | {"type"}
    return [
        {name: value for name, value in row.items() if name not in dropped}
        for row in rows
        if row["type"] not in {"finding", "error"}
    ]


class TestRows:
    @pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
    @pytest.mark.parametrize("output", ["csv", "ndjson"])
    def test_the_bytes_are_those_of_stdout(self, ask, words, output):
        printed, _ = ask(*words, "-o", output)
        result, names = ask(*words, "--out", f"x.{output}")

        assert (result.stdout, result.stderr, result.exit_code) == ("", printed.stderr, printed.exit_code)
        assert names == [f"x.{output}"]
        assert without_head(Path(names[0]).read_text()) == printed.stdout
        assert printed.stdout.count("\n") > 1

    @pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
    def test_parquet_has_the_rows_of_ndjson(self, ask, words):
        printed, _ = ask(*words, "-o", "ndjson")
        result, names = ask(*words, "--out", "x.parquet")

        assert (result.stdout, result.exit_code, names) == ("", printed.exit_code, ["x.parquet"])
        assert json_rows("x.parquet") == ndjson_rows(printed.stdout)

    @pytest.mark.parametrize("output", ["parquet", "csv", "ndjson"])
    def test_processes_write_the_same(self, ask, output):
        words = ("dump", "--records", "D", "--only", "dump_record", "--out")
        ask(*words, f"one.{output}")
        ask(*words, f"two.{output}", "--jobs", "2")

        one, two = Path(f"one.{output}"), Path(f"two.{output}")
        if output == "parquet":
            assert columns_without_head(pq.read_table(one)) == columns_without_head(pq.read_table(two))
        else:
            assert without_head(one.read_text()) == without_head(two.read_text())

    def test_findings_of_csv_and_parquet_go_to_stderr(self, ask):
        for output in ("csv", "parquet"):
            result, _ = ask(
                "truncate", "--dry-run", "--to-offset", "30", "D/orders-0", "--out", f"x.{output}"
            )
            assert result.stderr.startswith("warning TRUNC-002 ")

    def test_text_is_written_to_a_txt_file(self, ask):
        printed, _ = ask("dump", "D/orders-0", "-o", "text")
        result, names = ask("dump", "D/orders-0", "-o", "text", "--out", "x.txt")

        assert (result.stdout, names) == ("", ["x.txt"])
        assert Path("x.txt").read_text() == printed.stdout

    def test_verbose_says_how_many_rows_were_written(self, ask):
        words = ("ls", "D", "--topic", "orders", "--out", "x.csv")
        assert [ask(*words, *more)[0].stderr for more in (["-v"], [])] == ["2 rows written to x.csv\n", ""]
        text, _ = ask("dump", "D/orders-0", "-v", "-o", "text", "--out", "x.txt")
        assert text.stderr.endswith(" lines written to x.txt\n")

    def test_quiet_writes_and_says_nothing(self, ask):
        result, _ = ask("ls", "D", "absent", "--out", "x.csv", "-q")

        assert (result.exit_code, result.stdout, result.stderr) == (4, "", "")
        assert Path("x.csv").read_text().count("\n") > 3

    def test_a_file_of_that_name_is_replaced(self, ask):
        Path("x.csv").write_text("before")
        ask("ls", "D", "--topic", "orders", "--columns", "partition", "--out", "x.csv")

        assert Path("x.csv").read_text() == "partition\n0\n1\n"


NOT_BOTH = (
    "--sort and --limit need all rows in one process, but with --spark the workers write --out: "
    "use only one of them"
)


PRINTED = "ls prints table, wide, json, ndjson, csv, tsv, html, markdown, prometheus"
BY_WORKERS = (
    "--sort and --limit need all rows in one process, but with --spark the workers write --out: use only one "
    "of them"
)


class TestWords:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--out", "x.json"], f"--out x.json: {EXPECTED}"),
            (["--out", "x"], f"--out x: {EXPECTED}"),
            (["--out", ".csv"], f"--out .csv: {EXPECTED}"),
            (["--out", "x.txt"], f"--out x.txt: {EXPECTED}"),
            (["--out", "x.csv", "-o", "ndjson"], "--out x.csv: the file's name says csv, -o says ndjson"),
            (["--out", "x.csv", "-o", "text"], "--out x.csv: the file's name says csv, -o says text"),
            (["--out", "x.txt", "-o", "text"], f"--output text: {PRINTED}"),
            (["-o", "parquet"], f"--output parquet: {PRINTED}"),
            (["--out", "x.csv", "--spark", "--sort", "dir"], NOT_BOTH),
            (["--out", "x.csv", "--spark-master", "local", "--limit", "1"], NOT_BOTH),
        ],
    )
    def test_wrong_targets_are_usage_errors(self, ask, words, message):
        result, names = ask("ls", "D", *words)

        assert (result.exit_code, result.stdout, result.stderr, names) == (2, "", f"kcli: {message}\n", [])

    def test_o_may_repeat_the_format_of_the_name(self, ask):
        assert ask("ls", "D", "--out", "x.parquet", "-o", "parquet")[1] == ["x.parquet"]

    @pytest.mark.parametrize("output", ["parquet", "csv"])
    def test_rows_of_several_types_need_only(self, ask, output):
        result, names = ask("dump", "D", "--out", f"x.{output}")

        assert (result.exit_code, result.stdout, names) == (2, "", [])
        assert "dump has rows of several types here: use --only with one of dump_batch, " in result.stderr
        assert result.stderr.endswith(f", or --out FILE.ndjson, for output as {output}\n")

    def test_rows_that_are_asked_for_need_no_only(self, ask, tmp_path):
        file = tmp_path / "x.csv"
        result, _ = ask("dump", "--records", "--limit", "2", "D", "--out", str(file))

        assert (result.exit_code, result.stderr) == (0, "")
        header, *rows = file.read_text().splitlines()
        assert "headers" in header and len(rows) == 2


class TestRefusals:
    @pytest.fixture
    def copy(self, demo, tmp_path):
        """Return a log dir to try to write to; what it holds must stay as it is."""
        shutil.copytree(demo, tmp_path / "data")
        before = sorted(tmp_path.joinpath("data").rglob("*"))
        yield tmp_path / "data"
        assert sorted(tmp_path.joinpath("data").rglob("*")) == before

    @pytest.mark.parametrize("engine", [(), ("--spark",)])
    @pytest.mark.parametrize("inside", ["x.csv", "orders-0/x.csv", "orders-0/../x.csv"])
    @pytest.mark.parametrize("source", ["", "orders-1", "orders-0/leader-epoch-checkpoint", None])
    def test_a_target_inside_a_log_dir_is_refused(self, ask, copy, inside, source, engine):
        asked = "D" if source is None else copy / source
        result, _ = ask("dump", asked, "--only", "dump_leader_epoch", "--out", copy / inside, *engine)

        assert (result.exit_code, result.stdout) == (5, "")
        assert result.stderr.endswith("is a log dir or a partition directory, and kcli never writes there\n")

    def test_other_targets_that_are_refused(self, ask, copy, tmp_path):
        os.symlink(copy / "orders-0", "link")
        alone, strange = (
            shutil.copytree(copy / "orders-0", tmp_path / name) for name in ("alone/orders-0", "strange")
        )
        (alone / "deeper").mkdir()
        os.mkdir("x.csv")
        os.mkfifo("pipe.csv")
        Path("parts.csv").write_text("before")
        for command, out, message in (
            (("ls", "D"), "link/x.csv", f"--out link/x.csv: {copy}/orders-0 is a log dir"),
            (("ls", "D"), alone / "deeper" / "x.csv", "kcli never writes there"),
            (("dump", strange, "--only", "dump_batch"), strange / "x.csv", "kcli never writes there"),
            (("ls", "D"), "x.csv", "--out x.csv: this is a directory; remove it, or choose another name\n"),
            (("ls", "D"), "pipe.csv", "--out pipe.csv: "),
            (("ls", "D", "--spark"), "parts.csv", "--out parts.csv: "),
        ):
            result, _ = ask(*command, "--out", out)
            assert (result.exit_code, message in result.stderr) == (5, True), (out, result.stderr)
        assert (os.listdir("x.csv"), Path("parts.csv").read_text()) == ([], "before")
        assert ask("ls", "D", "--out", alone.parent / "x.csv")[0].exit_code == 0

    def test_a_target_that_is_an_input_is_refused(self, ask):
        Path("x.csv").write_text("before")
        result, _ = ask("dump", "x.csv", "--out", "./x.csv")

        assert (result.exit_code, Path("x.csv").read_text()) == (5, "before")
        assert (
            result.stderr == "kcli: --out ./x.csv: this is one of the inputs, and kcli would replace it; "
            "choose another name\n"
        )


class TestTheEnvironment:
    @pytest.mark.parametrize("output", ["parquet", "csv", "ndjson"])
    def test_a_full_disk_is_reported(self, demo, tmp_path, output):
        (tmp_path / f"x.{output}").write_text("before")
        done = run_program(
            [*KCLI, "dump", "--records", demo, "--only", "dump_record", "--out", f"x.{output}"],
            cwd=tmp_path,
            env=ENVIRONMENT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
        )

        assert (done.returncode, done.stdout) == (4, "")
        assert done.stderr == f"kcli: --out x.{output}: cannot write: file too large\n"
        assert os.listdir(tmp_path) == [f"x.{output}"]
        assert (tmp_path / f"x.{output}").read_text() == "before"

    def test_a_directory_that_takes_no_files(self, ask):
        result, _ = ask("ls", "D", "--out", "/proc/self/x.csv")

        assert (result.exit_code, result.stdout) == (4, "")
        assert result.stderr == "kcli: --out /proc/self/x.csv: cannot write: no such file or directory\n"

    def test_a_directory_without_permission(self, tmp_path, log_dir):
        log_dir.partition("orders-0")
        closed = tmp_path / "closed"
        closed.mkdir()
        closed.chmod(0o555)

        answer = as_unprivileged(ALLOWED, DENIED, log_dir.path, tmp_path / "x.csv", closed / "x.csv")

        assert answer == f"0 4 kcli: --out {closed}/x.csv: cannot write: permission denied\n"


@pytest.mark.parametrize("name", ["x.csv", "x.ndjson", "x.parquet", "x.txt"])
@pytest.mark.parametrize("words", [("absent",), ("orders-0", "--topic", "other")])
def test_a_file_stays_as_it_is_when_nothing_has_an_answer(kcli, log_dir, tmp_path, monkeypatch, name, words):
    log_dir.partition("orders-0")
    monkeypatch.chdir(log_dir.path)
    out = tmp_path / name
    text = ("-o", "text") if name == "x.txt" else ("--only", "dump_batch")
    assert kcli("dump", "orders-0", *text, "--out", out).exit_code == 0
    before = out.read_bytes()
    done = kcli("dump", *words, *text, "--out", out)
    assert (done.exit_code, out.read_bytes()) == (3, before)
    assert done.stderr

    assert kcli("dump", *words, *text, "--out", tmp_path / f"new-{name}").exit_code == 3
    assert not (tmp_path / f"new-{name}").exists()
