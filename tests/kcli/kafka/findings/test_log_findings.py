"""Findings about batches: `scan`, `dump` and `check` say the same of the same bytes."""

import json
import random
import struct

import pytest

from kcli.kafka.findings.log_findings import ABOVE, BELOW
from tests.messages import put_message, put_set
from tests.partitions import log_dir, put_range, segment

pytestmark = pytest.mark.slow

BASE = 5
FIRST, LAST = 0, -1
FLIPPED = {"sign": 7 * 8 + 7, "high byte": 5 * 8 + 1, "bit 31": 31, "bit 32": 32}
"""Bits of a base offset, from the lowest on."""


def batches(kind):
    if kind == "2":
        return [put_range(BASE + 2 * at, 2) for at in range(4)]
    if kind == "2, compressed":
        return [put_range(BASE + 2 * at, 2, codec=1) for at in range(4)]
    magic = int(kind[0])
    if "wrapper" in kind:
        return [put_set(BASE + 2 * at, (1, 2), magic=magic) for at in range(4)]
    return [put_message(BASE + at, magic, 1000, value=b"v") for at in range(4)]


def flipped(batch, bit):
    (offset,) = struct.unpack_from(">q", batch)
    return ((offset ^ 1 << bit) & (1 << 64) - 1).to_bytes(8, "big") + batch[8:]


def said(kcli, *words):
    done = kcli(*words, "-o", "json")
    found = json.loads(done.stdout)["findings"]
    assert (done.exit_code != 0) == any(finding["severity"] == "error" for finding in found)
    return [
        (finding["position"], finding["message"], finding.get("more"))
        for finding in found
        if finding["code"] in {ABOVE, BELOW}
    ]


@pytest.mark.parametrize("bit", FLIPPED.values(), ids=FLIPPED)
@pytest.mark.parametrize("number", [FIRST, 1, LAST], ids=["first", "second", "last"])
@pytest.mark.parametrize("kind", ["0", "1", "0, wrapper", "1, wrapper", "2", "2, compressed"])
def test_scan_dump_and_check_report_the_same_offset_out_of_reach(kcli, tmp_path, kind, number, bit):
    logs = batches(kind)
    logs[number] = flipped(logs[number], bit)
    directory = log_dir(tmp_path / "data") / "t-0"
    segment(directory, BASE, b"".join(logs))
    expected = said(kcli, "check", directory)

    assert [finding[0] for finding in expected] == [sum(map(len, logs[: range(4)[number]]))]
    assert said(kcli, "scan", directory) == expected
    assert said(kcli, "scan", "--no-verify", directory / f"{BASE:020}.log") == expected
    assert said(kcli, "dump", "--only", "dump_batch", directory) == expected
    assert said(kcli, "dump", "--records", "--only", "dump_record", directory) == expected


def test_a_file_of_another_name_is_no_segment_with_a_base_offset(kcli, tmp_path):
    for name in (f"{9:020}.log.deleted", f"{9:020}-{3:010}.checkpoint"):
        (tmp_path / name).write_bytes(put_range(0, 2))

        assert said(kcli, "scan", tmp_path / name) == said(kcli, "dump", tmp_path / name) == []


def test_a_batch_of_a_wrong_checksum_is_not_believed(kcli, tmp_path):
    directory = log_dir(tmp_path / "data") / "t-0"
    segment(directory, BASE, put_range(0, 2)[:-1] + b"?" + put_range(BASE, 2))

    for command in ("scan", "dump", "check"):
        assert said(kcli, command, directory) == []


def test_a_scan_takes_the_quick_look_only_where_dump_finds_none(kcli, tmp_path):
    choose = random.Random(18)
    directory = log_dir(tmp_path / "data") / "t-0"
    offsets = (
        0,
        BASE - 1,
        BASE,
        BASE + 3,
        2**31 - 1,
        2**31,
        BASE + 2**31 - 1,
        BASE + 2**31,
        2**62,
        2**63 - 1,
    )
    for _ in range(150):
        bases = choose.choices(offsets, k=choose.randrange(1, 5))
        bases = sorted(bases) if choose.random() < 0.7 else bases
        deltas = (choose.choice((0, 0, 1, 5, -1, -9, 2**31 - 1)) for _ in bases)
        logs = [
            put_range(base, 1, last_offset_delta=delta) for base, delta in zip(bases, deltas, strict=True)
        ]
        segment(directory, BASE, b"".join(logs))
        expected = said(kcli, "dump", "--only", "dump_batch", directory)

        assert said(kcli, "scan", directory) == expected, bases
