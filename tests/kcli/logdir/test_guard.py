"""Where kcli never writes: what counts as a log dir or a partition directory, at any depth."""

import pytest

from kcli.logdir.guard import log_dir_around
from tests.unprivileged import as_unprivileged


@pytest.mark.parametrize(
    "holds",
    [
        "meta.properties",
        "recovery-point-offset-checkpoint",
        ".kafka_cleanshutdown",
        "orders-0/00000000000000000000.log",
        "orders-0/00000000000000000000.index",
        "orders-0/leader-epoch-checkpoint",
        "orders-0/partition.metadata",
    ],
)
def test_no_place_in_a_directory_of_a_broker(tmp_path, holds):
    file = tmp_path / "data" / holds
    file.parent.mkdir(parents=True)
    file.touch()
    tmp_path.joinpath("link").symlink_to(file.parent)

    assert log_dir_around(str(file.parent)) == str(file.parent)
    assert log_dir_around(str(file.parent / "new" / "deep" / "rows.csv")) == str(file.parent)
    assert log_dir_around(str(tmp_path / "link" / "rows.csv")) == str(file.parent)
    assert log_dir_around(str(tmp_path / "rows.csv")) is None


@pytest.mark.parametrize(
    "holds",
    [".lock", "build-7/", "build-7/notes.txt", "build-7/.lock", "00000000000000000000.log"],
)
def test_a_directory_with_names_like_those_of_a_broker_may_be_written_to(tmp_path, holds):
    file = tmp_path / holds
    (file if holds.endswith("/") else file.parent).mkdir(exist_ok=True)
    if not holds.endswith("/"):
        file.touch()

    assert log_dir_around(str(tmp_path)) is None
    assert log_dir_around(str(file.parent / "rows.csv")) is None


def test_a_directory_that_cannot_be_listed_is_none_of_a_broker(tmp_path):
    closed = tmp_path / "tmux-0"
    closed.mkdir(mode=0o700)
    printed = as_unprivileged(
        "from kcli.logdir.guard import log_dir_around",
        "print(log_dir_around(sys.argv[1]), os.access(sys.argv[1], os.R_OK))",
        closed,
    )

    assert printed == "None False\n"
