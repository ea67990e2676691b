"""The rows of `kcli dump` against what DumpLogSegments printed for the same files, fact by fact."""

import re
from pathlib import Path

import pytest

from tests.recordings import pack
from tests.recordings.golden import golden

pytestmark = pytest.mark.slow

ROW_TYPES = {
    ".log": "dump_batch",
    ".index": "dump_index",
    ".timeindex": "dump_timeindex",
    ".txnindex": "dump_txnindex",
    ".snapshot": "dump_producer",
}
OTHER_NAMES = {"compresscodec": "compression", "isvalid": "is_valid"}
NOT_IN_ROWS = {"version"}
PREALLOCATED = ({"position": 0}, {"timestamp": 0})


def row_of(fact):
    """A fact under the names of rows; the timestamp's type as a value of its own."""
    row = {}
    for name, value in fact.items():
        if name in {"CreateTime", "LogAppendTime", "NoTimestampType"}:
            row |= {"timestamp_type": name, "max_timestamp": value}
        elif name not in NOT_IN_ROWS:
            row[OTHER_NAMES.get(name) or re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)] = (
                value
            )
    return row


@pytest.mark.parametrize("name", pack.NAMES)
def test_rows_are_the_facts_of_the_tool(name, recording, ask):
    folder = recording(name)
    rows = {}
    for row in ask("dump", *(folder / file.path for file in golden(name))).rows:
        rows.setdefault(str(Path(row["dir"], row["file"]).relative_to(folder)), []).append(row)
    compared = 0
    for file in golden(name):
        path = file.path
        facts = [row_of(fact) for fact in file.entries]
        base = int(Path(path).name.split(".")[0])
        if facts in [[{"offset": base, **zeros}] for zeros in PREALLOCATED] and path not in rows:
            continue  # the tool takes the first of nothing but zeros for an entry
        found = rows.get(path, [])
        assert {row["type"] for row in found} <= {ROW_TYPES[Path(path).suffix]}
        assert [{key: row[key] for key in fact} for row, fact in zip(found, facts, strict=True)] == facts, (
            path
        )
        compared += len(facts)
    assert compared > 100
