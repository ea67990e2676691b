"""Log dirs for Spark: many small batches here, large ones there, epochs, several segments, damage in a few.

`python -m tests.kcli.views.fleet --dirs 200` makes so many, and asks them what the session in the manual
asks.
"""

import argparse
import re
import tempfile
import time
from pathlib import Path

from formats.compression import LZ4, NONE
from tests.builders import put_record, put_records
from tests.documents import session

CLUSTER_ID = "d4AOWUsZhgy8XcdU-9gSlQ"
START = 1_700_000_000_000
SMALL, LARGE = ("clicks", 1), ("archive", 40)
"""Topics, and how many records each of their batches has."""


def fleet(path, count):
    """Make `count` log dirs below a path and return their paths.

    Every fifth has a flipped byte, every seventh a bad length.
    """
    dirs = []
    for number in range(count):
        log_dir = path / f"broker-{number:03}"
        log_dir.mkdir(parents=True)
        (log_dir / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\nnode.id={number}\n")
        (log_dir / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
        for topic, records in (SMALL, LARGE):
            for partition in range(2):
                _partition(log_dir / f"{topic}-{partition}", number + partition, records)
        if number % 5 == 4:
            _flip(log_dir / "clicks-0" / f"{0:020}.log", 61 + 3)
        if number % 7 == 6:
            _flip(log_dir / "archive-1" / f"{0:020}.log", 8)
        dirs.append(log_dir)
    return dirs


def _partition(folder, seed, records):
    folder.mkdir()
    offset, epochs = 0, []
    for segment in range(3):
        base, batches = offset, []
        for number in range(6 + seed % 5):
            epoch = segment * 2 + (number > 3)
            if not epochs or epochs[-1][0] < epoch:
                epochs.append((epoch, offset))
            time = START + offset * 1000
            made = [
                put_record(offset_delta=n, timestamp_delta=n, key=b"k%d" % n, value=b"v" * (n + 5))
                for n in range(records)
            ]
            batches.append(
                put_records(
                    made,
                    codec=LZ4 if segment == 1 else NONE,
                    base_offset=offset,
                    partition_leader_epoch=epoch,
                    base_timestamp=time,
                    max_timestamp=time + records - 1,
                    producer_id=1000 + number % 2,
                    producer_epoch=0,
                    base_sequence=0,
                )
            )
            offset += records
        for extension, data in (("log", b"".join(batches)), ("index", b""), ("timeindex", b"")):
            (folder / f"{base:020}.{extension}").write_bytes(data)
    lines = [f"{epoch} {start}" for epoch, start in epochs]
    (folder / "leader-epoch-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")


def _flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 0x40
    path.write_bytes(data)


def manual_queries():
    """Return the SQL queries of the session in the manual."""
    code = "\n".join(line[4:] for line in session().splitlines() if line.startswith((">>> ", "... ")))
    return [query for query in re.findall(r'spark\.sql\("+(.*?)"+\)', code, re.DOTALL) if "SELECT" in query]


def main():
    """Make log dirs in a temporary place, ask them, and print answers, seconds and a plan."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--dirs", type=int, default=200)
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    from kcli.engine.spark_session import opened
    from kcli.views import register
    from kcli.views.definitions import VIEWS

    with tempfile.TemporaryDirectory() as place, opened(given.master, None, {}) as spark:
        begun = time.monotonic()
        fleet(Path(place), given.dirs)
        print(f"{given.dirs} log dirs made in {time.monotonic() - begun:.1f} s")
        register(spark)
        for view in VIEWS:
            spark.read.format("kcli").option("view", view).load(f"{place}/broker-*").createOrReplaceTempView(
                view
            )
        queries = [*manual_queries(), *(f"SELECT count(*) AS {view} FROM {view}" for view in VIEWS)]
        for query in queries:
            begun = time.monotonic()
            shown = spark.sql(query)._show_string(5, truncate=30)
            print(f"\n{query.strip()}\n{shown.rstrip()}\n{time.monotonic() - begun:.1f} s")
        (plan,) = spark.sql(f"EXPLAIN FORMATTED {queries[0]}").collect()
        print(f"\n{plan[0]}")


if __name__ == "__main__":
    main()
