"""What is said of a value that an option cannot use: which it was, and which can be used."""

import pytest
from typer.testing import CliRunner

from commands.app import app


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ls --limit x", "'--limit': expected a whole number of at least 0, found 'x'"),
        ("ls --limit -1", "'--limit': expected a whole number of at least 0, found -1"),
        ("dump --max-batch-bytes 0", "expected a whole number from 1 to 2147483647, found 0"),
        (
            "ls --partition -1",
            "partition '-1': expected a whole number of at least 0, or a range such as 0-3",
        ),
        (
            "ls --partition 0-",
            "partition '0-': expected a whole number of at least 0, or a range such as 0-3",
        ),
        ("ls --partition 3-1", "partition '3-1': the range is empty; did you mean 1-3?"),
        ("dump --offsets 9..5", "--offsets 9..5: the range is empty; did you mean 5..9?"),
        ("dump --offsets x", "--offsets x: expected offsets such as 100..200, 100.., ..200 or 100"),
        ("dump --time 9..5", "--time 9..5: the range is empty, it ends before it begins"),
        ("rlmm partition --topic t", "No such option: --topic"),
        ("rlmm partition --jobs 2", "No such option: --jobs"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(tmp_path, words, message):
    done = CliRunner().invoke(app, [*words.split(), str(tmp_path)])
    assert done.exit_code == 2
    assert message in done.stderr.replace("\n", " ")
