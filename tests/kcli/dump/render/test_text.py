"""The text of blocks is that of the plain twin, to the letter: logs whole, damaged, in parts, filtered."""

import random

import pytest

from formats import record_columns
from kcli.dump import blocks, pauses, read_blocks
from kcli.dump.job import Dump
from kcli.dump.options import DumpOptions
from kcli.dump.render import lines
from kcli.engine.contract import Job, Unit
from kcli.engine.inline import inline
from kcli.jobs.log_pass.log_ranges import drop_after_end, split_logs
from kcli.kafka.findings.findings import merged
from kcli.logdir import bulk
from kcli.logdir.find import file_target
from tests.formats import recorded
from tests.kcli.dump.plain import assert_as_plain, printed
from tests.kcli.dump.random_logs import FILTERS, log
from tests.partitions import offset_entries

pytestmark = pytest.mark.slow

OPTIONS = {
    "headers": DumpOptions(text=True),
    "records": DumpOptions(text=True, records=True, print_data_log=True),
    "contents": DumpOptions(text=True, records=True, print_data_log=True, skip_record_metadata=True),
    "metadata": DumpOptions(text=True, records=True),
    "decoded": DumpOptions(text=True, records=True, print_data_log=True, decoder="__consumer_offsets"),
    "decoded contents": DumpOptions(
        text=True,
        records=True,
        print_data_log=True,
        decoder="__remote_log_metadata",
        skip_record_metadata=True,
    ),
    "hex": DumpOptions(text=True, records=True, print_data_log=True, bytes_as="hex"),
    "base64": DumpOptions(text=True, records=True, print_data_log=True, bytes_as="base64"),
    "decoder classes": DumpOptions(
        text=True,
        records=True,
        print_data_log=True,
        key_decoder="org.apache.kafka.tools.api.LongDecoder",
        value_decoder="org.apache.kafka.tools.api.DefaultDecoder",
    ),
    "cut": DumpOptions(text=True, records=True, max_bytes=5000),
    "bounded": DumpOptions(text=True, records=True, max_batch_bytes=120),
}
OPTIONS |= {
    f"{words} by {name}": DumpOptions(
        text=True, records=words == "records", print_data_log=True, filter=asked
    )
    for name, asked in FILTERS.items()
    for words in ("headers", "records")
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("seed", range(2))
def test_random_logs_and_damage(seed, options, tmp_path, monkeypatch):
    chance = random.Random(seed)
    monkeypatch.setattr(bulk, "BULK_WINDOW", chance.choice([400, 3000, 1 << 20]))
    monkeypatch.setattr(pauses, "BYTES_PER_CALL", chance.choice([500, 1 << 22]))
    monkeypatch.setattr(record_columns, "MOST_RECORDS", chance.choice([2, 1 << 17]))
    monkeypatch.setattr(record_columns, "CHUNK_RECORDS", chance.choice([2, 1 << 16]))
    monkeypatch.setattr(blocks, "PART_RECORDS", chance.choice([2, 1 << 16]))
    monkeypatch.setattr(blocks, "CHUNK_BYTES", chance.choice([20, 1 << 20]))
    monkeypatch.setattr(lines, "LONG_TEXT", chance.choice([4, 1 << 16]))
    batches = log(chance)
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(batches))
    assert_as_plain(path, options)
    for _ in range(3):
        data = bytearray(b"".join(batches))
        for _ in range(chance.choice([0, 1, 3])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        if chance.random() < 0.5:
            data = data[: chance.randrange(len(data))] + bytes(chance.choice([0, 0, 10, 500]))
        if chance.random() < 0.3:
            at = sum(map(len, batches[: chance.randrange(len(batches))]))
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(300)))
        path.write_bytes(data)
        assert_as_plain(path, options)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_recorded_logs(options, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "BULK_WINDOW", 2000)
    for name in (*recorded.LOGS, *recorded.LEGACY):
        path = tmp_path / f"{0:020}.log"
        path.write_bytes(recorded.stored(f"{name}.log"))
        assert_as_plain(path, options)


PIECES = {name: options for name, options in OPTIONS.items() if not options.selects and name != "cut"}
PIECES |= {"rows": DumpOptions(), "record rows": DumpOptions(records=True)}


@pytest.mark.parametrize(("seed", "options"), list(enumerate(PIECES.values())), ids=PIECES)
def test_a_log_in_ranges_gives_the_rows_of_the_whole_log(seed, options, tmp_path, monkeypatch):
    chance = random.Random(seed)
    size = chance.choice([200, 1000, 4000])
    # what is counted and bounded for a file is so for its pieces together
    monkeypatch.setattr(read_blocks, "MOST_DAMAGED_RANGES", chance.choice([1, 1000]))
    monkeypatch.setattr("kcli.kafka.integrity.damaged.LEAST_BUDGET", chance.choice([300, 1 << 20]))
    monkeypatch.setattr("kcli.kafka.integrity.damaged.BUDGET_A_BYTE", 0)
    monkeypatch.setattr(pauses, "BYTES_PER_CALL", chance.choice([500, 1 << 22]))
    monkeypatch.setattr(pauses, "ROWS_PER_CALL", chance.choice([3, 2000]))
    batches = log(chance)
    entries, position = [], 0
    for number, batch in enumerate(batches):
        if number and chance.random() < 0.7:
            entries.append((number, position))
        position += len(batch)
    path = tmp_path / f"{0:020}.log"
    path.with_suffix(".index").write_bytes(offset_entries(*entries))
    unit = Unit(number=0, targets=(file_target(str(path)),))
    assert Dump(options).comes_in_pieces
    for damages in (0, 0, 1, 1, 2, 3):
        data = bytearray(b"".join(batches))
        for _ in range(damages):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        if damages and chance.random() < 0.5:
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(600)] = bytes(
                chance.randrange(2) for _ in range(chance.randrange(600))
            )
        path.write_bytes(data)
        found = []
        for units, reduce in (([unit], None), (split_logs([unit], size), drop_after_end)):
            outcomes = list(inline(Job(Dump(options), reduce), units))
            assert all(outcome.continuation is not None for outcome in outcomes[:-1])
            assert outcomes[-1].continuation is None
            rows = [row for outcome in outcomes for row in outcome.rows]
            findings = merged(finding for outcome in outcomes for finding in outcome.findings)
            found.append((printed(rows) if options.text else rows, findings, outcomes[-1].error))
        assert found[0][0] == found[1][0]
        assert found[0][1:] == found[1][1:]
