"""The Python API: the answers of the commands, as values, and nothing on stdout or stderr."""

import doctest
import functools
import json
import os
import pickle
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pyarrow as pa
import pytest
import typer.main

import kcli
from commands.app import app
from kcli.cli.boundary import CALLER
from kcli.cli.settings import every_command
from kcli.manual import page
from kcli.output.values import spaced
from tests.documents import session
from tests.every_command import COMMANDS
from tests.processes import ENVIRONMENT, run_program

LINES = [
    *COMMANDS,
    "epoch diff",
    "replica diff",
    "replica elect",
    "rlmm lookup timestamp 1767225600000 --topic nothing",
    "dump --only dump_batch --sort -size --limit 3",
    "ls --where segments>1",
    "ls --by topic",
    "check --fail-on never",
]


@functools.cache
def known():
    return every_command(typer.main.get_command(app))


def split(line):
    return line.split(" ", 1) if line.startswith("sql") else line.split(" ")


def call(line):
    """Return the words of the command of a line, then what kcli.run takes of the others."""
    words = split(line)
    size = max(size for size in range(1, 4) if tuple(words[:size]) in known())
    params = known()[tuple(words[:size])].params
    flags = {name for each in params if getattr(each, "is_flag", False) for name in each.opts}
    place = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    options, arguments = {}, iter(words[place:])
    for option in arguments:
        key = {"--from": "from_", "--if": "if_"}.get(option, option[2:].replace("-", "_"))
        options[key] = True if option in flags else next(arguments)
    return " ".join(words[:size]), words[size:place], options


@pytest.fixture
def kcli_line(kcli):
    """The command line, beside the module of this name."""
    return kcli


@pytest.fixture(scope="module")
def places(demo, tmp_path_factory):
    """A log dir as a broker left it; a damaged copy of it beside one that is not there."""
    damaged = tmp_path_factory.mktemp("damaged") / "data"
    shutil.copytree(demo, damaged)
    (damaged / "orders-1" / "leader-epoch-checkpoint").write_text("no number\n")
    with (damaged / "orders-0" / f"{29:020}.log").open("r+b") as log:
        log.seek(400)
        log.write(b"?")
    return {"whole": [demo], "damaged": [damaged, damaged.parent / "missing"]}


@pytest.mark.parametrize("place", ["whole", "damaged"])
@pytest.mark.parametrize("line", LINES)
def test_an_answer_is_that_of_the_command(line, place, places, kcli_line, capfd, monkeypatch):
    monkeypatch.setattr("time.time_ns", lambda: 1_800_000_000_000_000_000)
    name, words, options = call(line)
    done = kcli_line(*split(line), "-o", "json", *places[place])
    capfd.readouterr()
    try:
        result = kcli.run(name, *words, *places[place], **options)
    except kcli.Error as error:
        assert (done.exit_code, done.stderr) == (error.status, f"kcli: {error}\n")
        return

    document = json.loads(done.stdout)
    rows = [{key: value for key, value in row.items() if key != "type"} for row in document["rows"]]
    assert capfd.readouterr() == ("", "")
    assert [json.loads(spaced(row)) for row in result.to_dicts()] == rows
    assert [finding._asdict() for finding in result.findings] == document["findings"]
    assert [error._asdict() for error in result.errors] == document["errors"]
    assert result.exit_status == done.exit_code


def test_a_command_that_reads_no_files_answers():
    (row,) = kcli.run("uuid", "RjtgNDSXQZ-94XTtSzgN_A").rows

    assert row.hex == "463b6034-3497-419f-bde1-74ed4b380dfc"


def wrong(*words, **options):
    return pytest.param(words, options, id=f"{words} {options}")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        wrong("ls"),
        wrong("ls", "x", limt=3),
        wrong("ls", "x", limit=-3),
        wrong("ls", "x", limit=[1, 2]),
        wrong("ls", "x", columns="size"),
        wrong("ls", "x", quiet=True),
        wrong("ls", "x", help=True),
        wrong("ls", "x", out="rows.csv"),
        wrong("ls", "x", where="size <"),
        wrong("ls", "x", by="colour"),
        wrong("lss", "x"),
        wrong("explain", "LOG-001"),
        wrong("epoch", "x"),
        wrong("epoch at", "many", "x"),
        wrong("epoch end-offset", "x", epoch=range(3, 3)),
        wrong("sql", "FROM batchs", "."),
        wrong("sql", ".", shell=True),
        wrong("metadata show", "s3://bucket"),
        wrong("ls", "x", topic=[]),
        wrong("ls", "x", topic=False),
        wrong("ls", "x", topic=True),
        wrong("ls", "x", topc=False),
        wrong("ls", None),
    ],
)
def test_a_wrong_call_is_a_usage_error(words, options, capfd):
    with pytest.raises(kcli.UsageError):
        kcli.run(*words, **options)

    assert capfd.readouterr() == ("", "")
    assert CALLER.get() is None


def test_false_is_the_negative_form_of_a_flag(demo):
    off = kcli.run("scan", demo, verify=False)
    assert off == kcli.run("scan", demo, no_verify=True) != kcli.run("scan", demo)
    assert kcli.run("scan", demo, verify=True) == kcli.run("scan", demo, no_verify=False)
    assert kcli.run("ls", demo, include_leftovers=False) == kcli.run("ls", demo)


def test_a_list_of_paths_is_its_paths(demo):
    orders = [demo / "orders-0", demo / "orders-1"]
    assert kcli.run("ls", orders) == kcli.run("ls", *orders) == kcli.open(orders).run("ls")
    assert sorted(kcli.open(demo.glob("orders-*"), bytes(demo)).paths) == [*map(str, [demo, *orders])]


def test_a_refusal_and_a_missing_part_are_errors_of_their_own(demo, tmp_path):
    with pytest.raises(kcli.RefusedError, match="not empty"):
        kcli.run("salvage", demo / "orders-0", out=demo.parent)
    with pytest.raises(kcli.MissingError, match="--bootstrap-server"):
        kcli.run("rlmm bootstrap", demo, bootstrap_server="127.0.0.1:1", timeout="1s")
    salvaged = kcli.run("salvage", demo / "orders-0", out=tmp_path / "orders-0")

    assert (salvaged.errors, salvaged.exit_status, len(salvaged.rows)) == ([], 0, 1)
    assert issubclass(kcli.RefusedError, kcli.Error) and issubclass(kcli.InputError, kcli.Error)


def test_settings_of_users_do_not_count(demo, tmp_path, monkeypatch):
    (tmp_path / "config.toml").write_text("limit = 1\n")
    monkeypatch.setenv("KCLI_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("KCLI_TOPIC", "orders")

    assert len(kcli.run("ls", demo).rows) == 9


def test_a_partition_answers_as_its_commands_do(demo):
    logs = kcli.open(os.path.join(os.fsencode(demo.parent), b"kcli-*"))
    first, second = logs.partitions(topic="ord*")
    assert [(log.topic, log.partition, log.path) for log in (first, second)] == [
        ("orders", number, str(demo / f"orders-{number}")) for number in (0, 1)
    ]
    assert (first.log_start_offset, first.log_end_offset) == (0, 96)
    assert first.epochs == kcli.run("epoch show", first.path).rows
    assert first.end_offset(1) == kcli.run("epoch end-offset", demo, topic="orders", epoch=1).rows[0]
    assert first.truncate(to_offset=30) == kcli.run("truncate", first.path, to_offset=30).rows[0]
    assert [first.lookup(offset=25), first.lookup(timestamp="max")] == [
        kcli.run("lookup offset", 25, first.path).rows[0],
        kcli.run("lookup timestamp", "max", first.path).rows[0],
    ]
    assert [*first.batches()] == kcli.run("dump", first.path, only="dump_batch").rows
    assert [batch.base_offset for batch in first.batches(offsets=range(30, 40))] == [29, 34, 39]
    with pytest.raises(kcli.InputError, match="TRUNC-001"):
        first.truncate(to_epoch=99)
    with pytest.raises(kcli.UsageError, match="either"):
        first.lookup()
    for offsets, said in (
        ((5, 10), r"expected a range, such as range\(5, 10\)"),
        (range(0, 9, 2), "steps of 1"),
        (range(-5, 3), "offsets"),
    ):
        with pytest.raises(kcli.UsageError, match=said):
            first.records(offsets=offsets)
    assert first.records(offsets=range(96, 96)).read_all().num_rows == 0


def test_leftovers_of_a_log_are_no_batches_of_it(demo):
    (clicks,) = kcli.open(demo).partitions("clicks")

    assert {row.source.file for row in kcli.run("dump", clicks.path, only="dump_batch").rows} != set()
    assert [*clicks.batches()] == []


def test_records_are_arrow_as_a_parquet_file_has_them(demo):
    (payments,) = kcli.open(demo).partitions("payments", partition=0)
    some = payments.records(offsets=range(10, 20))
    every = payments.records().read_all()

    assert isinstance(some, pa.RecordBatchReader)
    assert some.read_all()["offset"].to_pylist() == [*range(10, 20)]
    assert every.equals(kcli.run("dump", payments.path, records=True, only="dump_record").to_arrow())


def test_metadata_goes_to_the_commands_that_take_it(demo):
    (orders,) = kcli.open(demo, metadata=demo).partitions("orders", 0)

    assert orders.end_offset(1, current_leader_epoch=6).partition_leader_epoch_source == "metadata"
    assert orders.lookup(offset=3).found


def test_what_cannot_be_read_is_an_error_after_what_can(places):
    damaged = kcli.open(*places["damaged"])
    listed, found, batches = [], [], []
    with pytest.raises(kcli.InputError, match="no such file") as missing:
        listed.extend(damaged.partitions())
    with pytest.raises(kcli.InputError, match="no such file"):
        found.extend(damaged.check())
    orders, other = (row for row in listed if row.topic == "orders")
    with pytest.raises(kcli.InputError, match="checksum") as damage:
        batches.extend(orders.batches())

    assert len(listed) == 9
    assert [error.error for error in missing.value.errors] == ["not-found"]
    assert {"LOG-003", "START-008"} <= {finding.code for finding in found}
    assert [finding.code for finding in damage.value.findings] == ["LOG-003"]
    assert batches == kcli.run("dump", orders.path, only="dump_batch").rows
    with pytest.raises(kcli.InputError, match="checksum"):
        orders.records().read_all()
    with pytest.raises(kcli.InputError, match="would not load"):
        other.end_offset(1)
    assert other.log_end_offset is None


def test_rows_of_a_query_have_the_names_of_its_columns(demo):
    logs = kcli.open(demo)
    query = "SELECT topic, count(*) AS count, 'ä' AS \"a name\" FROM batches GROUP BY ALL ORDER BY ALL"
    result = logs.sql(query)

    assert (result.rows[3].topic, result.rows[3].count) == ("orders", 40)
    assert result.to_arrow()["a name"].to_pylist() == ["ä"] * 5
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result and copy.rows[3].topic == "orders" and copy.to_dicts() == result.to_dicts()
    assert logs.sql("CREATE VIEW mine AS FROM batches").rows == []


def test_rows_of_several_types_are_one_table_each(demo):
    result = kcli.run("retention", demo, topic="orders")
    tables = [result.to_arrow(row_type.name) for row_type in result.row_types]

    assert sum(table.num_rows for table in tables) == len(result.rows)
    assert result.to_pandas("retention").columns[0] == "dir"
    for words in ((), ("rows",)):
        with pytest.raises(kcli.UsageError, match="several types"):
            result.to_arrow(*words)
    assert kcli.run("ls", demo, topic="none").to_arrow().num_rows == 0


def test_what_a_command_would_say_is_a_note(demo, tmp_path):
    result = kcli.run("lookup timestamp", 1_700_000_000, demo, topic="orders")
    saved = kcli.run("truncate", demo / "orders-0", to_offset=30, rescue=tmp_path / "saved.ndjson")

    assert "taken as milliseconds" in result.notes[0]
    assert saved.notes == [f"67 records of 1 partition saved in {tmp_path / 'saved.ndjson'}"]


class Terminal(StringIO):
    def isatty(self):
        return True


def test_nothing_is_drawn_on_a_terminal(demo, monkeypatch):
    texts = [Terminal(), Terminal()]
    for name, text in zip(("stdout", "stderr"), texts, strict=True):
        monkeypatch.setattr(sys, name, text)
    result = kcli.run("scan", demo, demo / "missing")

    assert (len(result.errors), [text.getvalue() for text in texts]) == (1, ["", ""])


def test_several_threads_ask_at_once(demo):
    with ThreadPoolExecutor(4) as threads:
        results = [*threads.map(lambda n: kcli.run("lookup offset", n % 4, demo / "orders-0"), range(16))]

    assert [result.rows[0].offset for result in results] == [n % 4 for n in range(16)]


PROGRAM = """
import sys, kcli
assert not {"pyarrow", "duckdb", "typer", "numpy", "kcli.api"} & {*sys.modules}, "import kcli is heavy"
if __name__ == "__main__":
    print(len(kcli.run("dump", sys.argv[1], records=True, only="dump_record", jobs=2).rows))
    kcli.run("ls", sys.argv[1])
    assert "duckdb" not in sys.modules
"""


def run_python(*words, cwd):
    return run_program([sys.executable, *words], cwd=cwd, env=ENVIRONMENT)


@pytest.mark.slow
def test_a_program_spreads_work_over_processes(demo, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run_python("program.py", demo / "orders-0", cwd=tmp_path)

    assert (done.stdout, done.stderr, done.returncode) == ("96\n", "", 0)


@pytest.mark.slow
def test_a_foreign_package_in_the_way_is_an_error(tmp_path):
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands" / "__init__.py").write_text("raise SystemExit('foreign code ran')")
    done = run_python("-c", "import kcli; kcli.run('uuid', 'x')", cwd=tmp_path)

    assert done.stderr.splitlines()[-1].endswith("commands is in the way of kcli's own package of that name")


def test_names_are_few_and_in_the_manual():
    names = {name for name in dir(kcli) if name in kcli.__all__ and getattr(kcli, name) is not None}

    assert names == {*kcli.__all__}
    assert len(names) <= 40
    documented = names - {"KAFKA_VERSIONS", "__version__"}
    assert [name for name in documented if f"`kcli.{name}" not in page("api")] == []
    with pytest.raises(AttributeError):
        getattr(kcli, "opened")  # noqa: B009


def test_the_session_in_the_manual_prints_what_it_shows(demo, monkeypatch):
    monkeypatch.chdir(demo.parent)
    test = doctest.DocTestParser().get_doctest(session("api"), {}, "api.md", None, 0)
    lines, flags = [], doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(optionflags=flags).run(test, out=lines.append)

    assert "".join(lines) == ""
    assert len(test.examples) > 10
