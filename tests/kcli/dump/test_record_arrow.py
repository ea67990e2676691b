"""Records as Arrow straight from columns are what the rows of the same records give."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.batch import BATCH
from formats.control import control_type
from formats.record import batch_records
from formats.record_columns import FallbackBatch, record_columns
from kcli.dump.render.record_arrow import record_batch
from kcli.output.arrow import batch as rows_as_arrow
from kcli.output.arrow import schema
from kcli.rows.dump import DUMP_RECORD
from kcli.rows.places import FROM_FILE
from tests.builders import joined, put_batch, put_record, put_records
from tests.examples import examples
from tests.formats.recorded import LOGS, batches

LIMIT = 1 << 20
WHERE = ("data/topic-0", None, "cluster", "topic", 0, "00000000000000000000.log")
CONTENT = st.none() | st.binary(max_size=9)
HEADERS = st.lists(
    st.tuples(st.binary(max_size=5) | st.text(max_size=3).map(str.encode), CONTENT), max_size=3
).map(tuple)
RECORDS = st.lists(
    st.tuples(st.integers(-9, 9), st.integers(-(1 << 63), (1 << 63) - 1), CONTENT, CONTENT, HEADERS),
    max_size=4,
)
BATCHES = st.lists(
    st.builds(
        lambda records, codec, flags, base: put_records(
            [put_record(*row) for row in records], codec, attributes=flags, base_sequence=base
        ),
        RECORDS,
        st.integers(0, 4),
        st.sampled_from([0, 8, 0x20, 0x30]),
        st.integers(-1, 5),
    ),
    min_size=1,
    max_size=4,
)


def by_rows(given, positions, where):
    rows = []
    for raw, position in zip(given, positions, strict=True):
        header = BATCH.read(raw)
        for record in batch_records(raw, LIMIT):
            told = {
                "position": position,
                **record._asdict(),
                "headers": [
                    {"key": key.decode(errors="backslashreplace"), "value": value}
                    for key, value in record.headers
                ],
                "control_type": control_type(record.key) if header.is_control else None,
                **dict(zip((column.name for column in FROM_FILE), where, strict=True)),
            }
            rows.append(tuple(told.get(name) for name in DUMP_RECORD.names))
    return rows_as_arrow(DUMP_RECORD, rows)


def check(given, where=WHERE):
    window, positions = joined(given)
    told = [(7 << 40) + place for place in positions]
    found = []
    for columns in record_columns(window, positions, LIMIT):
        if not isinstance(columns, FallbackBatch):
            found.append(
                record_batch(columns, where, told[columns.first : columns.first + len(columns.headers)])
            )
            found[-1].validate(full=True)
            assert found[-1].schema.equals(schema(DUMP_RECORD), check_metadata=True)
    good = [raw for raw in given if raw != BAD]
    table = pa.Table.from_batches(found, schema(DUMP_RECORD))
    assert table.equals(
        pa.Table.from_batches([by_rows(good, [told[given.index(raw)] for raw in good], where)])
    )
    return table


BAD = put_batch(b"\x02", 1)


@pytest.mark.parametrize("name", LOGS)
def test_recorded_files(name):
    table = check([raw for _, raw in batches(f"{name}.log")])
    assert table.num_rows


@examples(100)
@given(
    BATCHES.filter(lambda found: len(set(found)) == len(found)),
    st.sampled_from([WHERE, ("d", 3, None, None, None, "f")]),
)
def test_any_batches(found, where):
    check(found, where)


def test_batches_beside_damaged_ones():
    first = put_records([put_record(0, 0, b"a", b"b", ((b"h", b"x"), (b"\xff", None)))] * 2)
    second = put_records([put_record(1, 0, None, b"", ((b"i", b"y"),))] * 3)
    table = check([first, BAD, second])
    assert [len(headers) for headers in table["headers"].to_pylist()] == [2, 2, 1, 1, 1]
    assert table["headers"][0].as_py() == [{"key": "h", "value": b"x"}, {"key": "\\xff", "value": None}]


def test_no_records_give_no_rows():
    assert check([put_batch(b"", 0)]).num_rows == 0


@pytest.mark.parametrize(
    ("key", "name"), [(b"\0\0\0\1", "COMMIT"), (b"\0\0\0\x63", "99"), (b"\0", "invalid"), (None, "invalid")]
)
def test_control_types(key, name):
    table = check([put_records([put_record(0, 0, key, b"\0\0\0\0\0\7")], attributes=0x20)])
    assert table["control_type"].to_pylist() == [name]
