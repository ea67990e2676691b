"""What a truncation removes: counts, what is kept elsewhere, damage."""

import gzip
from pathlib import Path

import pytest

from formats.index import TXN_INDEX_ENTRY, AbortedTxn
from kcli.kafka.replication.truncation import truncate
from tests.partitions import epoch_lines, loaded, offset_entries, put_range, segment, time_entries
from tests.transactions import ended

BATCHES = Path(__file__).parents[3] / "data" / "batches"
SIZE = len(put_range(0, 10))


def tens(*bases, epoch=0):
    return b"".join(put_range(base, 10, epoch=epoch, timestamp=1000 + base) for base in bases)


@pytest.fixture
def orders(tmp_path):
    """Segments [0, 30), [100, 120), [200, 220) of batches of ten, each but the first in the index."""
    directory = tmp_path / "orders-0"
    segment(
        directory,
        0,
        tens(0, 10, 20),
        offset_entries((19, SIZE), (29, 2 * SIZE)),
        time_entries((1019, 19), (1029, 29)),
    )
    for base, epoch in ((100, 2), (200, 4)):
        segment(
            directory,
            base,
            tens(base, base + 10, epoch=epoch),
            offset_entries((19, SIZE)),
            time_entries((1000 + base + 19, 19)),
        )
        (directory / f"{base:020d}.txnindex").write_bytes(
            TXN_INDEX_ENTRY.pack(AbortedTxn(0, 1, base, base + 15, base + 16))
        )
    (directory / "leader-epoch-checkpoint").write_text(epoch_lines((0, 0), (2, 100), (4, 200), (7, 220)))
    return directory


@pytest.mark.parametrize(("log_start", "lost"), [(0, 17), (10, 17), (20, 10), (23, 7), (12, None), (30, 0)])
def test_of_a_compacted_batch_that_holds_the_log_start_a_header_does_not_tell_what_is_lost(
    tmp_path, log_start, lost
):
    """Offsets 10 to 19, of which seven records are left; then ten records."""
    directory = tmp_path / "orders-0"
    segment(directory, 0, tens(0) + put_range(10, 7, last_offset_delta=9) + tens(20))
    found = truncate(loaded(directory, log_start_offset=log_start), 10, None)

    assert (found.removed.records, found.removed.lost) == (17, lost)


@pytest.mark.parametrize(("elsewhere", "lost"), [(0, 60), (5, 60), (105, 35), (220, 0)])
def test_what_is_kept_elsewhere_is_not_lost(orders, elsewhere, lost):
    found = truncate(loaded(orders, log_start_offset=10), 10, None, kept_elsewhere=elsewhere)

    assert (found.removed.records, found.removed.lost) == (60, lost)


def test_an_end_marker_goes_and_is_no_record_that_is_lost(tmp_path):
    segment(tmp_path / "orders-0", 0, tens(0, 10) + ended(20, producer=7))
    removed = truncate(loaded(tmp_path / "orders-0"), 10, None).removed
    assert (removed.batches, removed.records, removed.lost) == (2, 11, 10)


def test_damage_in_what_goes_is_said(orders):
    (orders / f"{200:020d}.log").write_bytes(tens(200) + bytes(SIZE) + tens(210))
    (orders / f"{200:020d}.index").write_bytes(offset_entries((19, 2 * SIZE)))
    found = truncate(loaded(orders), 100, None)
    assert (found.removed.batches, found.removed.records, found.removed.size) == (3, None, 5 * SIZE)
    assert (found.removed.trouble.exception, found.removed.trouble.position) == (
        "CorruptRecordException",
        SIZE,
    )


@pytest.mark.parametrize(
    ("name", "records"), [("v1-none", int), ("v1-gzip", type(None)), ("v0-gzip", type(None))]
)
def test_wrappers_of_old_messages_hide_their_count(tmp_path, name, records):
    directory = tmp_path / "orders-0"
    segment(directory, 0, gzip.decompress((BATCHES / f"{name}.log.gz").read_bytes()))
    found = truncate(loaded(directory), 0, None)
    assert found.removed.batches > 0
    assert isinstance(found.removed.records, records)
    assert (found.removed.first_offset is None) == (found.removed.records is None)
    assert found.removed.size == loaded(directory).segments[0].log_size


def test_a_delete_horizon_is_no_timestamp(tmp_path):
    directory = tmp_path / "orders-0"
    segment(directory, 0, put_range(0, 1, timestamp=5, attributes=0x40))
    found = truncate(loaded(directory), 0, None)
    assert (found.removed.first_timestamp, found.removed.max_timestamp) == (None, 5)
