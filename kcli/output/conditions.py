"""The parts of a condition of `--where`: what kind of value each has, and how it is got of a row."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from kcli.rows import Column, Schema, Value
from kcli.times import TimeWordError, moment_ms

Values: TypeAlias = tuple[Value, ...]
Get: TypeAlias = Callable[[Values], Any]
"""Returns a value of a row; of a condition true, false or None for neither."""

NUMBER, TIME, TEXT, BYTES, FLAG, OBJECT, LIST, ANY, NULL = (
    "a number",
    "a time",
    "text",
    "bytes",
    "true or false",
    "an object",
    "a list",
    "of any kind",
    "null",
)
KINDS = {"int": NUMBER, "timestamp": TIME, "str": TEXT, "bytes": BYTES, "bool": FLAG}
ALIKE = {NUMBER: NUMBER, TIME: NUMBER}
SCHEMA_KINDS = {
    "integer": NUMBER,
    "number": NUMBER,
    "string": TEXT,
    "boolean": FLAG,
    "object": OBJECT,
    "array": LIST,
}

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
COMPUTE: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else None,
    "%": lambda a, b: (a % abs(b) if a >= 0 else -(-a % abs(b))) if b else None,
}


class WhereError(ValueError):
    """A condition that cannot be used; the message says where and why."""


class Node(NamedTuple):
    """A part of a condition: what kind of value it has, how to get it, and the value of a constant."""

    kind: str
    get: Get
    constant: Value = None
    of: Schema | None = None


def kind_of(column: Column) -> str:
    """Return what kind of value a column has."""
    return KINDS[column.kind] if column.nested is None else _schema_kind(column.nested)


def _schema_kind(schema: Schema) -> str:
    if "enum" in schema:
        return TEXT
    names = schema.get("type", ANY)
    (name, *others) = [one for one in ([names] if isinstance(names, str) else names) if one != "null"]
    if others or (name == "object" and not schema.get("properties")):
        return ANY
    return BYTES if "contentEncoding" in schema else SCHEMA_KINDS.get(name, ANY)


def field_of(node: Node, name: str, text: str) -> Node:
    """Return a key of an object."""
    known = (node.of or {}).get("properties")
    if node.kind not in {OBJECT, ANY}:
        raise WhereError(
            f"--where: {text}: {text.rpartition(f'.{name}')[0]} is {node.kind}, it has no fields"
        )
    if known and name not in known:
        raise WhereError(f"--where: {text}: no field {name!r}; there are {', '.join(known)}")
    schema = known[name] if known else None
    get = node.get

    def inside(values: Values) -> Any:
        outer = get(values)
        return outer.get(name) if isinstance(outer, dict) else None

    return Node(ANY if schema is None else _schema_kind(schema), inside, of=schema)


def constant(kind: str, value: Value) -> Node:
    """Return a value that is the same in every row."""
    return Node(kind, lambda _: value, value)


def unquoted(text: str) -> str:
    """Return the text in quotes; a quote in it is doubled."""
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote)


def moment(text: str, now_ms: int) -> int:
    """Return a time in epoch milliseconds."""
    try:
        return moment_ms(text, now_ms)
    except TimeWordError as error:
        raise WhereError(f"--where: {error}") from error


def as_condition(node: Node, text: str) -> Get:
    """Return how to get a part that must be a condition."""
    if node.kind not in {FLAG, NULL, ANY}:
        raise WhereError(f"--where {text!r}: a part of it is {node.kind}, and no condition; compare it")
    return node.get


def joined(parts: list[Node], text: str, *, ends_with: bool) -> Node:
    """Return `or`, which a true part ends, or `and`, which a false one ends; else a null makes it null."""
    gets = [as_condition(part, text) for part in parts]

    def both(values: Values) -> bool | None:
        answer: bool | None = not ends_with
        for get in gets:
            found = get(values)
            if found == ends_with:
                return ends_with
            if not isinstance(found, bool):
                answer = None
        return answer

    return Node(FLAG, both)


def negated(node: Node, text: str) -> Node:
    """Return `not`; of a null it is a null."""
    get = as_condition(node, text)

    def opposite(values: Values) -> bool | None:
        found = get(values)
        return not found if isinstance(found, bool) else None

    return Node(FLAG, opposite)


def null_test(node: Node, *, is_null: bool) -> Node:
    """Return `is null`, or `is not null`."""
    get = node.get
    return Node(FLAG, lambda values: (get(values) is None) is is_null)


def compared(word: str, left: Node, right: Node, text: str, now_ms: int) -> Node:
    """Return a comparison; one with the word null would never be true."""
    if NULL in {left.kind, right.kind}:
        raise WhereError(f"--where {text!r}: nothing is {word} null; write is null, or is not null")
    left, right = _fitting(left, right, now_ms), _fitting(right, left, now_ms)
    kinds = {ALIKE.get(node.kind, node.kind) for node in (left, right)} - {ANY, NULL}
    if len(kinds) > 1 or kinds & {OBJECT, LIST}:
        raise WhereError(f"--where {text!r}: {left.kind} is compared with {right.kind}")
    return Node(FLAG, _both(COMPARE[word], left.get, right.get))


def _fitting(node: Node, other: Node, now_ms: int) -> Node:
    """Return a text as the kind of value that it is compared with: a time, bytes."""
    if node.kind != TEXT or not isinstance(node.constant, str):
        return node
    if other.kind == TIME:
        return constant(TIME, moment(node.constant, now_ms))
    if other.kind == BYTES:
        return constant(BYTES, node.constant.encode())
    return node


def computed(word: str, left: Node, right: Node, text: str) -> Node:
    """Return a number made of two; null where one is null, and of a division by zero."""
    for node in (left, right):
        if node.kind not in {NUMBER, TIME, ANY, NULL}:
            raise WhereError(f"--where {text!r}: {word} is for numbers, and a part of it is {node.kind}")
    kinds = {left.kind, right.kind}
    kind = TIME if TIME in kinds and kinds != {TIME} else NUMBER
    return Node(kind, _both(COMPUTE[word], left.get, right.get))


def _both(work: Callable[[Any, Any], Any], left: Get, right: Get) -> Get:
    """Return what is made of two values; None where one is null, or they do not go together."""

    def both(values: Values) -> Any:
        one, other = left(values), right(values)
        if one is None or other is None:
            return None
        try:
            return work(one, other)
        except (TypeError, ArithmeticError):
            return None

    return both


def _text_of(node: Node, word: str, text: str) -> Get:
    """Return the text of a part; of bytes the UTF-8 in them."""
    if node.kind not in {TEXT, BYTES, ANY, NULL}:
        raise WhereError(f"--where {text!r}: {word} is for text, and a part of it is {node.kind}")
    get = node.get

    def text_of(values: Values) -> Any:
        found = get(values)
        return found.decode(errors="replace") if isinstance(found, bytes) else found

    return text_of


def like(node: Node, pattern: str, text: str) -> Node:
    """Return whether a whole text is like a pattern: `%` is any text, `_` one character."""
    wild = {"%": ".*", "_": "."}
    matches = re.compile("".join(wild.get(one) or re.escape(one) for one in pattern), re.DOTALL).fullmatch
    return _tested(_text_of(node, "like", text), lambda found: matches(found) is not None)


def contains(node: Node, part: str, text: str) -> Node:
    """Return whether a text has a part."""
    return _tested(_text_of(node, "contains", text), lambda found: part in found)


def _tested(get: Get, test: Callable[[str], bool]) -> Node:
    def tested(values: Values) -> bool | None:
        found = get(values)
        return test(found) if isinstance(found, str) else None

    return Node(FLAG, tested)


def length(node: Node, text: str) -> Node:
    """Return how many characters, bytes, items or fields there are."""
    if node.kind not in {TEXT, BYTES, LIST, OBJECT, ANY, NULL}:
        raise WhereError(f"--where {text!r}: len is for lists and texts, and a part of it is {node.kind}")
    get = node.get

    def count(values: Values) -> int | None:
        found = get(values)
        return len(found) if isinstance(found, (str, bytes, list, dict)) else None

    return Node(NUMBER, count)
