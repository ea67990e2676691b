"""States that a start meets: a release's own log dirs (`make_base`), and one change of files or records."""

import base64
import os
import re
import shutil
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from formats.magic import read_header
from tests.builders import put_batch, put_record, put_unsigned_varint
from tests.partitions import put_range
from tests.starts.releases import CLUSTER_ID

DATA = Path(__file__).parent.parent / "data" / "startup"
METADATA = "__cluster_metadata-0"
LOG = "00000000000000000000.log"
UNIQUE = "0b1fb336ae51438dacdcdb564a8d1999"
OTHER_ID = "qEu6ZRi8TYyq7rSstvCosQ"
CONTROL = 0x20


@cache
def packed(base: str) -> list[tuple[str, int, bytes | None]]:
    """Return the log dirs of a release: of directories the name, of files the size and bytes up to zeros."""
    with tarfile.open(DATA / f"{base}.tar.gz") as archive:
        return [
            (
                member.name,
                member.size,
                archive.extractfile(member).read().rstrip(b"\0") if member.isfile() else None,
            )
            for member in archive
        ]


def unpack(base: str, root: Path) -> None:
    """Write the log dirs of a release below `root`; as a broker's, a preallocated index has a hole."""
    for name, size, content in packed(base):
        if content is None:
            (root / name).mkdir(parents=True, exist_ok=True)
        else:
            with (root / name).open("wb") as file:
                file.write(content)
                file.truncate(size)


def topic_id(directory: Path) -> str:
    """Return the topic id in a partition directory's partition.metadata."""
    lines = (directory / "partition.metadata").read_text().splitlines()
    return lines[1].removeprefix("topic_id: ")


def raw_uuid(text: str) -> bytes:
    return base64.urlsafe_b64decode(f"{text}==")


def metadata_record(number: int, body: bytes, version: int = 0, frame: int = 1) -> bytes:
    """Return the value of a record of the metadata log."""
    return b"".join(map(put_unsigned_varint, (frame, number, version))) + body


def append_records(root: Path, *values: bytes, control_type: int | None = None) -> None:
    """Append a batch to the metadata log in d0, of its last epoch, and leave the clean stop as it was."""
    path = root / "d0" / METADATA / LOG
    data = path.read_bytes()
    position, last = 0, None
    while position < len(data):
        last = read_header(data[position : position + 61])
        position += last.size
    key = None if control_type is None else (0).to_bytes(2, "big") + control_type.to_bytes(2, "big")
    records = [put_record(number, key=key, value=value) for number, value in enumerate(values)]
    batch = put_batch(
        b"".join(records),
        len(records),
        base_offset=last.base_offset + last.last_offset_delta + 1,
        partition_leader_epoch=last.partition_leader_epoch,
        base_timestamp=last.max_timestamp,
        max_timestamp=last.max_timestamp,
        attributes=0 if control_type is None else CONTROL,
    )
    path.write_bytes(data + batch)


def compact_text(text: str) -> bytes:
    return put_unsigned_varint(len(text) + 1) + text.encode()


def feature(name: str, level: int) -> bytes:
    """Return a FeatureLevelRecord."""
    return metadata_record(12, compact_text(name) + level.to_bytes(2, "big") + b"\0")


def to_future(source: str, target: str) -> Callable[[Path], None]:
    """Return a change: a current directory becomes the -future one of a log dir."""

    def change(root: Path) -> None:
        shutil.move(root / source, root / f"{target}.{UNIQUE}-future")

    return change


def remove(*paths: str) -> Callable[[Path], None]:
    """Return a change that removes files or directories."""

    def change(root: Path) -> None:
        for path in paths:
            full = root / path
            if full.is_dir():
                shutil.rmtree(full)
            else:
                full.unlink()

    return change


def write(path: str, content: bytes | Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Return a change of the content of a file."""

    def change(root: Path) -> None:
        full = root / path
        full.write_bytes(content if isinstance(content, bytes) else content(full.read_bytes()))

    return change


def append(*values: bytes, control_type: int | None = None) -> Callable[[Path], None]:
    """Return a change that appends records to the metadata log."""
    return lambda root: append_records(root, *values, control_type=control_type)


def nul(path: str) -> Callable[[Path], None]:
    """Return a change: a file of the same size of NUL bytes, as a power cut leaves it."""
    return write(path, lambda data: bytes(len(data)))


def in_turn(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    """Return several changes as one."""

    def change(root: Path) -> None:
        for each in changes:
            each(root)

    return change


def healthy(_root: Path) -> None:
    """Nothing is changed."""


def volume_new_id(root: Path) -> None:
    """d1 is a new volume: formatted, with another directory.id, empty."""
    text = (root / "d1" / "meta.properties").read_text()
    shutil.rmtree(root / "d1")
    (root / "d1").mkdir()
    (root / "d1" / "meta.properties").write_text(text.replace(directory_text(text), OTHER_ID))


def directory_text(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("directory.id=")).partition("=")[2]


def other_directory_id(log_dir: str) -> Callable[[Path], None]:
    """Return a change of a log dir's directory.id."""
    return write(
        f"{log_dir}/meta.properties",
        lambda data: data.replace(directory_text(data.decode()).encode(), OTHER_ID.encode()),
    )


def unknown_topic(root: Path) -> None:
    """A directory of a topic that the metadata does not know."""
    shutil.copytree(root / "d0" / "orders-0", root / "d0" / "gone-0")
    path = root / "d0" / "gone-0" / "partition.metadata"
    path.write_text(path.read_text().replace(topic_id(root / "d0" / "orders-0"), OTHER_ID))


def topic_deleted(root: Path) -> None:
    """The metadata deletes a topic while the broker is down."""
    append_records(root, metadata_record(9, raw_uuid(topic_id(root / "d0" / "events-1")) + b"\0"))


def reassigned_away(root: Path) -> None:
    """The metadata moves orders-0 to broker 2 while the broker is down."""
    body = (0).to_bytes(4, "big") + raw_uuid(topic_id(root / "d0" / "orders-0"))
    replicas = put_unsigned_varint(2) + (2).to_bytes(4, "big")
    tags = [(0, replicas), (1, (2).to_bytes(4, "big")), (2, replicas)]
    body += put_unsigned_varint(len(tags))
    for tag, value in tags:
        body += put_unsigned_varint(tag) + put_unsigned_varint(len(value)) + value
    append_records(root, metadata_record(5, body))


def unknown_partition_change(root: Path) -> None:
    """A record changes a partition of a topic id that nothing created."""
    body = (0).to_bytes(4, "big") + raw_uuid(OTHER_ID)
    append_records(root, metadata_record(5, body + put_unsigned_varint(0)))


def newest_snapshot(root: Path) -> Path:
    return max((root / "d0" / METADATA).glob("*.checkpoint"))


def snapshot(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Return a change of the content of the newest snapshot."""
    return lambda root: write(newest_snapshot(root).relative_to(root).as_posix(), change)(root)


def snapshot_name(name: str) -> Callable[[Path], None]:
    """Return a change: a copy of the newest snapshot has a name like a snapshot's."""

    def change(root: Path) -> None:
        path = newest_snapshot(root)
        shutil.copy(path, path.with_name(name.format(path.stem)))

    return change


def in_place_of_snapshot(put: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return a change: something else has the name of the newest snapshot."""

    def change(root: Path) -> None:
        path = newest_snapshot(root)
        path.unlink()
        put(path)

    return change


def copied(source: str, target: str) -> Callable[[Path], None]:
    """Return a change that copies a directory."""
    return lambda root: shutil.copytree(root / source, root / target)


def future_behind(root: Path) -> None:
    """A -future log in d1, where the metadata does not assign it, beside its current log, and shorter."""
    future = root / "d1" / f"orders-0.{UNIQUE}-future"
    shutil.copytree(root / "d0" / "orders-0", future)
    for path in future.iterdir():
        if path.suffix in {".log", ".index", ".timeindex", ".snapshot"}:
            path.unlink()
    data = (root / "d0" / "orders-0" / LOG).read_bytes()
    (future / LOG).write_bytes(data[: read_header(data[:61]).size])


def future_behind_assigned(root: Path) -> None:
    """The same in the log dir that the metadata assigns: what only the current log has is lost."""
    future_behind(root)
    assign(root, "orders-0", 0, "d1")


def assign(root: Path, directory: str, partition: int, log_dir: str) -> None:
    """Let the metadata assign a replica to a log dir."""
    body = partition.to_bytes(4, "big") + raw_uuid(topic_id(root / "d0" / directory))
    ids = put_unsigned_varint(2) + raw_uuid(directory_text((root / log_dir / "meta.properties").read_text()))
    body += put_unsigned_varint(1) + put_unsigned_varint(8) + put_unsigned_varint(len(ids)) + ids
    append_records(root, metadata_record(5, body, version=1))


def zookeeper_meta(log_dir: str) -> Callable[[Path], None]:
    """Return a change: meta.properties is that of a ZooKeeper broker."""
    text = f"version=0\nbroker.id=1\ncluster.id={CLUSTER_ID}\n"
    return write(f"{log_dir}/meta.properties", text.encode())


def flip(path: str, position: int) -> Callable[[Path], None]:
    """Return a change of one bit of a file."""
    return write(path, lambda data: data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])


def cut(path: str, size: int) -> Callable[[Path], None]:
    """Return a change: a file's last bytes are gone."""
    return write(path, lambda data: data[:-size])


def added(path: str, data: bytes = b"x") -> Callable[[Path], None]:
    """Return a change: a file, and its directory, that was not there."""

    def change(root: Path) -> None:
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(data)

    return change


def beside(path: Callable[[Path], Path], suffix: str) -> Callable[[Path], None]:
    """Return a change: a copy of a file with a longer name."""
    return lambda root: shutil.copy(path(root), f"{path(root)}{suffix}")


def empty(directory: str) -> Callable[[Path], None]:
    """Return a change: nothing is left in a directory."""
    return lambda root: [path.unlink() for path in (root / directory).iterdir()]


def same_directory_id(root: Path) -> None:
    """d1 is a copy of d0 as far as meta.properties says."""
    (root / "d1" / "meta.properties").write_bytes((root / "d0" / "meta.properties").read_bytes())


def formatted(root: Path) -> None:
    """Nothing but what StorageTool writes: no log of records is there."""
    kept = {"meta.properties", "bootstrap.checkpoint", "00000000000000000000-0000000000.checkpoint"}
    for path in sorted(root.glob("d?/**/*"), reverse=True):
        if path.is_dir():
            _ = any(path.iterdir()) or path.rmdir()
        elif path.name not in kept:
            path.unlink()


def of_zookeeper(root: Path) -> None:
    """Log dirs as a ZooKeeper broker leaves them: no metadata log, no topic ids, ids of version 0."""
    shutil.rmtree(root / "d0" / METADATA)
    for path in (*root.glob("d?/*/partition.metadata"), *root.glob("d?/bootstrap.checkpoint")):
        path.unlink()
    for name in ("d0", "d1"):
        zookeeper_meta(name)(root)


def without_topic_ids(log_dir: str) -> Callable[[Path], None]:
    """Return a change: no partition of a log dir has its partition.metadata."""
    return lambda root: [path.unlink() for path in (root / log_dir).glob("*/partition.metadata")]


KILLED = remove("d0/.kafka_cleanshutdown", "d1/.kafka_cleanshutdown")
ORDERS = "d0/orders-0"
zeros = write(f"d1/orders-1/{LOG}", lambda data: data + bytes(100))
FUTURE_IN_D1 = f"d1/orders-0.{UNIQUE}-future"
METADATA_LOG = f"d0/{METADATA}/{LOG}"
past_the_range = write(f"{ORDERS}/{LOG}", lambda data: data + put_range(2147483700, 10))
OLD_BOOTSTRAP = put_batch(put_record(value=feature("metadata.version", 3)), 1)
CHANGES: dict[str, Callable[[Path], None]] = {
    "healthy": healthy,
    "volume empty": in_turn(remove("d1"), lambda root: (root / "d1").mkdir()),
    "volume with lost+found alone": in_turn(
        remove("d1"), lambda root: (root / "d1" / "lost+found").mkdir(parents=True)
    ),
    "volume with a new id": volume_new_id,
    "partition gone": remove(ORDERS),
    "partition.metadata of another topic": write(
        f"{ORDERS}/partition.metadata", f"version: 0\ntopic_id: {OTHER_ID}".encode()
    ),
    "partition.metadata missing": remove(f"{ORDERS}/partition.metadata"),
    "partition.metadata empty": write(f"{ORDERS}/partition.metadata", b""),
    "partition.metadata of NUL bytes": nul(f"{ORDERS}/partition.metadata"),
    "unknown topic": unknown_topic,
    "topic deleted": topic_deleted,
    "reassigned away": reassigned_away,
    "only a -future log, not assigned": to_future(ORDERS, "d1/orders-0"),
    "only a -future log, assigned": to_future("d1/orders-1", "d1/orders-1"),
    "-future log behind its current one": future_behind,
    "-future log behind, assigned": future_behind_assigned,
    "two current logs": copied(ORDERS, "d1/orders-0"),
    "-delete and -stray directories": in_turn(
        copied(ORDERS, f"{ORDERS}.{UNIQUE}-delete"), copied("d0/events-1", f"d0/events-1.{UNIQUE}-stray")
    ),
    "lost+found": lambda root: (root / "d1" / "lost+found").mkdir(),
    "other directory.id, data whole": other_directory_id("d1"),
    "other cluster.id in d1": write(
        "d1/meta.properties", lambda data: data.replace(CLUSTER_ID.encode(), OTHER_ID.encode())
    ),
    "other node.id in d1": write("d1/meta.properties", lambda data: data.replace(b"node.id=1", b"node.id=7")),
    "meta.properties of version 0 in d1": zookeeper_meta("d1"),
    **{f"meta.properties missing in {name}": remove(f"{name}/meta.properties") for name in ("d0", "d1")},
    "meta.properties of version 9 in d1": write("d1/meta.properties", b"version=9\n"),
    "meta.properties without node.id in d1": write("d1/meta.properties", b"version=1\ncluster.id=x\n"),
    "directory for meta.properties in d1": in_turn(
        remove("d1/meta.properties"), lambda root: (root / "d1" / "meta.properties").mkdir()
    ),
    "directory for .lock in d1": lambda root: (root / "d1" / ".lock").mkdir(),
    "directory.id of d0 in d1": lambda root: shutil.copy(root / "d0/meta.properties", root / "d1"),
    "meta.properties of NUL bytes in d1": nul("d1/meta.properties"),
    "directory.id that is no id in d1": other_directory_id("d1"),
    "recovery-point of NUL bytes in d1": nul("d1/recovery-point-offset-checkpoint"),
    "recovery-point of NUL bytes in d0": nul("d0/recovery-point-offset-checkpoint"),
    "leader-epoch-checkpoint of NUL bytes in d1": nul("d1/orders-1/leader-epoch-checkpoint"),
    **{
        f"leader-epoch-checkpoint {name}": write(f"{directory}/leader-epoch-checkpoint", text)
        for name, directory, text in (
            ("miscounted in d1", "d1/orders-1", b"0\n9\n"),
            ("miscounted in d0", ORDERS, b"0\n9\n"),
            ("with a negative epoch", "d1/orders-1", b"0\n1\n0 -1\n"),
            ("with a word", "d1/orders-1", b"0\n1\nx 1\n"),
        )
    },
    **{
        f"{kind} {name} in d1": write(f"d1/{kind}-checkpoint", text)
        for kind in ("recovery-point-offset", "log-start-offset", "cleaner-offset", "replication-offset")
        for name, text in (
            ("miscounted", b"0\n9\n"),
            ("of version 7", b"7\n0\n"),
            ("with a word", b"0\n1\norders 1 x\n"),
        )
    },
    "zeros after a clean stop": zeros,
    "zeros after a crash": in_turn(zeros, remove("d0/.kafka_cleanshutdown", "d1/.kafka_cleanshutdown")),
    "metadata log in d1, too": copied(f"d0/{METADATA}", f"d1/{METADATA}"),
    "partition.metadata that is none": write(f"{ORDERS}/partition.metadata", b"version 0\n"),
    "clean stop of d0 alone": remove("d1/.kafka_cleanshutdown"),
    "quorum-state missing": remove(f"d0/{METADATA}/quorum-state"),
    "quorum-state empty": write(f"d0/{METADATA}/quorum-state", b""),
    "metadata log gone": remove(f"d0/{METADATA}"),
    "unknown record type": append(metadata_record(97, b"\0")),
    "frame version 0": append(metadata_record(20, b"\0", frame=0)),
    "record with bytes left over": append(metadata_record(20, b"\0\0\0")),
    "no-op with an unknown tag": append(metadata_record(20, b"\1\7\1x")),
    "partition record of version 9": append(metadata_record(2, compact_text("new") + bytes(15) + b"\1\0", 9)),
    "metadata.version 99": append(feature("metadata.version", 99)),
    "unknown feature": append(feature("foo.version", 1)),
    "unknown feature at level 0": append(feature("foo.version", 0)),
    "group.version 9": append(feature("group.version", 9)),
    "kraft.version 2": append(b"\0\0\0\2\0", control_type=5),
    "change of an unknown partition": unknown_partition_change,
    "bootstrap.checkpoint of NUL bytes": nul("d0/bootstrap.checkpoint"),
    "newest snapshot flipped": snapshot(lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:]),
    "newest snapshot empty": snapshot(lambda _: b""),
    "newest snapshot without its footer": snapshot(lambda data: data[:-20]),
    "newest snapshot without its header": snapshot(
        lambda data: data[12 + int.from_bytes(data[8:12], "big") :]
    ),
    "newest snapshot and garbage": snapshot(lambda data: data + b"x" * 40),
    "directory for the newest snapshot": in_place_of_snapshot(Path.mkdir),
    "dangling link for the newest snapshot": in_place_of_snapshot(lambda path: path.symlink_to("nowhere")),
    "copy of the newest snapshot": snapshot_name("{} (1).checkpoint"),
    "old- snapshot": snapshot_name("old-{}.checkpoint"),
    "short name of a snapshot": snapshot_name("abc.checkpoint"),
    "newest snapshot missing": lambda root: newest_snapshot(root).unlink(),
    "newest snapshot cut": lambda root: os.truncate(
        newest_snapshot(root), newest_snapshot(root).stat().st_size // 2
    ),
    "newest snapshot cut, a change of a lost topic": in_turn(
        snapshot(lambda data: data[: len(data) // 2]), unknown_partition_change
    ),
    "metadata log torn, killed": in_turn(cut(METADATA_LOG, 30), KILLED),
    "metadata log torn": cut(METADATA_LOG, 30),
    "metadata log flipped, killed": in_turn(flip(METADATA_LOG, 400), KILLED),
    "metadata log flipped": flip(METADATA_LOG, 400),
    "metadata log file gone": remove(METADATA_LOG),
    "metadata log empty": write(METADATA_LOG, b""),
    "metadata log of NUL bytes": nul(METADATA_LOG),
    "metadata log of NUL bytes, killed": in_turn(nul(METADATA_LOG), KILLED),
    "metadata log cut in half": write(METADATA_LOG, lambda data: data[: len(data) // 2]),
    "metadata log with NUL bytes for its second half": write(
        METADATA_LOG, lambda data: data[: len(data) // 2].ljust(len(data), b"\0")
    ),
    "metadata log in both log dirs": copied(f"d0/{METADATA}", f"d1/{METADATA}"),
    "metadata log's epochs of NUL bytes": nul(f"d0/{METADATA}/leader-epoch-checkpoint"),
    "metadata log's epochs missing": remove(f"d0/{METADATA}/leader-epoch-checkpoint"),
    "metadata log's partition.metadata missing": remove(f"d0/{METADATA}/partition.metadata"),
    "quorum-state of NUL bytes": nul(f"d0/{METADATA}/quorum-state"),
    "quorum-state of a later epoch": write(
        f"d0/{METADATA}/quorum-state", lambda data: re.sub(rb'"leaderEpoch":\d+', b'"leaderEpoch":99', data)
    ),
    "newest snapshot beside a .part": beside(newest_snapshot, ".part"),
    "newest snapshot beside a .deleted": beside(newest_snapshot, ".deleted"),
    "log-start of NUL bytes in d1": nul("d1/log-start-offset-checkpoint"),
    "log-start above the log's end": added("d0/log-start-offset-checkpoint", b"0\n1\norders 0 99999\n"),
    "recovery-point above the log's end": added(
        "d0/recovery-point-offset-checkpoint", b"0\n1\norders 0 99999\n"
    ),
    "recovery-point with a bad line, killed": in_turn(
        added("d1/recovery-point-offset-checkpoint", b"0\n1\norders x\n"), KILLED
    ),
    "high watermarks of NUL bytes in d0": nul("d0/replication-offset-checkpoint"),
    "high watermarks cut in d0": added("d0/replication-offset-checkpoint", b"0\n9\norders 0 1\n"),
    "cleaner's checkpoint of NUL bytes": added("d1/cleaner-offset-checkpoint", bytes(30)),
    "meta.properties cut in d1": write("d1/meta.properties", lambda data: data[: len(data) // 2]),
    "meta.properties empty in d1": write("d1/meta.properties", b""),
    "meta.properties empty in d0": write("d0/meta.properties", b""),
    "meta.properties missing in d1": remove("d1/meta.properties"),
    "other cluster.id in d0": write(
        "d0/meta.properties", lambda data: re.sub(rb"cluster.id=\S+", f"cluster.id={OTHER_ID}".encode(), data)
    ),
    "same directory.id in both": same_directory_id,
    "log dir d1 missing": remove("d1"),
    "partition directory empty": empty(ORDERS),
    "directory without a partition number": added("d0/orders/x"),
    "directory with letters for a number": added("d0/orders-x/x"),
    "file in a log dir": added("d0/notes.txt"),
    "file of NFS in a partition": added(f"{ORDERS}/.nfs00012"),
    "file of NFS alone in a -delete": added(f"d0/orders-9.{UNIQUE}-delete/.nfs00012"),
    "-delete of another name": added("d0/x-delete/x"),
    "-stray beside its current log": copied(ORDERS, f"{ORDERS}.{UNIQUE}-stray"),
    "log flipped, killed": in_turn(flip(f"{ORDERS}/{LOG}", 80), KILLED),
    "log torn, killed": in_turn(cut(f"{ORDERS}/{LOG}", 9), KILLED),
    "log with a tail of NUL bytes, killed": in_turn(
        write(f"{ORDERS}/{LOG}", lambda data: data + bytes(5000)), KILLED
    ),
    "log with a tail of NUL bytes": write(f"{ORDERS}/{LOG}", lambda data: data + bytes(5000)),
    "log beside .cleaned and .swap": in_turn(
        *(beside(lambda root: root / ORDERS / LOG, suffix) for suffix in (".cleaned", ".swap"))
    ),
    "leader-epoch-checkpoint cut": write(f"{ORDERS}/leader-epoch-checkpoint", lambda data: data[:3]),
    "leader-epoch-checkpoint empty": write(f"{ORDERS}/leader-epoch-checkpoint", b""),
    "leader-epoch-checkpoint with a bad line": write(f"{ORDERS}/leader-epoch-checkpoint", b"0\n1\n0 x\n"),
    "whole -future log, assigned": in_turn(
        copied(ORDERS, FUTURE_IN_D1), lambda root: assign(root, "orders-0", 0, "d1")
    ),
    "whole -future log, not assigned": copied(ORDERS, FUTURE_IN_D1),
    "two -future logs": in_turn(copied(ORDERS, FUTURE_IN_D1), copied(ORDERS, f"{ORDERS}.{UNIQUE}-future")),
    "assigned to d1, data in d0": lambda root: assign(root, "orders-0", 0, "d1"),
    "other directory.id in d0": other_directory_id("d0"),
    "voter away": healthy,
    "other node.id configured": healthy,
    "metadata.version 32": append(feature("metadata.version", 32)),
    "bootstrap.checkpoint of metadata.version 3": added("d0/bootstrap.checkpoint", OLD_BOOTSTRAP),
    "bootstrap.checkpoint of metadata.version 3, no metadata log": in_turn(
        formatted, added("d0/bootstrap.checkpoint", OLD_BOOTSTRAP)
    ),
    "formatted": formatted,
    "snapshot of garbage": added(f"d0/{METADATA}/00000000000000000002-0000000001.checkpoint", b"x" * 40),
    "snapshots missing": lambda root: [
        path.unlink() for path in (root / "d0" / METADATA).glob("*.checkpoint")
    ],
    "-delete of a former partition": copied(ORDERS, f"d0/gone-0.{UNIQUE}-delete"),
    "offset past its segment's range": past_the_range,
    "offset past its segment's range, killed": in_turn(past_the_range, KILLED),
    ".kafka_cleanshutdown empty": in_turn(
        *(write(f"{name}/.kafka_cleanshutdown", b"") for name in ("d0", "d1"))
    ),
    "log dirs of ZooKeeper": of_zookeeper,
    "meta.properties of version 0 and no topic ids in d1": in_turn(
        zookeeper_meta("d1"), without_topic_ids("d1")
    ),
}
SETTINGS_OF: dict[str, dict[str, object]] = {
    "voter away": {
        "process.roles": "broker",
        "listeners": "PLAINTEXT://127.0.0.1:$PORT",
        "controller.quorum.voters": "3@127.0.0.1:$CONTROLLER",
    },
    "other node.id configured": {"node.id": 7, "controller.quorum.voters": "7@127.0.0.1:$CONTROLLER"},
    "no process.roles": {"process.roles": None},
    "no node.id": {"node.id": None},
    "no voters": {"controller.quorum.voters": None},
    "other broker.id": {"broker.id": 2},
    "broker.id alone": {"node.id": None, "broker.id": 1},
    "broker among the voters": {"process.roles": "broker"},
    "controller alone": {
        "process.roles": "controller",
        "listeners": "CONTROLLER://127.0.0.1:$CONTROLLER",
        "advertised.listeners": None,
    },
}
"""Settings of server.properties that belong to a change."""
CHANGES |= {name: healthy for name in SETTINGS_OF if name not in CHANGES}
CHANGES |= {
    f"{first}; {second}": in_turn(CHANGES[first], CHANGES[second])
    for first, second in (
        ("topic deleted", "log-start of NUL bytes in d1"),
        ("topic deleted", "cleaner-offset of version 7 in d1"),
        ("log dirs of ZooKeeper", "replication-offset miscounted in d1"),
        ("leader-epoch-checkpoint with a word", "log-start of NUL bytes in d1"),
    )
}
