"""`kcli partition-for` and `kcli uuid`: words, rows, what is refused."""

import json

import pytest

TOPIC_ID = "u4NdSfWRQjaZ_ENyxMXLJA"


def rows(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["rows"]


def test_every_kind_has_its_topic(kcli):
    found = rows(
        kcli(
            *("partition-for", "-o", "json", "--partitions", "50"),
            *("--group", "group", "--transactional-id", "group", "--key", "foobar"),
            *("--topic-id", f"{TOPIC_ID}:7", "--share-group", f"a:b:{TOPIC_ID}:7"),
        )
    )

    assert [(row["kind"], row["topic"], row["partition"]) for row in found[:4]] == [
        ("key", None, (-790332482 & 0x7FFFFFFF) % 50),
        ("group", "__consumer_offsets", 98629247 % 50),
        ("transactional-id", "__transaction_state", 98629247 % 50),
        ("topic-id", "__remote_log_metadata", 18),
    ]
    assert (found[4]["topic"], found[4]["value"]) == ("__share_group_state", f"a:b:{TOPIC_ID}:7")


@pytest.mark.parametrize(
    ("form", "text", "written"),
    [
        ("int", "1633837924", "61626364"),
        ("base64", "YWJjZA==", "61626364"),
        ("string", "abcd", "61626364"),
        ("short", "12849", "3231"),
        ("short", "-2", "fffe"),
        ("int", "-2", "fffffffe"),
        ("long", "1", "0000000000000001"),
        ("long", "-2", "fffffffffffffffe"),
    ],
)
def test_a_key_is_the_bytes_that_its_serializer_writes(kcli, form, text, written):
    """The hash of "21" is that of Kafka's UtilsTest."""
    words = ("partition-for", "-o", "json", "--partitions", "9")
    (row,) = rows(kcli(*words, "--as", form, f"--key={text}"))
    (raw,) = rows(kcli(*words, "--as", "hex", f"--key={written}"))

    assert (row["hash"], row["value"]) == (raw["hash"], text)
    assert raw["hash"] == {"61626364": -1323649548, "3231": -973932308}.get(written, raw["hash"])


@pytest.mark.parametrize(
    "text",
    [TOPIC_ID, f"{TOPIC_ID}==", "bb835d49f591423699fc4372c4c5cb24", "BB835D49-f591-4236-99fc-4372c4c5cb24"],
)
def test_a_uuid_has_two_spellings(kcli, text):
    (row,) = rows(kcli("uuid", "-o", "json", text))

    assert row == {
        "uuid": TOPIC_ID,
        "hex": "bb835d49-f591-4236-99fc-4372c4c5cb24",
        "most_significant_bits": -4934998194433998282,
        "least_significant_bits": -7350926331568862428,
    }
