"""What a log dir says about its partitions."""

from formats.types import TopicPartition
from kcli.logdir.log_dirs import directory_facts
from tests.partitions import log_dir


def test_what_a_log_dir_says(tmp_path):
    root = log_dir(tmp_path / "d", log_start=3, recovery=9, watermark=8)
    facts = directory_facts(str(root))
    key = TopicPartition("orders", 0)
    assert (facts.broker_id, facts.cluster_id, facts.clean_shutdown, facts.problems) == (7, "abc", True, ())
    assert (facts.log_start_offsets[key], facts.recovery_points[key], facts.high_watermarks[key]) == (3, 9, 8)
    assert directory_facts(str(root)) is facts
    (root / ".kafka_cleanshutdown").unlink()
    (root / "replication-offset-checkpoint").unlink()
    (root / "log-start-offset-checkpoint").write_text("0\n2\norders 0 3\n")
    changed = directory_facts(str(root))
    assert (changed.clean_shutdown, changed.high_watermarks, changed.log_start_offsets) == (False, None, None)
    assert [problem.path for problem in changed.problems] == [f"{root}/log-start-offset-checkpoint"]
