"""The newest commits by hashes of many keys at once are those that a dict would have."""

import random

from kcli.kafka.coordinator.commit_table import Commit, CommitTable
from tests.groups import commit_key, commit_value, put_columns


def chosen(choose):
    group = "g" * choose.randrange(1, 30) + str(choose.randrange(40))
    key = commit_key(group, f"topic-{choose.randrange(9)}", choose.randrange(3))
    return key, commit_value(choose.randrange(1000), metadata="m" * choose.choice((0, 0, 90)))


def test_many_at_once_and_one_by_one_give_the_same():
    choose, table, expected, offset = random.Random("table"), CommitTable(), {}, 0
    for step in range(60):
        pairs = [chosen(choose) for _ in range(choose.randrange(1, 200))]
        if step % 3 == 2:
            for key, value in pairs:
                if choose.random() < 0.3:
                    popped = expected.pop(key[2:], None)
                    assert table.pop(key[2:]) == popped
                else:
                    expected[key[2:]] = Commit(offset, 0, value)
                    table.put(key[2:], expected[key[2:]])
                offset += 1
            continue
        records = put_columns(pairs)
        records.offset[:] = range(offset, offset + len(pairs))
        assert table.put_all(records)
        expected.update(
            (key[2:], Commit(offset + number, 0, value)) for number, (key, value) in enumerate(pairs)
        )
        offset += len(pairs)
    assert {key: table.get(key) for key in table} == expected
    assert table.get(b"none") is table.pop(b"none") is None


def test_keys_that_are_too_long_are_left_to_the_other_way():
    assert not CommitTable().put_all(put_columns([(commit_key("g" * 700, "t", 0), commit_value(1))]))
