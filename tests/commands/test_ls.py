"""`kcli ls` on the command line."""

from tests.commands.answers import ask
from tests.partitions import orders, put_range, segment


def test_leftovers_are_listed_too(tmp_path):
    directory = orders(tmp_path / "d", put_range(0, 3))
    segment(tmp_path / "d" / "orders-3.0123456789abcdef0123456789abcdef-delete", 0)
    answer, status = ask("ls", directory.parent)
    assert [(row["partition"], row["log_end_offset"], row["state"]) for row in answer["rows"]] == [
        (0, 3, "normal"),
        (3, 0, "delete"),
    ]
    assert status == 0


def two_log_dirs(tmp_path, first_id, second_id):
    for name, directory_id in (("d0", first_id), ("d1", second_id)):
        orders(tmp_path / name, put_range(0, 3))
        lines = ("version=1", "cluster.id=x", "node.id=1", f"directory.id={directory_id}")
        (tmp_path / name / "meta.properties").write_text("\n".join(lines))
    return tmp_path / "d0", tmp_path / "d1"


def test_a_partition_in_two_log_dirs_of_a_broker(tmp_path):
    first, second = two_log_dirs(tmp_path, "AAAAAAAAAAAAAAAAAAAAZw", "AAAAAAAAAAAAAAAAAAAAaA")
    for command in ("ls", "scan", "check"):
        answer, status = ask(command, first, second)
        found = [finding for finding in answer["findings"] if finding["code"] == "START-009"]
        paths = [finding["path"] or finding["dir"] for finding in found]
        assert (paths, status) == ([str(second / "orders-0")], 1)
        assert "IllegalStateException" in found[0]["message"]
    assert ask("ls", second)[1] == 0
