"""What is imported to answer: start-up is felt at every prompt."""

import importlib
import subprocess
import sys

import pytest

HEAVY = {
    "numpy",
    "crc32c",
    "cramjam",
    "pyarrow",
    "pandas",
    "pyspark",
    "confluent_kafka",
    "pydantic",
    "multiprocessing",
    "asyncio",
    "rich",
}

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
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stderr.split()}, set(done.stderr.split()), done.stdout


def test_importing_the_commands_loads_nothing_heavy():
    packages, modules, _ = loaded(AFTER_IMPORT)

    assert packages & (HEAVY | {"construct"}) == set()
    assert {
        name for name in modules if name.startswith(("kcli.jobs.", "kcli.engine.", "kcli.output."))
    } == set()


@pytest.mark.parametrize("output", ["json", "ndjson", "tsv", "csv"])
def test_an_epoch_end_offset_loads_nothing_heavy(log_dir, output):
    partition = log_dir.partition("orders-0")
    log_dir.path.joinpath(".kafka_cleanshutdown").touch()
    packages, _, printed = loaded(
        AFTER_ANSWER.format(words=["epoch", "end-offset", "--epoch", "0", str(partition), "-o", output])
    )

    assert str(partition) in printed
    assert packages & HEAVY == set()


def test_only_a_table_draws_with_rich(log_dir):
    words = ["epoch", "end-offset", "--epoch", "0", str(log_dir.partition("orders-0")), "-o", "table"]
    log_dir.path.joinpath(".kafka_cleanshutdown").touch()
    packages, modules, _ = loaded(AFTER_ANSWER.format(words=words))

    assert "rich.table" in modules
    assert packages & (HEAVY - {"rich"}) == set()


def test_every_command_with_workers_names_modules_that_they_import_early():
    from kcli.__main__ import WORKERS_IMPORT
    from kcli.rows import COMMANDS

    for modules in WORKERS_IMPORT.values():
        for name in modules:
            importlib.import_module(name)
    assert set(WORKERS_IMPORT) == {command.split()[0] for command in COMMANDS}
