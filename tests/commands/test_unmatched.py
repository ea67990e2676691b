"""Nothing matches what was asked for: one line says so, with what was left out or may have been meant."""

import pytest

from tests.partitions import log_dir, put_range, segment

LEFTOVER = "orders-0.0123456789abcdef0123456789abcdef-delete"


@pytest.fixture
def root(tmp_path):
    return log_dir(tmp_path / "data")


def said(kcli, *words):
    done = kcli("epoch", "show", *words)
    assert (done.exit_code, done.stdout) == (3, "")
    return " ".join(done.stderr.split())


def test_leftovers_that_are_left_out_are_counted(kcli, root):
    segment(root / LEFTOVER, 0, put_range(0, 2))

    assert "1 -delete, -stray or -future left out; --include-leftovers reads them" in said(kcli, root)
    assert kcli("epoch", "show", "--include-leftovers", root).exit_code == 0


def test_without_leftovers_there_is_no_hint(kcli, root):
    assert "--include-leftovers" not in said(kcli, root)


def test_a_topic_of_a_similar_name_is_proposed(kcli, root):
    segment(root / "orders-0", 0, put_range(0, 2))

    assert "did you mean orders?" in said(kcli, "--topic", "order", root)
