"""What is named by several paths."""

import json

from tests.partitions import orders, put_range


def test_a_partition_that_is_named_twice_is_read_once_and_a_file_twice(kcli, tmp_path):
    directory = orders(tmp_path / "d", put_range(0, 3))
    (tmp_path / "link").symlink_to(directory)
    log = directory / f"{0:020d}.log"

    def rows(*words):
        return len(json.loads(kcli(*words, "-o", "json").stdout)["rows"])

    assert rows("ls", directory, f"{directory}/", tmp_path / "link", tmp_path / "d") == 1
    assert rows("dump", log, log) == 2 * rows("dump", log)
    assert rows("replica", "diff", directory, tmp_path / "link") == 1


def test_a_link_in_a_log_dir_is_a_partition_of_its_own(kcli, tmp_path):
    """A broker loads each name: two logs over the same files."""
    directory = orders(tmp_path / "d", put_range(0, 3))
    (tmp_path / "d" / "orders-7").symlink_to("orders-0")
    for words in ("ls", "check", "startup", "epoch show"):
        rows = json.loads(kcli(*words.split(), directory.parent, "-o", "json").stdout)["rows"]
        numbers = {row["partition"] for row in rows if row.get("topic") == "orders"}
        assert numbers == {0, 7}, words
