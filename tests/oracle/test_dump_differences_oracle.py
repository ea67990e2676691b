"""Damage and words of --files that kcli once answered otherwise than DumpLogSegments: both print the same."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.builders import GZIP, LZ4, NONE, SNAPPY, ZSTD, put_record, put_records
from tests.messages import put_message, put_wrapper
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.oracle

CONTENTS = ("--deep-iteration", "--print-data-log")
LARGEST, LOWEST = 2**63 - 1, -(2**63)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / f"{0:020}.log"


def kcli(*words: object) -> Result:
    from commands.app import app

    return CliRunner().invoke(app, [str(word) for word in words])


def batch(base: int, **more: int) -> bytes:
    return put_records([put_record(0, 0, b"k", b"v"), put_record(1, 0, None, b"w")], base_offset=base, **more)


def compare(oracle: Oracle, log: Path, option: str) -> list[str]:
    """Return the codes of kcli's findings about a log of which both print the same."""
    expected = oracle.ask("dump", arguments=["--files", str(log), option])
    done = kcli("dump", "-o", "text", option, "--files", log)
    lines = done.stderr.splitlines()
    findings = [line for line in lines if line.startswith(("error ", "warning "))]

    assert expected["thrown"] is None
    assert done.stdout == expected["stdout"]
    assert [line for line in lines if line not in findings and line] == expected["stderr"].splitlines()
    return [line.split()[1] for line in findings]


def test_files_named_twice_are_refused(oracle: Oracle, log: Path) -> None:
    log.write_bytes(batch(0))
    words = ["--files", str(log), "--files", str(log)]
    expected = oracle.ask("dump", arguments=words)

    assert (expected["status"], expected["stdout"]) == (1, "")
    assert (kcli("dump", "-o", "text", *words).exit_code, kcli("dump", *words).stdout) == (2, "")


@pytest.mark.parametrize("commas", [",", ",,"])
def test_commas_after_the_last_path_name_nothing(oracle: Oracle, log: Path, commas: str) -> None:
    log.write_bytes(batch(0))
    expected = oracle.ask("dump", arguments=["--files", f"{log}{commas}"])
    done = kcli("dump", "-o", "text", "--files", f"{log}{commas}")

    assert (done.exit_code, expected["status"]) == (0, 0)
    assert (done.stdout, done.stderr) == (expected["stdout"], expected["stderr"])


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("damaged", [0, 1, 2])
@pytest.mark.parametrize(
    ("key", "value"), [(b"k", (1000, b"v")), (b"k", (2**31 - 1, b"v")), ((-5, b"kkkkk"), b"v")]
)
def test_messages_after_one_with_an_impossible_length_are_printed(
    oracle: Oracle, log: Path, magic: int, damaged: int, key: object, value: object
) -> None:
    inner = [
        put_message(at, magic, key=key if at == damaged else b"k", value=value if at == damaged else b"v")
        for at in range(3)
    ]
    log.write_bytes(put_wrapper(2, b"".join(inner), magic=magic) + put_message(3, magic, value=b"v"))

    assert compare(oracle, log, "--deep-iteration") == ["DUMP-002"]


@pytest.mark.parametrize("magic", [3, 127])
@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
@pytest.mark.parametrize("option", CONTENTS)
def test_a_magic_above_2_is_read_as_2(oracle: Oracle, log: Path, magic: int, codec: int, option: str) -> None:
    log.write_bytes(batch(0) + batch(2, magic=magic, codec=codec) + batch(4))

    assert compare(oracle, log, option) == ["LOG-017"]


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_kafka_does_not_know_ends_the_tool_and_is_a_finding(
    oracle: Oracle, log: Path, codec: int
) -> None:
    log.write_bytes(batch(0) + batch(2, attributes=codec) + batch(4))
    expected = oracle.ask("dump", arguments=["--files", str(log), "--deep-iteration"])
    done = kcli("dump", "-o", "text", "--deep-iteration", "--files", log)
    scanned = json.loads(kcli("scan", "-o", "json", log).stdout)

    assert expected["thrown"]["message"] == f"Unknown compression type id: {codec}"
    assert done.stdout.startswith(expected["stdout"])
    assert "| offset: 5 " in done.stdout
    assert "DUMP-002" in done.stderr
    assert [found["code"] for found in scanned["findings"]] == ["DUMP-002"]


@pytest.mark.parametrize("after", [LOWEST, LOWEST + 1, 0])
@pytest.mark.parametrize("option", CONTENTS)
def test_after_the_largest_offset_the_lowest_follows(
    oracle: Oracle, log: Path, after: int, option: str
) -> None:
    log.write_bytes(
        put_records([put_record()], base_offset=LARGEST) + put_records([put_record()], base_offset=after)
    )

    assert compare(oracle, log, option) == ["LOG-026", "LOG-018"][after >= 0 :]
