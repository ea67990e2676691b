"""What is imported to answer: start-up is felt at every prompt."""

import importlib
import struct
import sys
from pathlib import Path

import pytest

from commands.app import COMMAND_NAMES as COMMANDS_OF_KCLI
from formats.crc import crc32c
from formats.producer_snapshot import (
    PRODUCER_ENTRY,
    PRODUCER_SNAPSHOT_HEADER,
    ProducerEntry,
    ProducerSnapshotHeader,
)
from tests.partitions import offset_entries, orders, put_range, segment, time_entries
from tests.processes import run_program

pytestmark = pytest.mark.slow

HEAVY = {
    *("numpy", "crc32c", "cramjam", "pyarrow", "pandas", "pyspark", "confluent_kafka", "pydantic"),
    *("multiprocessing", "asyncio", "rich", "construct"),
}

LIGHT = {"kcli.output.answer", "kcli.output.suggest"}
"""What declares a command, of rooms that it leaves alone until it answers; a millisecond for both."""

COMMANDS = ("app", "epoch", "lookup", "ls", "rlmm", "truncate", "schema", "explain", "demo", "help")
AFTER_IMPORT = f"import {', '.join(f'commands.{name}' for name in COMMANDS)}"
AFTER_ANSWER = """
sys.argv = ["kcli", *{words!r}]
from kcli.__main__ import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
"""


def loaded(code):
    code = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = run_program([sys.executable, "-c", code], check=True)
    return {name.partition(".")[0] for name in done.stderr.split()}, set(done.stderr.split()), done.stdout


def test_importing_the_commands_loads_nothing_heavy():
    packages, modules, _ = loaded(AFTER_IMPORT)

    assert packages & (HEAVY) == set()
    assert {
        name for name in modules if name.startswith(("kcli.jobs.", "kcli.engine.", "kcli.output."))
    } == LIGHT


def test_retention_loads_nothing_heavy_and_opens_each_file_of_a_segment_once_or_twice(tmp_path):
    directory = tmp_path / "orders-0"
    for base in range(0, 30, 3):
        segment(directory, base, put_range(base, 3), offset_entries((2, 0)), time_entries((1002, 2)))
    count = """
opened = []
def note(event, arguments):
    if event == "open" and str(arguments[0]).endswith((".log", "index")):
        opened.append(arguments[0])
sys.addaudithook(note)
"""
    words = ["retention", str(directory), "-o", "ndjson"]
    packages, _, printed = loaded(f"{count}{AFTER_ANSWER.format(words=words)}\nprint(len(opened))")

    assert packages & HEAVY == set()
    assert printed.count('"type":"retention"') == 10
    assert int(printed.splitlines()[-1]) <= 10 * 5 + 5


@pytest.mark.parametrize("output", ["json", "ndjson", "tsv", "csv"])
def test_an_epoch_end_offset_loads_nothing_heavy(log_dir, output):
    partition = log_dir.partition("orders-0")
    log_dir.path.joinpath(".kafka_cleanshutdown").touch()
    packages, _, printed = loaded(
        AFTER_ANSWER.format(words=["epoch", "end-offset", "--epoch", "0", str(partition), "-o", output])
    )

    assert str(partition) in printed
    assert packages & HEAVY == set()


COMFORT = {
    *("kcli.cli.completion", "kcli.cli.version", "kcli.kafka.findings.catalogue", "kcli.manual"),
    *("tomllib", "importlib.metadata"),
}
"""What serves people: it costs a script nothing."""


@pytest.mark.parametrize(
    "words", [["-o", "tsv"], ["-o", "json", "--columns", "epoch", "--topic", "orders,ord*"]]
)
def test_an_answer_without_settings_pays_for_no_comfort(log_dir, words):
    log_dir.partition("orders-0")
    _, modules, _ = loaded(AFTER_ANSWER.format(words=["epoch", "show", str(log_dir.path), *words]))

    assert modules & COMFORT == set()


@pytest.mark.parametrize("clean", [True, False])
def test_small_snapshots_and_a_small_recovery_load_nothing_heavy(tmp_path, clean):
    directory = orders(tmp_path, put_range(0, 3, producer_id=1), clean=clean)
    entry = PRODUCER_ENTRY.pack(ProducerEntry(1, 0, 0, 1, 1, 1000, 0, -1))
    body = struct.pack(">i", 1) + entry
    header = PRODUCER_SNAPSHOT_HEADER.pack(ProducerSnapshotHeader(1, crc32c(body), 1))
    Path(directory, f"{2:020d}.snapshot").write_bytes(header + entry)
    words = ["ls", "--recover", str(directory), "-o", "ndjson"]
    packages, modules, printed = loaded(AFTER_ANSWER.format(words=words))

    assert '"log_end_offset":3' in printed
    assert "kcli.kafka.storage.recovery" in modules or clean
    assert packages & HEAVY == set()


def test_who_hands_a_dump_to_workers_loads_none_of_what_they_read_logs_with():
    packages, _, _ = loaded("import commands.dump, kcli.dump.job")

    assert packages & {"numpy", "pyarrow"} == set()


TOPICS_WITH_TABLES = ("group", "transaction", "share_group", "metadata", "remote")


def test_records_as_text_need_no_tables_of_messages(tmp_path):
    directory = orders(tmp_path, put_range(0, 3, producer_id=1))
    words = ["dump", "--records", "-o", "text", str(directory)]
    _, modules, printed = loaded(AFTER_ANSWER.format(words=words))

    assert "| offset: 2 " in printed
    assert modules & {f"formats.messages.{name}" for name in TOPICS_WITH_TABLES} == set()


def test_only_a_table_draws_with_rich(log_dir):
    words = ["epoch", "end-offset", "--epoch", "0", str(log_dir.partition("orders-0")), "-o", "table"]
    log_dir.path.joinpath(".kafka_cleanshutdown").touch()
    packages, modules, _ = loaded(AFTER_ANSWER.format(words=words))

    assert "rich.console" in modules
    assert packages & (HEAVY - {"rich"}) == set()


def test_what_workers_import_early_is_there():
    from kcli.__main__ import WORKERS_IMPORT

    for modules in WORKERS_IMPORT.values():
        for name in modules:
            importlib.import_module(name)
    assert set(WORKERS_IMPORT) <= set(COMMANDS_OF_KCLI)
