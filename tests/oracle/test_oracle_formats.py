"""The judge on bytes: names that are not UTF-8, a magic above 2."""

from __future__ import annotations

import base64

import pytest

from formats import remote_metadata
from formats.magic import is_valid
from formats.record import batch_records
from tests.builders import put_record, put_records
from tests.formats.remote_values import SEGMENT

from .oracle import Oracle, encoded

pytestmark = pytest.mark.oracle


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def test_a_name_that_is_not_utf_8_is_read_with_replacements(oracle: Oracle):
    value = (SEGMENT + bytes(3)).replace(b"foo", b"f\xff\xc3")
    (decoded,) = oracle.ask("rlmm_decode", values=[encoded(value)])["values"]
    assert decoded["topic"] == remote_metadata.decode(value).topic == "f\ufffd\ufffd"


def test_a_magic_above_2_is_read_as_2(oracle: Oracle):
    batch = put_records(
        [put_record(key=b"k", value=b"v"), put_record(offset_delta=1, headers=[(b"h", None)])]
    )
    expected = [(r.offset, r.timestamp, r.key, r.value) for r in batch_records(batch, 1 << 20)]
    for magic in (2, 3, 127):
        changed = batch[:16] + bytes([magic]) + batch[17:]
        answer = oracle.ask("records", bytes=encoded(changed))
        (kafka,) = answer["batches"]
        assert (answer["end"], kafka["magic"], kafka["is_valid"]) == (None, magic, is_valid(changed))
        records = [
            (r["offset"], r["timestamp"], decoded(r["key"]), decoded(r["value"])) for r in kafka["records"]
        ]
        read = [(r.offset, r.timestamp, r.key, r.value) for r in batch_records(changed, 1 << 20)]
        assert records == read == expected
