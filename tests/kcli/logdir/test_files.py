"""A file's siblings of the same segment."""

from kcli.logdir.files import file_name, index_file, sibling
from kcli.logdir.find import file_target


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


def test_the_index_of_a_segment_is_the_one_that_a_start_takes(tmp_path):
    log = file_target(str(tmp_path / "7.log"))

    def index(target=log):
        found = index_file(target, "index")
        assert (found.kind, found.shown) == ("index", found.path)
        return found.path.removeprefix(f"{tmp_path}/")

    (tmp_path / "7.index").write_bytes(b"")
    assert index() == "7.index"
    assert index(file_target(str(tmp_path / "7.log.swap"))) == "7.index.swap"
    (tmp_path / "7.index.swap").write_bytes(b"")
    assert index() == "7.index.swap"
    (tmp_path / "6.log.cleaned").write_bytes(b"")  # then a start deletes the swap
    assert index() == "7.index"
