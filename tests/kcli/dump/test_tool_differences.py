"""What outside runs of kafka-dump-log answered otherwise: kcli answers as the tool does."""

import json

import pytest

from tests.builders import put_record, put_records
from tests.messages import put_message, put_wrapper


@pytest.fixture
def log(tmp_path):
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(put_records([put_record(0, 0, b"k", b"v")]))
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("-o", "json"),
        ("-o", "json", "--records"),
        ("-o", "json", "--layout"),
        ("-o", "json", "--layout", "--records"),
        ("-o", "json", "--key", "k"),
        ("-o", "json", "--limit", "5"),
    ],
)
@pytest.mark.parametrize("magic", [1, 2])
def test_an_unknown_codec_under_a_right_checksum_is_one_finding(kcli, log, words, magic):
    first = put_message(0, value=b"v")
    last = (
        put_records([put_record(0, 0, b"k", b"v")], attributes=7, base_offset=1)
        if magic == 2
        else put_message(1, key=b"k", value=b"v", attributes=7)
    )
    log.write_bytes(first + last)
    result = kcli("dump", *words, log)
    (finding,) = [found for found in json.loads(result.stdout)["findings"] if found["severity"] == "error"]
    byte, most = (22, 4) if magic == 2 else (17, 3)

    assert (finding["code"], finding["position"], finding.get("more", 0)) == ("DUMP-002", len(first), 0)
    assert finding["message"] == f"offset 1: byte {len(first) + byte}: codec: expected 0 to {most}, found 7"
    assert result.exit_code == 1


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_a_message_with_an_impossible_length_is_a_finding_and_no_row(kcli, log, magic, damaged):
    inner = [
        put_message(at, magic, key=b"k", value=(1000, b"v") if at == damaged else b"v") for at in range(3)
    ]
    log.write_bytes(put_wrapper(2, b"".join(inner), magic=magic) + put_message(3, magic, value=b"v"))
    answer = json.loads(kcli("dump", "-o", "json", "--records", log).stdout)
    text = kcli("dump", "-o", "text", "--deep-iteration", log)

    assert [row["offset"] for row in answer["rows"]] == [at for at in range(4) if at != damaged]
    assert all(row["value"] is not None for row in answer["rows"])
    assert [(found["code"], found["message"].partition(":")[0]) for found in answer["findings"]] == [
        ("DUMP-002", f"offset {damaged}")
    ]
    assert text.stdout.count("| offset: ") == 4
    assert "is followed by" not in text.stderr
