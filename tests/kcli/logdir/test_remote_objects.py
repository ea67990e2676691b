"""Objects of Aiven's plugin as their files: those of a real broker, stored by it or by tests/plugin.py."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.names import OFFSET_INDEX, TXN_INDEX
from kcli.logdir.buffers import FileError
from kcli.logdir.find import file_target
from kcli.logdir.remote_objects import PackedLog, open_file, open_log, read_target, stored_objects, with_parts
from tests.plugin import INDEXES, NO_KEY, store
from tests.tiered import cluster

LOG = next(cluster().storage.glob("t-txn-0-*/00000000000000000000-*.log"))
CHUNK = 700
DATA = Path(__file__).parents[2] / "data" / "plugin"


@pytest.fixture(scope="module")
def compressed(tmp_path_factory):
    return store(LOG, tmp_path_factory.mktemp("objects"), compression=True, chunk_size=CHUNK)


@given(st.integers(0, 9000), st.integers(0, 9000))
def test_any_range_of_a_compressed_log(compressed, position, length):
    data = LOG.read_bytes()
    with open_log(f"{compressed}.log") as log:
        assert isinstance(log, PackedLog)
        assert log.size == len(data)
        assert log.read(position, length) == data[position : position + length]
        whole = bytearray(min(length, max(len(data) - position, 0)))
        log.read_into(memoryview(whole), position)
        assert whole == data[position : position + length]
        assert log.grown() == 0
        assert not log.is_replaced


def test_a_log_that_the_plugin_itself_compressed():
    """The bytes are of its own classes: see tests/data/plugin."""
    (path,) = DATA.glob("objects/*/0/*.log")
    with open_log(str(path)) as log:
        assert log.read(0, log.size) == LOG.read_bytes()


def test_each_part_of_the_indexes_is_the_file_that_it_was(compressed):
    parts = {part.kind: part for part in with_parts(file_target(f"{compressed}.indexes"))}
    stored = LOG.with_suffix(".indexes")
    assert len(parts) == len(INDEXES)
    assert not stored.exists()
    for kind, extension in zip(parts, INDEXES.values(), strict=True):
        start, data = read_target(parts[kind])
        assert data == LOG.with_suffix(f".{extension}").read_bytes()
        assert compressed.with_suffix(".indexes").read_bytes()[start:].startswith(data)
        with open_file(parts[kind]) as part:
            room = bytearray(3)
            part.read_into(memoryview(room), 1)
            assert (part.read(len(data) - 2, 9), bytes(room)) == (data[-2:], data[1:4])


def test_a_log_that_was_stored_as_it_is(tmp_path):
    stem = store(LOG, tmp_path)
    with open_log(f"{stem}.log") as log:
        assert (type(log).__name__, log.read(0, log.size)) == ("DataFile", LOG.read_bytes())


@pytest.mark.parametrize("extension", ["log", "indexes"])
def test_what_is_encrypted_is_refused(tmp_path, extension):
    stem = store(LOG, tmp_path, compression=True, encryption=NO_KEY)
    (target,) = with_parts(file_target(f"{stem}.{extension}"))
    with pytest.raises(FileError, match=r"encrypted by the plugin.*'my-key-pair'") as raised:
        open_file(target)
    assert (raised.value.code, raised.value.path) == ("encrypted", f"{stem}.{extension}")


@pytest.mark.parametrize("extension", ["log", "indexes"])
def test_without_a_manifest(tmp_path, extension):
    stem = store(LOG, tmp_path, compression=True)
    stem.with_suffix(".rsm-manifest").unlink()
    (target,) = with_parts(file_target(f"{stem}.{extension}"))
    with pytest.raises(FileError, match=r"no \.rsm-manifest beside it") as raised:
        open_file(target)
    assert raised.value.code == "no-manifest"


def test_a_plain_log_needs_no_manifest(tmp_path):
    stem = store(LOG, tmp_path)
    stem.with_suffix(".rsm-manifest").unlink()
    with open_log(f"{stem}.log") as log:
        assert log.read(0, log.size) == LOG.read_bytes()


def test_objects_shorter_than_their_manifest_says(tmp_path):
    stem = store(LOG, tmp_path, compression=True)
    parts = {part.kind: part for part in with_parts(file_target(f"{stem}.indexes"))}
    for extension in ("log", "indexes"):
        path = stem.with_suffix(f".{extension}")
        path.write_bytes(path.read_bytes()[:-1])
    for target in (file_target(f"{stem}.log"), parts[TXN_INDEX]):
        with pytest.raises(FileError) as raised:
            open_file(target)
        assert raised.value.code == "truncated"
    with open_file(parts[OFFSET_INDEX]) as part:
        assert part.read(0, part.size) == LOG.with_suffix(".index").read_bytes()


def test_a_damaged_chunk_is_an_error_at_its_byte(tmp_path):
    stem = store(LOG, tmp_path, compression=True, chunk_size=CHUNK)
    path = stem.with_suffix(".log")
    data = bytearray(path.read_bytes())
    second = data.index(b"\x28\xb5\x2f\xfd", 1)
    data[second] ^= 0xFF
    path.write_bytes(data)
    with open_log(str(path)) as log:
        assert log.read(0, CHUNK) == LOG.read_bytes()[:CHUNK]
        with pytest.raises(FileError) as raised:
            log.read(0, CHUNK + 1)
    assert (raised.value.code, raised.value.position) == ("corrupt", second)


def test_a_chunk_of_another_size_than_the_manifest_says(tmp_path):
    stem = store(LOG, tmp_path, compression=True, chunk_size=CHUNK)
    manifest = stem.with_suffix(".rsm-manifest")
    size = len(LOG.read_bytes())
    manifest.write_text(
        manifest.read_text().replace(f'"originalFileSize":{size}', f'"originalFileSize":{size + 1}')
    )
    with open_log(f"{stem}.log") as log, pytest.raises(FileError) as raised:
        log.read(size, 1)
    assert (raised.value.code, raised.value.field) == ("corrupt", f"chunk {size // CHUNK}")


LISTINGS = {
    "aws": "2026-01-02 03:04:05       1234 t/a b.log\n",
    "find": "12 4 drwxr-xr-x 2 k k 4096 Jan 2 03:04 t\n13 4 -rw-r--r-- 1 k k 1234 Jan 2 03:04 t/a b.log\n",
    "name first": "\nt/a b.log 1234\n",
}


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_has_names_and_sizes(tmp_path, name):
    (tmp_path / "list").write_text(LISTINGS[name])

    assert list(stored_objects(str(tmp_path / "list"))) == [("t/a b.log", 1234)]


def test_a_line_without_a_size_is_refused_where_it_begins(tmp_path):
    (tmp_path / "list").write_text("a 1\nb\n")
    with pytest.raises(FileError) as error:
        list(stored_objects(str(tmp_path / "list")))

    assert (error.value.code, error.value.position) == ("corrupt", 4)


def test_files_below_a_directory_are_objects(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a").write_bytes(b"123")

    assert list(stored_objects(str(tmp_path))) == [(f"{tmp_path}/t/a", 3)]
