"""What outside runs of kafka-dump-log answered otherwise: kcli answers as the tool does."""

import pytest

from tests.builders import put_record, put_records


@pytest.fixture
def log(tmp_path):
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(put_records([put_record(0, 0, b"k", b"v")]))
    return path


def test_files_given_twice_are_refused(kcli, log):
    result = kcli("dump", "--files", log, "--files", log)

    assert result.exit_code == 2
    assert "--files is given more than once" in result.stderr


def test_a_comma_after_the_last_of_files_names_nothing(kcli, log):
    assert kcli("dump", "-o", "text", "--files", f"{log},,").stdout == kcli("dump", "-o", "text", log).stdout


@pytest.mark.parametrize("words", [("-o", "text"), ("-o", "json"), ("-o", "ndjson", "--records")])
def test_an_unknown_codec_under_a_right_checksum_is_a_finding(kcli, log, words):
    log.write_bytes(put_records([put_record(0, 0, b"k", b"v")], attributes=7))
    result = kcli("dump", *words, log)

    assert "codec 7 is not known" in result.stdout + result.stderr
    assert result.exit_code == 1


def test_after_the_largest_offset_the_lowest_follows(kcli, log):
    log.write_bytes(
        put_records([put_record()], base_offset=2**63 - 1) + put_records([put_record()], base_offset=-(2**63))
    )

    assert f"{2**63 - 1} is followed by" not in kcli("dump", "-o", "text", "--deep-iteration", log).stderr
