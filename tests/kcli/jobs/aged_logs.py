"""Logs of segments as old as a test says, with settings in metadata; and what retention answers of them."""

from kcli.jobs.held_log import RetentionQuery
from kcli.jobs.retention import retention
from tests.metadata_records import TOPIC_ID, config, put_log
from tests.metadata_records import batch as metadata_batch
from tests.metadata_records import partition as metadata_partition
from tests.metadata_records import topic as metadata_topic
from tests.partitions import log_dir, put_range, put_topic_id, rows, segment, time_entries, unit
from tests.transactions import DAY, NOW

WEEK, HOUR = 7 * DAY, 3_600_000


def put_aged_log(root, *ages, high_watermark=None, topic="orders", fields=()):
    """Make a partition of one batch a segment, each as many ms older than NOW; return its directory."""
    log_dir(root)
    directory = root / f"{topic}-0"
    for number, age in enumerate(ages):
        batch_fields = dict(fields[number]) if number < len(fields) else {}
        batch = put_range(10 * number, 10, timestamp=NOW - age, step=0, **batch_fields)
        segment(directory, 10 * number, batch, timeindex=time_entries((NOW - age, 9)))
    end = 10 * len(ages) if high_watermark is None else high_watermark
    (root / "replication-offset-checkpoint").write_text(f"0\n1\n{topic} 0 {end}\n")
    return directory


def answer(directory, now=NOW, **settings):
    settings = {name.replace("_", "."): str(value) for name, value in settings.items()}
    log, *segments = rows(retention(unit(directory), query=RetentionQuery(now, {}, settings)))
    return log, segments


def column(segments, name):
    return [each[name] for each in segments]


def put_topic_metadata(folder, *settings, replicas=(7,), topic="orders", topic_id=TOPIC_ID):
    """Write a metadata log of a topic with settings, and its id into the logs; return the log dir."""
    for directory in folder.glob(f"{topic}-*"):
        put_topic_id(directory, topic_id)
    values = [
        metadata_topic(topic, topic_id),
        metadata_partition(topic_id=topic_id, replicas=replicas, leader=replicas[0]),
    ]
    values += [config(2, topic, name, value) for name, value in settings]
    return put_log(folder, metadata_batch(0, *values))
