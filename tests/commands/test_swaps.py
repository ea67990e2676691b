"""A log whose segments wait as `.swap`: every command counts the records that a start takes in."""

import json
import shlex
import shutil

import pytest

pytestmark = pytest.mark.slow

WHOLE = ("log", "index", "timeindex")
LAYOUTS = {
    "renamed": ({29: (29,)}, ()),
    "merged": ({0: (0, 29)}, ()),
    "beside what it replaces": ({0: (0, 29)}, (0, 29)),
    "cleaned, beside what it replaces": ({0: (29,)}, (0, 29)),
}
"""The swap's base offset and the segments whose bytes it holds; which of their files are still there."""


def name(base, extension):
    return f"{base:020}.{extension}"


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def swapped(demo, tmp_path, request):
    """The log dir of the demo with a swap in orders-0, and the same when the start has finished it."""
    swaps, left = request.param
    found = []
    for ending in (".swap", ""):
        log_dir = tmp_path / f"with{ending or '-none'}" / "data"
        shutil.copytree(demo, log_dir)
        directory = log_dir / "orders-0"
        for base, held in swaps.items():
            data = b"".join((directory / name(segment, "log")).read_bytes() for segment in held)
            for segment in {*held, base}:
                for extension in WHOLE:
                    if segment not in left or not ending:
                        (directory / name(segment, extension)).unlink(missing_ok=True)
            for segment in set(left) - {base} if not ending else ():
                for extension in WHOLE:
                    (directory / name(segment, extension)).unlink(missing_ok=True)
            (directory / (name(base, "log") + ending)).write_bytes(data)
            for extension in WHOLE[1:]:
                (directory / (name(base, extension) + ending)).write_bytes(b"")
        found.append(log_dir)
    return found


def counted(kcli, log_dir, view):
    query = f"SELECT count(*) AS n FROM {view} WHERE topic = 'orders' AND partition = 0"
    if view == "segments":
        query = query.replace("count(*)", "sum(records)")
    (row,) = json.loads(kcli("sql", query, log_dir, "-o", "json").stdout)["rows"]
    return row["n"]


def test_views_count_the_same_records(kcli, swapped):
    before, after = (
        [counted(kcli, root, view) for view in ("records", "segments", "batches")] for root in swapped
    )

    assert before == after
    assert before[0] == before[1] > 0


def test_a_rescue_saves_what_is_lost(kcli, swapped, tmp_path):
    saved = []
    for number, log_dir in enumerate(swapped):
        file = tmp_path / f"{number}.ndjson"
        words = ("truncate", "--dry-run", "--to-offset", "20", log_dir / "orders-0", "-o", "json")
        (row,) = json.loads(kcli(*words).stdout)["rows"]
        assert kcli(*words, "--rescue", file).exit_code in {0, 1}
        records = [json.loads(line) for line in file.read_text().splitlines()]
        assert len(records) == row["records_lost"]
        saved.append([(record["offset"], record["key"], record["value"]) for record in records])

        command = shlex.split(row["rescue_command"])
        out = command.index("--out") + 1
        command[out] = str(tmp_path / f"{number}.by-command.ndjson")
        if "?" in command[-1]:
            pattern = command.pop().rpartition("/")[2]
            command += sorted(map(str, (log_dir / "orders-0").glob(pattern)))
        kcli(*command[1:])
        lines = (tmp_path / f"{number}.by-command.ndjson").read_text().splitlines()
        assert [json.loads(line)["offset"] for line in lines] == [offset for offset, *_ in saved[-1]]
    assert saved[0] == saved[1]
