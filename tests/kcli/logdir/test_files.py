"""A file's siblings of the same segment."""

from kcli.logdir.files import file_name, sibling
from kcli.logdir.tree import file_target


def test_a_sibling_has_the_suffix_of_the_file(tmp_path):
    for name in ("7.log", "7.index", "7.log.deleted"):
        (tmp_path / name).write_bytes(b"")

    assert sibling(file_target(str(tmp_path / "7.log")), "index") == f"{tmp_path}/7.index"
    assert sibling(file_target(str(tmp_path / "7.log")), "timeindex") is None
    assert sibling(file_target(str(tmp_path / "7.log.deleted")), "index") is None


def test_the_name_of_a_target_says_its_offset(tmp_path):
    path = tmp_path / "00000000000000000007.log"
    path.write_bytes(b"")

    assert file_name(file_target(str(path))).base_offset == 7
