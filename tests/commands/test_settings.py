"""Defaults of options from KCLI_ variables and the config file: which comes first, and what is refused."""

import json

import pytest
from typer.main import get_command

from commands.app import app
from kcli.cli.settings import every_command, long_name

pytestmark = pytest.mark.slow


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Write a config file, and have kcli read it."""

    def write(text):
        path = tmp_path / "config.toml"
        path.write_text(text)
        monkeypatch.setenv("KCLI_CONFIG", str(path))
        return path

    return write


@pytest.fixture
def rows(kcli, log_dir):
    """The rows of `kcli epoch show` as the settings have it."""
    log_dir.partition("orders-0")
    log_dir.partition("plain-0")

    def run(*words):
        done = kcli("epoch", "show", log_dir.path, "-o", "json", *words)
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)["rows"]

    return run


def test_every_option_has_a_variable(rows, monkeypatch):
    monkeypatch.setenv("KCLI_LIMIT", "2")
    monkeypatch.setenv("KCLI_COLUMNS", "epoch,topic")
    monkeypatch.setenv("KCLI_FROM", "batches")

    assert rows() == [{"epoch": 0, "topic": "orders"}, {"epoch": 2, "topic": "orders"}]


def test_the_variable_of_a_command_comes_first_and_the_command_line_before_it(rows, monkeypatch):
    monkeypatch.setenv("KCLI_LIMIT", "1")
    monkeypatch.setenv("KCLI_EPOCH_SHOW_LIMIT", "2")

    assert len(rows()) == 2
    assert len(rows("--limit", "3")) == 3


def test_an_empty_variable_is_none(rows, monkeypatch):
    monkeypatch.setenv("KCLI_LIMIT", "")

    assert len(rows()) == 6


@pytest.mark.parametrize(("word", "status"), [("1", 1), ("yes", 1), ("off", 0), ("false", 0)])
def test_a_flag_is_a_word(kcli, log_dir, monkeypatch, word, status):
    monkeypatch.setenv("KCLI_EXIT_CODE", word)

    assert kcli("lookup", "offset", "999", log_dir.partition("orders-0"), "-q").exit_code == status


def test_the_config_file_has_defaults_for_all_and_for_one_command(rows, config, monkeypatch):
    config(
        'topic = ["orders", "plain"]\nlimit = 1\n'
        '[epoch]\nlimit = 2\n[epoch.show]\ncolumns = "topic"\nlimit = 5\n'
    )

    assert rows() == [{"topic": "orders"}] * 3 + [{"topic": "plain"}] * 2
    monkeypatch.setenv("KCLI_LIMIT", "3")
    assert len(rows()) == 3
    assert len(rows("--limit", "4")) == 4


@pytest.mark.parametrize("variable", ["KCLI_NO_HEADERS", "KCLI_LS_NO_HEADERS"])
def test_a_flag_of_the_config_file_is_switched_off_by_its_variable(
    kcli, log_dir, config, monkeypatch, variable
):
    log_dir.partition("orders-0")
    config("no-headers = true")
    words = ("ls", log_dir.path, "-o", "csv", "--columns", "topic")

    assert kcli(*words).stdout == "orders\n"
    monkeypatch.setenv(variable, "0")
    assert kcli(*words).stdout == "topic\norders\n"


@pytest.mark.parametrize(
    ("output", "out", "written"),
    [
        ("table", "rows.csv", "rows.csv"),
        ("json", "run/", "run/findings/findings.ndjson"),
        ("csv", "run/", "run/findings/findings.csv"),
        ("csv", "rows.ndjson", "rows.ndjson"),
    ],
)
def test_a_format_of_settings_is_for_stdout_where_a_file_has_another(
    kcli, log_dir, config, tmp_path, output, out, written
):
    config(f'output = "{output}"')

    result = kcli("ls", log_dir.partition("orders-0"), "--out", f"{tmp_path}/{out}")
    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / written).exists()


def test_what_is_salvaged_is_reported_in_the_format_of_settings(kcli, log_dir, config, tmp_path):
    config('output = "json"')

    result = kcli("salvage", log_dir.partition("orders-0"), "--out", f"{tmp_path}/copy")
    assert json.loads(result.stdout)["command"] == "salvage"


def test_a_config_file_is_looked_for_at_home(rows, tmp_path, monkeypatch):
    (tmp_path / "kcli").mkdir()
    (tmp_path / "kcli" / "config.toml").write_text("limit = 2\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert len(rows()) == 2
    monkeypatch.setenv("KCLI_CONFIG", "")
    assert len(rows()) == 6


def test_options_that_other_commands_have_are_passed_over(rows, config):
    config("rate = '50M'\n[scan]\nsummary = true\n")

    assert len(rows()) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colums = 'dir'", "{path}: colums: no such option; did you mean columns"),
        ("[ls]\nlimt = 1", "{path}: limt: no such option; did you mean limit"),
        ("[lookups]\nlimit = 1", "{path}: lookups: no such command; did you mean lookup"),
        ("version = true", "{path}: version: no such option"),
        ("limit = ", "{path}: not TOML: Invalid value (at end of document)"),
        (
            "output = 'jsn'",
            (
                "--output jsn: did you mean json or ndjson? ls prints table, wide, json, ndjson, csv, tsv, "
                "html, markdown, prometheus"
            ),
        ),
    ],
)
def test_a_mistake_in_the_config_file_names_file_and_key(kcli, log_dir, config, text, message):
    path = config(text)
    done = kcli("ls", log_dir.path)

    assert (done.exit_code, done.stdout) == (2, "")
    assert message.format(path=path) in done.stderr


def test_a_config_file_that_is_named_must_exist(kcli, log_dir, monkeypatch):
    monkeypatch.setenv("KCLI_CONFIG", "/no/such.toml")

    assert kcli("ls", log_dir.path).stderr == "kcli: /no/such.toml: no such file or directory\n"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("KCLI_LIMIT", "x", "expected a whole number of at least 0, found 'x'"),
        ("KCLI_LS_OUTPUT", "jsn", "--output jsn: did you mean json"),
        ("KCLI_QUIET", "maybe", "'maybe' is not a valid boolean"),
    ],
)
def test_a_mistake_in_a_variable_names_the_option(kcli, log_dir, monkeypatch, variable, value, message):
    monkeypatch.setenv(variable, value)
    done = kcli("ls", log_dir.path)

    assert done.exit_code == 2
    assert message in done.stderr.replace("\n", " ").replace("  ", " ")


def test_no_two_options_of_a_command_share_a_variable():
    for words, command in every_command(get_command(app)).items():
        names = [long_name(option) for option in command.params if option.param_type_name == "option"]
        assert len(names) == len(set(names)), words
