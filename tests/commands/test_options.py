"""The words of shared options, and what typer is shown of them."""

import pytest
from typer.main import get_command

from commands.app import app
from kcli.cli.options import EngineOptions, Inputs, Output
from kcli.cli.parsers import (
    parse_duration,
    parse_epochs,
    parse_integers,
    parse_offset,
    parse_partitions,
    parse_time,
)
from kcli.cli.status import UsageError
from kcli.rows import ASK_CLUSTERS, COMMANDS, READ_NO_FILES

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_epochs, "all", None),
        (parse_epochs, "5", (5,)),
        (parse_epochs, "7,-1, 3", (7, -1, 3)),
        (parse_epochs, "2147483647", (2**31 - 1,)),
        (parse_epochs, "7,-1..2,1", (7, -1, 0, 1, 2)),
        (parse_partitions, "0-3,7", {0, 1, 2, 3, 7}),
        (parse_partitions, "0..3,7", {0, 1, 2, 3, 7}),
        (parse_partitions, "5", {5}),
        (parse_partitions, "1-1", {1}),
        (parse_partitions, "0-2,1-3", {0, 1, 2, 3}),
        (parse_offset, "0", 0),
        (parse_offset, "9223372036854775807", 2**63 - 1),
        (parse_offset, "earliest", "earliest"),
        (parse_offset, "latest", "latest"),
        (parse_duration, "500ms", 500),
        (parse_duration, "30s", 30_000),
        (parse_duration, "1h30m", 5_400_000),
        (parse_duration, "2d", 172_800_000),
        (parse_duration, "1w", 604_800_000),
        (parse_time, "0", 0),
        (parse_time, "1700000000000", NOW),
        (parse_time, "-1", -1),
        (parse_time, "2023-11-14T22:13:20", NOW),
        (parse_time, "2023-11-14T22:13:20Z", NOW),
        (parse_time, "2023-11-14T23:13:20+01:00", NOW),
        (parse_time, "2023-11-14T22:13:20.0019", NOW + 1),
        (parse_time, "1970-01-01", 0),
        (parse_time, "1969-12-31T23:59:59.999", -1),
        (parse_time, "@-1h", NOW - 3_600_000),
        (parse_time, "@-30m", NOW - 1_800_000),
        (parse_time, "@-2d", NOW - 172_800_000),
        (parse_time, "@+1s", NOW + 1000),
        (parse_time, "1h", NOW - 3_600_000),
        (parse_time, "1h30m", NOW - 5_400_000),
        (parse_time, "now", NOW),
        (parse_time, "today", 1_699_920_000_000),
        (parse_time, "yesterday", 1_699_920_000_000 - 86_400_000),
        (parse_time, "tomorrow", 1_699_920_000_000 + 86_400_000),
    ],
)
def test_offsets_epochs_partitions_and_times_are_parsed(parse, text, value):
    assert (parse(text, NOW) if parse is parse_time else parse(text)) == value


@pytest.mark.parametrize(
    ("parse", "texts"),
    [
        (
            lambda text: parse_integers("--epoch", [text], 0, 9),
            ["0..", "..3", "3..1", "0..3..5", "0.3", "9..10"],
        ),
        (
            parse_epochs,
            [
                "0..",
                "..3",
                "3..1",
                "0-3",
                "0..2000000",
                "",
                "x",
                "1,",
                "1.5",
                "2147483648",
                "-2147483649",
                "ALL",
                "1;2",
                "９",
            ],
        ),
        (parse_partitions, ["", "-1", "3-1", "1-", "a", "0-2147483647", "1,,2", "99999999999"]),
        (parse_offset, ["", "-1", "x", "9223372036854775808", "1e3", "٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣"]),
        (parse_duration, ["", "1", "h", "1y", "-1h", "1h ", "1.5h", "999999999999w", "9" * 12 + "w1ms"]),
        (
            parse_time,
            [
                "",
                "Yesterday",
                "1y",
                "h",
                "@",
                "@-",
                "@-1",
                "@1h",
                "2023-13-01",
                "9223372036854775808",
                "max",
                "@-" + "9" * 40 + "h",
                "@+15250284452w",
                "-9223372036854775809",
            ],
        ),
    ],
)
def test_values_that_cannot_be_parsed_are_usage_errors(parse, texts):
    for text in texts:
        with pytest.raises(UsageError):
            parse(text)


def test_a_relative_time_is_taken_from_now():
    import time

    before = time.time_ns() // 1_000_000

    assert before - 1000 <= parse_time("@-1s") <= before + 60_000


@pytest.mark.parametrize("command", sorted({*COMMANDS} - READ_NO_FILES - ASK_CLUSTERS))
def test_every_command_that_reads_files_has_every_shared_option(command):
    found = get_command(app)
    for word in command.split():
        found = found.get_command(None, word)
    names = {parameter.name for parameter in found.params}

    assert {*Inputs._fields, *Output._fields, *EngineOptions._fields} <= names
    assert found.help, command


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1700000000", "kcli: time 1700000000: taken as milliseconds, a moment of 1970; of seconds write "),
        ("1700000000000", ""),
        ("5000", ""),
        ("1970-01-20", ""),
    ],
)
def test_a_time_that_looks_like_seconds_is_said_to_be_milliseconds(text, said, capsys):
    parse_time(text)
    found = capsys.readouterr().err
    assert found.startswith(said) and bool(found) == bool(said)
