"""Fields of batches in words."""

import pytest

from kcli.dump.annotated import attributes_text


@pytest.mark.parametrize(
    ("attributes", "magic", "said"),
    [
        (0, 2, "0 (none, CreateTime)"),
        (0x7B, 2, "123 (lz4, LogAppendTime, transactional, control, delete horizon)"),
        (0x87, 2, "135 (codec 7, CreateTime, unknown bits 0x80)"),
        (-1, 1, "-1 (codec 7, LogAppendTime, unknown bits 0xf0)"),
        (9, 0, "9 (gzip, unknown bits 0x8)"),
    ],
)
def test_attributes(attributes, magic, said):
    assert attributes_text(attributes, magic) == said
