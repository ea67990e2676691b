"""Totals of the files of a partition."""

from kcli.kafka.integrity import inventory


def test_totals():
    files = [
        ("log", 10, 4096, False),
        ("log", 5, 0, True),
        ("index", 8, 512, False),
        ("timeindex", 3, 0, False),
    ]
    files += [("txnindex", 1, 0, False), ("snapshot", 7, 512, False), ("unknown", 9, 0, False)]
    assert inventory.totals(inventory.EntrySize(*file) for file in files) == (15, 12, 16, 5120, 1)
    assert inventory.totals([]) == (0, 0, 0, 0, 0)
    assert inventory.checkpointed(None, "t", 0) is inventory.checkpointed({}, None, None) is None
