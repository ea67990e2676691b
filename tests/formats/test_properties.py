"""Java Properties, meta.properties, partition.metadata, clean shutdown: as Kafka, damage."""

import pytest

from formats.errors import CorruptError, FormatError, TruncatedError, UnsupportedError
from formats.properties import (
    ConfiguredLogDirs,
    log_dirs,
    read_clean_shutdown,
    read_meta_properties,
    read_partition_metadata,
    read_properties,
)
from tests.formats.files import answers, units


def without_lone_surrogates(hexed):
    if hexed == "-":
        return hexed
    return units(bytes.fromhex(hexed).decode("utf-16-be", "replace"))


def test_properties_as_java():
    for data, _, answer in answers("props"):
        try:
            mine = {(units(key), units(value)) for key, value in read_properties(data).items()}
        except FormatError:
            mine = "err"
        if answer != "err":
            answer = {tuple(map(without_lone_surrogates, pair.split("="))) for pair in answer.split()[1:]}
        assert mine == answer, data


def test_meta_properties_as_kafka():
    for data, _, answer in answers("meta"):
        try:
            read = read_meta_properties(data)
        except FormatError:
            mine = "err"
        else:
            cluster_id = "0001" if read.cluster_id is None else units(read.cluster_id)
            node_id = "none" if read.node_id is None else read.node_id
            mine = f"ok {read.version} {cluster_id} {node_id} {read.directory_id or 'none'}"
        assert mine == answer, data


def test_partition_metadata_as_kafka():
    for data, _, answer in answers("pm"):
        try:
            read = read_partition_metadata(data)
        except FormatError:
            mine = "err"
        else:
            mine = f"ok {read.version} {read.topic_id}"
        assert mine == answer, data


@pytest.mark.parametrize(
    ("read", "data", "kind", "position", "field"),
    [
        (read_properties, b"a=\\u12", CorruptError, 0, "line 1"),
        (read_properties, b"# x\nb\\u00g0=1", CorruptError, 4, "line 2"),
        (read_meta_properties, b"#\nversion=2\n", UnsupportedError, 2, "version"),
        (read_meta_properties, b"version=x\n", CorruptError, 0, "line 1, version"),
        (read_meta_properties, b"version=1\ncluster.id=c\n", CorruptError, 23, "node.id"),
        (read_meta_properties, b"version=1\nnode.id=1\n", CorruptError, 20, "cluster.id"),
        (read_meta_properties, b"version=1\ncluster.id=c\nnode.id=1 \n", CorruptError, 23, "line 3, node.id"),
        (read_meta_properties, b"broker.id=\n", CorruptError, 0, "line 1, broker.id"),
        (read_meta_properties, b"directory.id=x\n", CorruptError, 0, "line 1, directory.id"),
        (read_partition_metadata, b"", TruncatedError, 0, "line 1"),
        (read_partition_metadata, b"version: 0\n", TruncatedError, 11, "line 2"),
        (read_partition_metadata, b"version: -1\n", UnsupportedError, 0, "version"),
        (read_partition_metadata, b"version: x\n", CorruptError, 0, "line 1"),
        (read_partition_metadata, b"version:0\n", CorruptError, 0, "line 1"),
        (read_partition_metadata, b"version: 0\n\n", CorruptError, 11, "line 2"),
        (read_partition_metadata, b"version: 0\ntopic_id: abc", CorruptError, 11, "line 2, topic_id"),
        (read_partition_metadata, b"version: 0\ntopic_id: " + b"A" * 22, CorruptError, 11, "topic_id"),
        (read_partition_metadata, b"version: 0\ntopic_id: \xff", CorruptError, 21, "line 2"),
    ],
)
def test_what_is_wrong_and_where(read, data, kind, position, field):
    with pytest.raises(kind) as raised:
        read(data)
    assert (raised.value.position, raised.value.field) == (position, field)


def test_clean_shutdown_as_kafka():
    for data, _, answer in answers("cs"):
        epoch = read_clean_shutdown(data)
        assert ("none" if epoch is None else f"ok {epoch}") == answer, data


CLEAN_SHUTDOWNS = [
    (b"", None),
    (b"{}", None),
    (b"[]", None),
    (b'{"version":0,"brokerEpoch":322}', 322),
    (b'{"version":9,"brokerEpoch":322,"more":[1]} more', 322),
    (b'{"version":null,"brokerEpoch":"-7"}', -7),
    (b'{"version":"","brokerEpoch":1.9}', 1),
    (b'{"version":"x","brokerEpoch":1}', None),
    (b'{"version":0,"brokerEpoch":null}', None),
    (b'{"version":0,"brokerEpoch":""}', None),
    (b'{"version":0,"brokerEpoch":true}', None),
    (b'{"version":0,"brokerEpoch":9223372036854775808}', None),
    (b'{"version":0,"brokerEpoch":1e999}', None),
    (b'{"version":0,"brokerEpoch":NaN}', None),
    (b"[" * 100_000, None),
    (b'{"brokerEpoch":' + b"9" * 5000 + b"}", None),
]


@pytest.mark.parametrize(("data", "expected"), CLEAN_SHUTDOWNS)
def test_clean_shutdown(data, expected):
    assert read_clean_shutdown(data) == expected


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({}, ConfiguredLogDirs(("/tmp/kafka-logs",), "/tmp/kafka-logs")),
        ({"log.dir": "/a"}, ConfiguredLogDirs(("/a",), "/a")),
        ({"log.dir": "/a", "log.dirs": "/b, /c ,"}, ConfiguredLogDirs(("/b", "/c"), "/b")),
        ({"log.dir": "/a", "log.dirs": " "}, ConfiguredLogDirs((), "")),
        ({"log.dirs": "/b", "metadata.log.dir": "/m"}, ConfiguredLogDirs(("/b",), "/m")),
    ],
)
def test_log_dirs(configuration, expected):
    assert log_dirs(configuration) == expected
