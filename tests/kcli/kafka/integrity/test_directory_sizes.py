"""Totals of the files of a partition."""

from kcli.kafka.integrity import directory_sizes


def test_totals():
    files = [
        ("log", 10, 4096, False),
        ("log", 5, 0, True),
        ("index", 8, 512, False),
        ("timeindex", 3, 0, False),
    ]
    files += [("txnindex", 1, 0, False), ("snapshot", 7, 512, False), ("unknown", 9, 0, False)]
    assert directory_sizes.totals(directory_sizes.EntrySize(*file) for file in files) == (15, 12, 16, 5120, 1)
    assert directory_sizes.totals([]) == (0, 0, 0, 0, 0)
    assert directory_sizes.checkpointed(None, "t", 0) is directory_sizes.checkpointed({}, None, None) is None
