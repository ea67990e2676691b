"""What `check` concludes about producers apart from whole partitions, of which tests/kcli/jobs has tests."""

import random
import struct

import pytest

from formats.index import AbortedTxn
from kcli.kafka.integrity.checks.batches import good_batches
from kcli.kafka.integrity.checks.producers import (
    NOT_KNOWN,
    Aborted,
    ProducerJudge,
    ProducerMap,
    txn_index_misfits,
)
from kcli.kafka.integrity.log_scan import end_marker_types
from kcli.kafka.storage.log_segment import LoadedSegment
from kcli.kafka.storage.producer_state import ProducerState, replay
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import BulkWalk
from kcli.logdir.targets import PRODUCER_EXPIRATION_MS
from tests.builders import put_record
from tests.partitions import put_range, put_records

ENTRY = AbortedTxn(0, 2, 895, 899, 900)


@pytest.mark.parametrize(
    ("log_start", "expected", "codes"),
    [
        (898, {Aborted(2, 898, 899)}, []),
        (898, {Aborted(2, 898, 899), Aborted(3, 900, 901)}, ["IDX-008"]),
        (0, {Aborted(2, 898, 899)}, ["IDX-008", "IDX-008"]),
        (0, {Aborted(2, 895, 899)}, []),
    ],
    ids=["deleted-beginning", "another-without-entry", "other-offsets", "equal"],
)
def test_a_transaction_that_began_in_a_deleted_segment_is_that_of_its_marker(log_start, expected, codes):
    found = txn_index_misfits((ENTRY,), frozenset(expected), frozenset(), log_start, 910)
    assert [code for code, _, _ in found] == codes


@pytest.mark.parametrize(
    ("stable", "begins", "codes"),
    [(900, (), []), (890, (890,), []), (905, (905,), []), (890, (), ["IDX-008"]), (901, (890,), ["IDX-008"])],
)
def test_the_last_stable_offset_is_after_the_marker_or_where_a_transaction_begins(stable, begins, codes):
    entry = ENTRY._replace(last_stable_offset=stable)
    found = txn_index_misfits((entry,), frozenset({Aborted(2, 895, 899)}), frozenset(begins), 0, 910)
    assert [code for code, _, _ in found] == codes


class Writer:
    """Writes batches as idempotent and transactional producers have them written."""

    def __init__(self, chance):
        self.chance = chance
        self.end, self.time = 0, 1_700_000_000_000
        self.epochs: dict[int, int] = {}
        self.sequences: dict[int, int] = {}
        self.open: dict[int, int] = {}
        self.aborted: set[Aborted] = set()

    def batch(self):
        """Return a batch: of data, or the marker of an open or of no transaction."""
        chance, base = self.chance, self.end
        self.time += chance.randrange(-2, 5)
        producer = chance.choice((1, 2, 3, 70_000, 1 << 40))
        kind = chance.choice(("data", "data", "data", "marker", "bump"))
        epoch = self.epochs.setdefault(producer, 0)
        is_in_transaction = producer in self.open or chance.random() < 0.6
        if kind == "bump" and producer not in self.open:
            self.epochs[producer] = epoch = epoch + 1
            self.sequences[producer] = 0
        fields = {"producer_id": producer, "attributes": 0x10 * is_in_transaction}
        if kind == "marker":
            return self.marker(producer, epoch)
        count = chance.randrange(1, 5)
        sequence = self.sequences.get(producer, 0)
        self.sequences[producer] = sequence + count
        if is_in_transaction:
            self.open.setdefault(producer, base)
        self.end += count
        return put_range(
            base, count, timestamp=self.time, producer_epoch=epoch, base_sequence=sequence, **fields
        )

    def marker(self, producer, epoch):
        """Return an end marker; from Kafka 4.0 on it begins the next epoch (KIP-890)."""
        base, is_abort = self.end, self.chance.random() < 0.5
        if self.chance.random() < 0.4:
            self.epochs[producer] = epoch = epoch + 1
            self.sequences[producer] = 0
        since = self.open.pop(producer, None)
        if is_abort and since is not None:
            self.aborted.add(Aborted(producer, since, base))
        self.end += 1
        record = put_record(key=struct.pack(">hh", 0, not is_abort), value=struct.pack(">hi", 0, 7))
        return put_records(
            [record],
            base_offset=base,
            producer_id=producer,
            producer_epoch=epoch,
            attributes=0x30,
            base_timestamp=self.time,
            max_timestamp=self.time,
        )


def judged_segment(path):
    """Return the facts of a segment about its producers."""
    judge = ProducerJudge()
    with DataFile(str(path)) as log:
        for window in BulkWalk(log):
            judge.add_batches(good_batches(window, end_marker_types(log, window)[0]))
    return judge.facts()


@pytest.mark.parametrize("cut", [1, 2], ids=["in the next segment", "in the segment"])
def test_the_epoch_of_a_marker_is_not_below_that_of_the_batch_before(tmp_path, cut):
    data = {"producer_id": 8, "attributes": 0x10, "base_sequence": 0}
    batches = [put_range(0, 2, producer_epoch=6, **data)]
    writer = Writer(random.Random(1))
    writer.end, writer.chance = 2, random.Random(3)  # which bumps no epoch
    batches.append(writer.marker(8, 4))
    judged, found = ProducerMap(), []
    for number, part in enumerate((batches[:cut], batches[cut:])):
        path = tmp_path / f"{number}.log"
        path.write_bytes(b"".join(part))
        facts = judged_segment(path)
        found += [*facts.violations, *judged.add(facts)]
    assert [(finding.code, finding.message) for finding in found] == [
        ("PROD-004", "offset 2: producer 8 has epoch 4 after 6")
    ]


@pytest.mark.parametrize("seed", range(60))
def test_the_judge_follows_producers_as_the_broker_does(tmp_path, seed):
    writer, judged, aborted = Writer(random.Random(seed)), ProducerMap(), set()
    state = ProducerState(disk={}, now_ms=0, expiration_ms=PRODUCER_EXPIRATION_MS, snapshots=set())
    for _ in range(6):
        base = writer.end
        path = tmp_path / f"{base:020d}.log"
        path.write_bytes(b"".join(writer.batch() for _ in range(writer.chance.randrange(1, 40))))
        replay(state, LoadedSegment(base, str(path), path.stat().st_size), base, path.stat().st_size)
        facts = judged_segment(path)
        aborted |= judged.aborted(facts)
        assert list(judged.add(facts)) == []
        found = {
            producer: (
                *(run.epoch, run.last_sequence, run.last_offset, run.offset_delta, run.timestamp),
                None if run.open_since == NOT_KNOWN else run.open_since,
            )
            for producer, run in judged.runs.items()
        }
        assert found == {
            producer: (
                *(
                    entry.epoch,
                    entry.last_sequence,
                    entry.last_offset,
                    entry.offset_delta,
                    entry.last_timestamp,
                ),
                entry.open_since,
            )
            for producer, entry in state.producers.items()
        }
    assert aborted == writer.aborted
