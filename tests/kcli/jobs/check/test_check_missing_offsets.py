"""Offsets that no batch holds, by the topic's policy: `check`, `salvage`, `replica diff` agree."""

import json
import os
import shutil

import pytest

from tests.partitions import log_dir, put_range, segment
from tests.recordings import pack

pytestmark = pytest.mark.slow

MIDDLE = 29
"""The base offset of the second segment of orders-0 in the demo."""


def found(kcli, *words):
    return json.loads(kcli("check", "-o", "json", *words).stdout)


def test_a_missing_segment_is_an_error_where_the_metadata_says_that_nothing_is_compacted(kcli, tmp_path):
    pack.unpack("single", tmp_path)
    root = tmp_path / "single" / "stopped"
    for topic in ("codecs", "compacted"):
        for base in (0, 40):
            segment(root / f"{topic}-9", base, put_range(base, 20))

    def codes():
        findings = found(kcli, root, "--partition", "9")["findings"]
        holes = {"LOG-022", "LOG-023"}
        return sorted(
            (os.path.basename(finding["dir"]), finding["code"])
            for finding in findings
            if finding["code"] in holes
        )

    assert codes() == [("codecs-9", "LOG-023")]
    for place in (root, root.parent / "running"):  # of the same broker: it is found there, too
        shutil.rmtree(place / "__cluster_metadata-0")
    assert codes() == [("codecs-9", "LOG-022"), ("compacted-9", "LOG-022")]


def test_where_a_topic_is_not_compacted_every_hole_is_missing_offsets(kcli, tmp_path):
    """Not only the one between segments; where the policy is not known, several holes may be compaction."""
    pack.unpack("single", tmp_path)
    root = tmp_path / "single" / "stopped"
    other = shutil.copytree(root, tmp_path / "other")
    for base in (0, 40, 80):
        batches = [put_range(base + more, 5) for more in (0, 5, 10)]
        segment(other / "codecs-9", base, b"".join(batches))
        segment(root / "codecs-9", base, b"".join(batches[::2] if base == 40 else batches[2:]))

    def holes():
        codes = {"LOG-022", "LOG-023"}
        findings = found(kcli, root, "--topic", "codecs", "--partition", "9")["findings"]
        done = kcli("replica", "diff", root / "codecs-9", other / "codecs-9", "-o", "json")
        verdicts = {row["verdict"] for row in json.loads(done.stdout)["rows"]}
        return sorted(finding["code"] for finding in findings if finding["code"] in codes), verdicts

    assert holes() == (["LOG-023"] * 5, {"equal", "only-there"})
    for place in (root, other, root.parent / "running"):
        shutil.rmtree(place / "__cluster_metadata-0")
    assert holes() == (["LOG-022"], {"equal", "compacted"})


def test_missing_offsets_are_found_where_no_cleaner_takes_records(kcli, tmp_path):
    """Of a directory alone, its log dir cannot tell what was cleaned."""
    root = log_dir(tmp_path / "data")
    for topic in ("orders", "__consumer_offsets", "__transaction_state"):
        segment(root / f"{topic}-0", 0, put_range(0, 5) + put_range(9, 5))
        segment(root / f"{topic}-1", 0, put_range(0, 5))
        segment(root / f"{topic}-1", 9, put_range(9, 5))
    for number in (0, 1):
        shutil.copytree(root / f"orders-{number}", tmp_path / "alone" / f"orders-{number}")

    def holes(*paths):
        documents = [found(kcli, path) for path in paths]
        codes = {"LOG-022", "LOG-023"}
        return {
            (os.path.basename(finding["dir"]), finding["code"])
            for document in documents
            for finding in document["findings"]
            if finding["code"] in codes
        }

    assert holes(root) == {("orders-0", "LOG-022"), ("orders-1", "LOG-022")}
    assert holes(tmp_path / "alone" / "orders-0", tmp_path / "alone" / "orders-1") == set()


def test_no_segment_of_a_metadata_log_is_compacted(kcli, tmp_path):
    pack.unpack("single", tmp_path)
    root = tmp_path / "single" / "stopped"
    directory = root / "__cluster_metadata-0"
    segment(directory, 10_000, put_range(10_000, 5))
    for path in ("check", "salvage"):
        words = ("--out", tmp_path / "out") if path == "salvage" else ()
        done = kcli(path, directory, *words, "-o", "json")
        codes = {finding["code"] for finding in json.loads(done.stdout)["findings"]}
        assert codes & {"LOG-022", "LOG-023", "SALV-010", "SALV-011"} == {
            "SALV-010" if words else "LOG-023"
        }, path


def renamed(directory, base, other):
    for extension in ("log", "index", "timeindex"):
        os.rename(directory / f"{base:020}.{extension}", directory / f"{other:020}.{extension}")


@pytest.mark.parametrize("other", [MIDDLE - 3, MIDDLE - 1])
def test_of_a_segment_with_a_lower_name_the_offsets_are_in_the_one_before(kcli, demo, tmp_path, other):
    directory = shutil.copytree(demo, tmp_path / "data") / "orders-0"
    renamed(directory, MIDDLE, other)
    holes = [
        finding for finding in found(kcli, directory)["findings"] if finding["code"] in {"LOG-022", "LOG-023"}
    ]
    cause = f"the segment of offset {other} begins with 29: those before 29 are in the segment before, where "
    findings = [(finding["code"], finding["message"]) for finding in holes]
    assert findings == [("LOG-022", cause + "no fetch looks")]


def test_the_policy_may_be_known_only_by_the_metadata_log_of_another_log_dir(kcli, tmp_path):
    """Of the same broker, named beside it."""
    pack.unpack("single", tmp_path)
    root = tmp_path / "single" / "stopped"
    other = tmp_path / "other"
    other.mkdir()
    for name in ("meta.properties", ".kafka_cleanshutdown"):
        shutil.copy(root / name, other / name)
    for base in (0, 40):
        segment(other / "codecs-9", base, put_range(base, 5) + put_range(base + 9, 5))

    def of_check(*paths):
        codes = {"LOG-022", "LOG-023"}
        return [finding["code"] for finding in found(kcli, *paths)["findings"] if finding["code"] in codes]

    def of_salvage(number, *paths):
        done = kcli("salvage", *paths, "--partition", "9", "--out", tmp_path / f"out{number}", "-o", "json")
        codes = {"SALV-010", "SALV-011"}
        return [
            finding["code"] for finding in json.loads(done.stdout)["findings"] if finding["code"] in codes
        ]

    words = (other, "--topic", "codecs", "--partition", "9")
    assert of_check(*words) == ["LOG-022"]
    assert of_check(root, *words) == ["LOG-023"] * 3
    assert of_salvage(1, other) == ["SALV-011"]
    assert of_salvage(2, root, other) == ["SALV-010"] * 3


def test_a_log_that_somebody_packed_is_not_lost(kcli, demo, tmp_path):
    directory = shutil.copytree(demo, tmp_path / "data") / "orders-0"
    log = directory / f"{MIDDLE:020}.log"
    os.rename(log, f"{log}.gz")
    (finding,) = [finding for finding in found(kcli, directory)["findings"] if finding["code"] == "IDX-011"]
    assert f"the log is {log.name}.gz: unpack it" in finding["message"]


def test_a_lost_segment_is_named_beside_the_one_that_the_cleaner_replaced(kcli, demo, tmp_path):
    """Not so where a deletion was interrupted: it renames the log first, then its indexes."""
    directory = shutil.copytree(demo, tmp_path / "data") / "orders-0"
    log = directory / f"{MIDDLE:020}.log"
    os.rename(log, f"{log}.deleted")

    def of_check():
        return [
            finding["code"] for finding in found(kcli, directory)["findings"] if finding["code"] == "IDX-011"
        ]

    assert of_check() == []
    for extension in ("index", "timeindex"):
        index = log.with_suffix(f".{extension}")
        shutil.copy(index, f"{index}.deleted")
    assert of_check() == ["IDX-011"]
    done = kcli("salvage", directory, "--out", tmp_path / "out", "-o", "json")
    assert "SALV-010" in {finding["code"] for finding in json.loads(done.stdout)["findings"]}
