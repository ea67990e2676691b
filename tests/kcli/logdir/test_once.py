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
