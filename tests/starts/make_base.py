"""`python -m tests.starts.make_base 3.5.2 4.3.1-dynamic`: log dirs of a stopped broker of a release."""

import io
import re
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.starts.releases import DYNAMIC, Start, format_dirs, write_properties

HERE = Path(__file__).parent
DATA = HERE.parent / "data" / "startup"
TOPICS = {"orders": 2, "events": 3, "compact": 1}
RECORDS = 24
SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": 200,
    "metadata.log.max.snapshot.interval.ms": 1500,
}


def make(name: str) -> Path:
    """Write log dirs of a release, `-dynamic` with a voters record, `-snapshot` with snapshots; return it."""
    release, _, variant = name.partition("-")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        properties = write_properties(root, {"dynamic": DYNAMIC, "snapshot": SNAPSHOTS}.get(variant))
        format_dirs(release, properties, *(["--standalone"] if variant == "dynamic" else []))
        start = Start(release, properties)
        try:
            if start.outcome(60) != "starts":
                raise RuntimeError(start.output[-3000:])
            fill(re.search(r"PLAINTEXT://(\S+)", properties.read_text())[1].split(",")[0])
            while variant == "snapshot" and not any(root.glob("d0/*/*[1-9]-*.checkpoint")):
                time.sleep(0.2)
        finally:
            start.stop()
        path = DATA / f"{name}.tar.gz"
        path.write_bytes(packed(root))
    return path


def fill(server: str) -> None:
    """Create the topics and write to them: plain, idempotent, transactional."""
    admin = AdminClient({"bootstrap.servers": server})
    made = admin.create_topics([NewTopic(topic, count, 1) for topic, count in TOPICS.items()])
    for each in made.values():
        each.result(30)
    plain = Producer({"bootstrap.servers": server, "linger.ms": 2})
    for topic, count in TOPICS.items():
        for number in range(RECORDS):
            for partition in range(count):
                plain.produce(topic, f"value {number}".encode(), f"key {number % 5}".encode(), partition)
    plain.flush(30)
    once = Producer({"bootstrap.servers": server, "transactional.id": "starts"})
    once.init_transactions(30)
    once.begin_transaction()
    once.produce("orders", b"in a transaction", partition=0)
    once.commit_transaction(30)


def packed(root: Path) -> bytes:
    """Return the log dirs as a small archive: no preallocated index, no time, no owner."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz", compresslevel=9) as archive:
        for path in sorted(root.glob("d?")):
            archive.add(path, path.name, filter=_without_owner)
    return target.getvalue()


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    return member


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        made = make(argument)
        print(made, made.stat().st_size)
