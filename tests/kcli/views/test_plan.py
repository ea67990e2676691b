"""Plans and Spark's tasks without a session: every view gives what its command prints."""

import errno
import json
import os
import pickle
import random
from collections import Counter
from functools import partial

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from kcli.engine import spark_bins
from kcli.rows.partitions import WHERE
from kcli.views.definitions import HEAD, VIEWS, view_columns
from kcli.views.spark import plan_tasks, read_task, view_schema
from kcli.words import WordError
from tests.formats import recorded
from tests.kcli.views.fleet import fleet
from tests.partitions import log_dir, put_range, segment
from tests.rows import ROW_TYPES
from tests.tiered import cluster

pytestmark = pytest.mark.slow

COMMANDS = {
    "batches": ("dump",),
    "records": ("dump", "--records"),
    "segments": ("scan",),
    "epochs": ("epoch", "show"),
    "offsets": ("ls",),
}


@pytest.fixture(scope="module")
def dirs(tmp_path_factory):
    return fleet(tmp_path_factory.mktemp("fleet"), 7)


def rows(view, paths, schema=None, **options):
    options = {"view": view, "paths": json.dumps([str(path) for path in paths]), **options}
    schema = schema or view_schema(view)
    found = [
        row
        for task in plan_tasks(options, 2, None, schema.names)
        for batch in read_task(task, schema)
        for row in batch.to_pylist()
    ]
    assert len({row["scan_time"] for row in found if "scan_time" in row}) <= 1
    return found


def printed(kcli, command, paths, kind):
    done = kcli(*command, "-o", "ndjson", *paths)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line for line in lines if line["type"] == kind], [
        line for line in lines if line["type"] in {"finding", "error"}
    ]


def as_printed(row, view):
    """Return a row of a view with the keys and values of a line of ndjson."""
    import base64

    kind = VIEWS[view]

    def plain(value):
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        if isinstance(value, list):
            return [plain(item) for item in value]
        return {name: plain(item) for name, item in value.items()} if isinstance(value, dict) else value

    return {"type": kind.name, **{name: plain(row[name]) for name in kind.names}}


@pytest.mark.parametrize("view", COMMANDS)
def test_a_view_has_the_rows_of_its_command_in_its_order(view, dirs, kcli):
    expected, _ = printed(kcli, COMMANDS[view], dirs, VIEWS[view].name)

    assert [as_printed(row, view) for row in rows(view, dirs)] == expected
    assert len(expected) >= len(dirs)


@pytest.mark.parametrize("view", ["batches", "records"])
def test_rows_of_recorded_logs_of_every_magic_and_codec(view, kcli, tmp_path):
    for number, name in enumerate((*recorded.LOGS, *recorded.LEGACY)):
        segment(log_dir(tmp_path / "d") / f"orders-{number}", 0, recorded.stored(f"{name}.log"), None, None)
    expected, _ = printed(kcli, COMMANDS[view], [tmp_path / "d"], VIEWS[view].name)

    assert [as_printed(row, view) for row in rows(view, [tmp_path / "d"])] == expected
    assert len({row["magic"] for row in expected if view == "batches"}) == (3 if view == "batches" else 0)


def found_by_check(kcli, paths):
    _, reported = printed(kcli, ("check",), paths, "")
    return {
        (line.get("code") or line["error"], line["message"], line["path"] or line["dir"]) for line in reported
    }


def found_in(rows):
    return {(row["code"], row["message"], row["path"]) for row in rows}


@pytest.mark.parametrize("seed", range(6))
def test_findings_of_damage_are_those_of_check(seed, kcli, tmp_path):
    chance = random.Random(seed)
    offsets = sorted(chance.sample(range(0, 400, 5), 60))
    if seed % 2:
        offsets[10:20] = sorted(offsets[10:20], reverse=True)
    data = bytearray(b"".join(put_range(offset, 4) for offset in offsets))
    for _ in range(seed // 2 * 3):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    segment(log_dir(tmp_path / "d") / "orders-0", 0, bytes(data))
    found = rows("findings", [tmp_path / "d"])

    assert found_in(found) == found_by_check(kcli, [tmp_path / "d"])
    assert seed == 0 or any("more)" in row["message"] for row in found)


def test_findings_of_several_brokers_are_those_of_check(dirs, kcli):
    found = rows("findings", dirs)

    assert found_in(found) == found_by_check(kcli, dirs)
    assert Counter(row["code"] for row in found if row["severity"] == "error")["LOG-003"] == 1
    assert len({tuple(sorted(row.items(), key=str)) for row in found}) == len(found)


def test_damage_and_absent_paths_are_rows_of_findings(dirs, tmp_path):
    found = rows("findings", [dirs[0], tmp_path / "absent"])

    assert {(row["code"], row["path"]) for row in found if row["severity"] == "error"} == {
        ("not-found", str(tmp_path / "absent")),
        ("START-009", str(tmp_path / "absent" / "meta.properties")),
    }
    assert len(rows("epochs", [dirs[0], tmp_path / "absent"])) == len(rows("epochs", dirs[:1]))


def test_a_directory_that_cannot_be_listed_is_one_row_of_findings(tmp_path, monkeypatch):
    (path,) = fleet(tmp_path, 1)
    closed = str(path / "clicks-0")
    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, partial(_unless_closed, getattr(os, name), closed))

    found = [row for row in rows("findings", [path]) if row["dir"] == closed]

    assert [(row["code"], row["topic"], row["partition"]) for row in found] == [
        ("no-permission", "clicks", 0)
    ]


def _unless_closed(there, closed, path="."):
    if path == closed:
        raise PermissionError(errno.EACCES, "Permission denied", path)
    return there(path)


def test_paths_that_lead_nowhere_are_refused(tmp_path):
    with pytest.raises(WordError, match="no such file"):
        rows("batches", [tmp_path / "absent"])


def test_a_file_that_no_view_reads_is_refused_or_a_row_of_findings(dirs, tmp_path):
    path = tmp_path / "plain.txt"
    path.write_text("words")
    with pytest.raises(WordError, match="a file of kind unknown"):
        rows("batches", [path])

    found = rows("findings", [dirs[0], path])
    errors = [(row["code"], row["path"]) for row in found if row["severity"] == "error"]
    assert {*errors} == {("wrong-kind", str(path)), ("START-010", str(path))}
    assert len(rows("epochs", [dirs[0], path])) == len(rows("epochs", dirs[:1]))


def test_a_file_of_another_view_is_refused_where_there_is_no_other(dirs):
    log = dirs[0] / "clicks-0" / "00000000000000000000.log"
    for view in ("offsets", "epochs"):
        with pytest.raises(WordError, match=f"{log}: this is a file of kind log; name "):
            rows(view, [log])
        assert len(rows(view, [log, dirs[0]])) == len(rows(view, dirs[:1]))
    with pytest.raises(WordError, match="neither segments of __remote_log_metadata nor"):
        rows("rlmm", [log.parent])
    assert rows("rlmm", dirs[:1]) == []


def test_options_select_rows_as_filters_do(dirs):
    left = rows("batches", dirs, topic="clicks", partition="0", offsets="3..5")

    assert {(row["topic"], row["partition"], row["base_offset"]) for row in left} == {
        ("clicks", 0, offset) for offset in (3, 4, 5)
    }


def bins(paths, **options):
    options = {"paths": json.dumps([str(path) for path in paths]), **options}
    tasks = plan_tasks(options, 2, None, ())
    return [plan.units for *_, plan in map(pickle.loads, tasks) if plan.units]


def test_an_archive_is_refused(tmp_path):
    """A task on another machine does not see what the driver unpacks."""
    (tmp_path / "b.tar.gz").touch()
    with pytest.raises(WordError, match=r"b\.tar\.gz/data: unpack the archive where every worker sees it"):
        bins([tmp_path / "b.tar.gz" / "data"])


def test_names_alone_decide_which_segments_are_opened(dirs):
    groups = bins(dirs, topic="clicks", partition="1", offsets="..4")

    opened = [unit.target.shown.split("/")[-2:] for group in groups for unit in group]
    assert opened == [["clicks-1", f"{0:020}.log"] for _ in dirs]


def test_bins_are_consecutive_and_of_about_equal_cost(dirs, monkeypatch):
    monkeypatch.setattr(spark_bins, "COST_OF_A_UNIT", 0)
    groups = bins(dirs, partitions="5")
    costs = [sum(os.path.getsize(unit.target.path) for unit in group) for group in groups]
    largest = max(os.path.getsize(unit.target.path) for group in groups for unit in group)

    assert len(groups) == 5
    assert max(costs) - min(costs) <= 2 * largest
    assert [unit.number for group in groups for unit in group] == list(range(sum(map(len, groups))))


def test_one_broker_is_not_torn_apart_for_findings(dirs):
    groups = bins(dirs, view="findings", partitions="100")
    homes = Counter(log_dir for group in groups for log_dir in {unit.target.log_dir for unit in group})

    assert set(homes.values()) == {1}
    assert len(groups) == len(dirs)


def test_leftovers_only_on_request(tmp_path):
    (log_dir,) = fleet(tmp_path, 1)
    (log_dir / "clicks-0").rename(log_dir / "clicks-0.0123456789abcdef0123456789abcdef-delete")
    first = log_dir / "clicks-1" / f"{0:020}.log"
    first.rename(first.with_suffix(".log.deleted"))

    files = {row["file"] for row in rows("batches", [log_dir])}
    more = {row["file"] for row in rows("batches", [log_dir], leftovers="true")}

    assert [name for name in more - files if name.endswith(".deleted")] == [f"{0:020}.log.deleted"]
    assert len(rows("offsets", [log_dir])) == 3
    assert len(rows("offsets", [log_dir], leftovers="true")) == 4


def test_decoded_records_equal_those_of_dump(demo, kcli):
    paths = [*sorted(demo.glob("__*-*")), *sorted(demo.rglob("*.checkpoint")), demo / "orders-0"]
    expected, _ = printed(kcli, ("dump", "--records"), paths, "dump_record")
    expected = [
        row
        for row in expected
        if row["file"].endswith(".log") or row["file"] in {path.name for path in paths}
    ]
    found = [as_printed(row, "records") for row in rows("records", paths)]
    for row in found:
        row.update(
            (name, json.loads(row[name]))
            for name in ("decoded_key", "decoded_value")
            if row[name] is not None
        )

    assert found == expected
    assert len({row["record_type"] for row in expected}) > 5


def test_records_are_not_decoded_unless_a_decoded_column_is_selected(demo, monkeypatch):
    monkeypatch.setattr("kcli.dump.decoded_records.decode_record", None)
    columns = ["topic", "offset", "key"]
    narrow = StructType([view_schema("records")[name] for name in columns])
    options = {"view": "records", "path": str(demo / "__cluster_metadata-0")}

    found = [
        row
        for task in plan_tasks(options, 2, None, columns)
        for batch in read_task(task, narrow)
        for row in batch.to_pylist()
    ]

    assert len(found) > 20


def test_fewer_columns_in_any_order_are_given_as_asked(dirs):
    fields = view_schema("batches")
    narrow = StructType([fields["crc"], fields["host"], fields["topic"], fields["scan_time"]])

    found = rows("batches", dirs[:1], schema=narrow)

    assert [row["crc"] for row in found] == [row["crc"] for row in rows("batches", dirs[:1])]
    assert list(found[0]) == ["crc", "host", "topic", "scan_time"]


@pytest.mark.parametrize("view", VIEWS)
def test_columns_are_those_of_the_schema_that_kcli_prints(view):
    names = [column.column.name for column in view_columns(view)]
    own = [column.name for column in VIEWS[view].columns if column not in WHERE[1:3]]

    assert names[:4] == [column.name for column in HEAD]
    assert [name.removeprefix("event_") if name == "event_broker_id" else name for name in names[4:]] == own
    assert len(set(names)) == len(names)
    assert [field.name for field in view_schema(view)] == names
    assert all(field.metadata["comment"] for field in view_schema(view))
    assert VIEWS[view].name in {*ROW_TYPES, "finding"}


def test_relative_paths_start_from_the_session_directory(dirs, monkeypatch):
    options = {"view": "epochs", "path": dirs[0].name}
    monkeypatch.chdir("/")

    (first, *_) = [
        batch
        for task in plan_tasks(options, 2, str(dirs[0].parent), ())
        for batch in read_task(task, view_schema("epochs"))
    ]

    assert first.column("dir")[0].as_py().startswith(dirs[0].name)
    assert isinstance(first, pa.RecordBatch)


def test_retention_of_a_tiered_topic_has_a_view_of_its_log_and_one_of_its_segments():
    node = cluster().node1
    logs, segments = (rows(view, [node], topic="t-local") for view in ("retention_partitions", "retention"))
    assert (len(logs), len(segments)) == (1, 7)
