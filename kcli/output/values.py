"""How single values are written: JSON, cells of csv and tsv, timestamps for people."""

import base64
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

from kcli.kafka.findings.findings import Finding
from kcli.rows.declare import Value

NULL = r"\N"
"""A null in tsv, as in the dumps of databases."""


def _encode(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    from decimal import Decimal

    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


@cache
def _encoder(separators: tuple[str, str] | None) -> Callable[[Any], str]:
    import json

    return json.JSONEncoder(ensure_ascii=False, separators=separators, default=_encode).encode


def compact(value: Any) -> str:
    """Return compact JSON; bytes are base64."""
    return _encoder((",", ":"))(value)


def spaced(value: Any) -> str:
    """Return one line of JSON with spaces, as the json document has them."""
    return _encoder(None)(value)


def cell(value: Value) -> str:
    """Return a value as the text of one cell of tsv or a table, not yet escaped."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return _encode(value)
    return compact(value) if isinstance(value, (list, dict)) else str(value)


_TSV_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def tsv_cell(value: Value, null: str = NULL) -> str:
    r"""Return a value as a tsv cell: tab, line ends and backslash escaped; a null is an unescaped `\N`."""
    return null if value is None else tsv_escaped(cell(value))


def tsv_escaped(text: str) -> str:
    """Return text that fits in a tsv cell."""
    return text.translate(_TSV_ESCAPES)


_QUOTED = frozenset(',"\r\n')


def csv_cell(value: Value, null: str = "") -> str:
    """Return a csv cell, quoted where needed, as a text spelt like `null`; an empty text is `""`."""
    if value is None:
        return null
    text = cell(value)
    is_quoted = needs_quotes(text) or (text == null and isinstance(value, str))
    return '"' + text.replace('"', '""') + '"' if is_quoted else text


def needs_quotes(text: str) -> bool:
    """Whether a csv cell of this text, which is no null, is quoted."""
    return not text or not _QUOTED.isdisjoint(text)


_CONTROLS = {code: f"\\x{code:02x}" for code in [*range(0x20), *range(0x7F, 0xA0)]}
_SHAPING = {
    code: f"\\u{code:04x}" for code in (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Separators of lines and paragraphs, and what turns the direction of the text after it."""
_ONE_LINE = {**_CONTROLS, **_SHAPING, ord("\t"): r"\t", ord("\n"): r"\n", ord("\r"): r"\r"}


def one_line(text: str) -> str:
    """Return text whose control characters cannot break a line or move a terminal's cursor."""
    return text.translate(_ONE_LINE)


def iso(timestamp: int) -> str | None:
    """Return epoch milliseconds as ISO-8601 in UTC; None outside the years 1 to 9999."""
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


FINDING_KEYS = ("code", "severity", "message", "dir", "file", "path", "position", "expected", "found")
_FINDING_FIELDS = attrgetter(*FINDING_KEYS[:5], "place", *FINDING_KEYS[6:])


def finding_values(finding: Finding) -> dict[str, Value]:
    """Return a finding with the keys of the contract."""
    return dict(zip(FINDING_KEYS, _FINDING_FIELDS(finding), strict=True))
