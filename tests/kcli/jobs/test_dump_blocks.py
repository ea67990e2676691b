"""Rows in columns and one by one are twins: the same Parquet, whole or damaged, of every recorded log."""

import random

import pyarrow.parquet as pq
import pytest

from commands import dump as command
from kcli.jobs import cuts
from tests.formats import recorded
from tests.kcli.jobs.test_dump_bulk import log
from tests.partitions import log_dir

pytestmark = pytest.mark.slow


def both(kcli, path, words, monkeypatch):
    found = []
    for takes in (True, False):
        with monkeypatch.context() as patch:
            if not takes:
                patch.setattr(command, "_takes_blocks", lambda _: False)
            out = path.parents[2] / "out.parquet"
            out.unlink(missing_ok=True)
            result = kcli("dump", "--out", out, *words, path)
            found.append((pq.read_table(out) if out.exists() else None, result.stderr.replace(str(out), ""), result.exit_code))
    assert found[0][0] == found[1][0]
    assert found[0][1:] == found[1][1:]
    return found[0]


@pytest.mark.parametrize("words", [(), ("--records",), ("--records", "--columns", "offset,value,file"), ("--columns", "crc,is_valid")])
def test_recorded_logs(words, kcli, tmp_path, monkeypatch):
    path = log_dir(tmp_path / "d") / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    rows = 0
    for name in (*recorded.LOGS, *recorded.LEGACY):
        path.write_bytes(recorded.stored(f"{name}.log"))
        table, _, status = both(kcli, path, words, monkeypatch)
        assert status in {0, 1}
        rows += table.num_rows
    assert rows > 50


@pytest.mark.parametrize("seed", range(5))
def test_damage(seed, kcli, tmp_path, monkeypatch):
    chance = random.Random(seed)
    monkeypatch.setattr(cuts, "PIECE_BYTES", 1000)
    monkeypatch.setattr("formats.record_columns.MOST_RECORDS", 2 if seed % 2 else 1 << 17)
    monkeypatch.setattr("formats.record_columns.CHUNK_RECORDS", 2)
    monkeypatch.setattr("formats.record_columns.PART_RECORDS", 2)
    path = log_dir(tmp_path / "d") / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    for _ in range(4):
        data = bytearray(b"".join(log(chance)))
        for _ in range(chance.randrange(3)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        both(kcli, path, ("--records",), monkeypatch)
        both(kcli, path, (), monkeypatch)
