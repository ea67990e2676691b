"""Names that are not UTF-8 reach every output percent-encoded; strict readers can read documents."""

import json
import os

import pytest

from tests.partitions import put_range

LOG = b"00000000000000000000.log"
COMMANDS = [
    ("ls",),
    ("scan",),
    ("dump",),
    ("dump", "--records"),
    ("dump", "--layout"),
    ("dump", "--tail", "1"),
    ("epoch", "show"),
    ("epoch", "end-offset", "--epoch", "all"),
    ("lookup", "offset", "3"),
    ("lookup", "timestamp", "0"),
    ("truncate", "--dry-run", "--to-offset", "3"),
    ("rlmm", "dump"),
]


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    """A log dir all of whose names are not UTF-8, with something to tell about each."""
    root = os.fsencode(tmp_path_factory.mktemp("names")) + b"/d\xff%"
    for name, data in {
        b"meta.properties": b"version=1\nbroker.id=7\n",
        b"recovery-point-offset-checkpoint": b"0\n1\nx\n",
        b"\xfb.txt": b"x",
        b"\xfc/x": b"x",
        b"\xfe-0/" + LOG: put_range(0, 5) + put_range(5, 5) + b"\1" * 70,
        b"\xfe-0/\xff.snapshot": b"x",
        b"\xfe-0/\xfd": b"x",
        b"\xfd-0/" + LOG: put_range(0, 5),
        b"\xfd-0/leader-epoch-checkpoint": b"0\n1\nx\n",
        b"\xfa-0.0123456789abcdef0123456789abcdef-delete/" + LOG: put_range(0, 5),
    }.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    os.symlink(b"nowhere\xff", root + b"/\xfd-0/00000000000000000009.log")
    return os.fsdecode(root)


@pytest.mark.slow
@pytest.mark.parametrize(
    "inside", ["", os.fsdecode(b"\xfe-0"), os.fsdecode(b"\xfd-0/" + LOG), os.fsdecode(b"gone\xff")]
)
@pytest.mark.parametrize("words", COMMANDS)
def test_names_that_are_not_utf8_are_percent_encoded_by_every_command(kcli, strange, words, inside):
    path = os.path.join(strange, inside) if inside else strange
    answer = [kcli(*words, "-v", "-o", output, path) for output in ("json", "ndjson", "tsv")]
    for done in answer:
        assert "\\ud" not in done.output.lower()
        done.output.encode()
    json.dumps(json.loads(answer[0].stdout), ensure_ascii=False).encode()
    assert "%F" in answer[0].stdout


def test_findings_and_errors_percent_encode_names(kcli, strange):
    found = json.loads(kcli("ls", "-o", "json", strange).stdout)["findings"]
    assert {finding["file"] for finding in found if finding["code"] == "LOG-010"} == {"%FF.snapshot"}
    failures = json.loads(kcli("truncate", "--dry-run", "--to-offset", "1", "-o", "json", strange).stdout)[
        "errors"
    ]
    assert any(failure["path"].endswith("/d%FF%25/%FE-0/%FF.snapshot") for failure in failures)
