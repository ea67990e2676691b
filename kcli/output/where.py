"""`--where`: a condition on the columns of a row, as in SQL.

    size < 200 and is_transactional
    topic == 'orders' or compression in ('zstd', 'lz4')
    high_watermark < log_end_offset - 100 and latest_epoch is not null
    max_timestamp >= '2026-01-31' and file like '%.log'

| words                                       | about                                                    |
|---------------------------------------------|----------------------------------------------------------|
| `and`, `or`, `not`, `( )`                   | conditions                                               |
| `=`, `==`, `!=`, `<>`, `<`, `<=`, `>`, `>=` | numbers, texts; a time with `1h` (ago), `'today'` too     |
| `in (A, B)`, `not in`, `between A and B`    |                                                          |
| `is null`, `is not null`                    | a comparison with the word null is refused               |
| `like 'a%'`, `contains 'a'`                 | texts; `%` is any text, `_` one character                |
| `+`, `-`, `*`, `/`, `%`                     | numbers                                                  |
| `column.field`, `len(column)`               | nested objects, texts and lists                          |

As in SQL a comparison with a null is neither true nor false, and a row is shown where the condition is true.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from kcli.output.conditions import (
    ANY,
    COMPARE,
    FLAG,
    NULL,
    NUMBER,
    TEXT,
    TIME,
    Node,
    Values,
    WhereError,
    as_condition,
    compared,
    computed,
    constant,
    contains,
    field_of,
    joined,
    kind_of,
    length,
    like,
    moment,
    negated,
    null_test,
    unquoted,
)
from kcli.rows import RowType

Test: TypeAlias = Callable[[Values], bool]

LONGEST = 10_000
DEEPEST = 50
MOST_COMPUTATIONS = 100
DIGITS = 40
LISTED = 1000
"""Values of `in`."""

CONSTANTS = {
    "true": constant(FLAG, True),
    "false": constant(FLAG, False),
    "null": constant(NULL, None),
    "none": constant(NULL, None),
}
KEYWORDS = frozenset(
    {"and", "or", "not", "in", "is", "null", "none", "like", "contains", "between", "true", "false"}
)
TOKEN = re.compile(
    r"""\s*(?:
    (?P<time>@[-+][0-9a-z]+|(?:[0-9]+(?:ms|[smhdw]))+)(?!\w)
  | (?P<number>[0-9]+(?:\.[0-9]+)?)(?![\w.])
  | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
  | (?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|`[^`]+`)
  | (?P<sign>==|!=|<>|<=|>=|[-=<>+*/%(),])
  | (?P<end>$)
    )""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """A word of a condition: its kind, its text, and where it begins."""

    kind: str
    text: str
    at: int


class Condition(NamedTuple):
    """A condition, and the time that it was given, to which words such as `1h` are relative."""

    text: str
    now_ms: int


def keeps(where: Condition, row_type: RowType) -> Test:
    """Return the test of a row's values; WhereError with a line for a condition that cannot be used.

    A column that the type lacks is null.
    """
    get = as_condition(_Parser(where, row_type).whole(), where.text)
    return lambda values: get(values) is True


def columns_of(text: str) -> list[str]:
    """Return the names of columns in a condition, each once."""
    tokens = list(_tokens(text))
    names = [
        token.text.strip("`") if token.text.startswith("`") else token.text.partition(".")[0]
        for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True)
        if token.kind == "name" and not (token.text == "len" and after.text == "(")
    ]
    return list(dict.fromkeys(names))


def _tokens(text: str) -> Iterator[Token]:
    if len(text) > LONGEST:
        raise WhereError(f"--where: a condition of {len(text)} characters; at most {LONGEST}")
    at = 0
    while True:
        found = TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            rest = text[at:].strip()
            raise WhereError(f"--where {text!r}: {_excerpt(rest)} is no part of a condition")
        kind, word = found.lastgroup, found[found.lastgroup]
        if kind == "name" and word.lower() in KEYWORDS:
            kind, word = "word", word.lower()
        yield Token(kind, word, found.start(found.lastgroup))
        if kind == "end":
            return
        at = found.end()


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 20 else f"{text[:20]}...")


class _Parser:
    """Reads a condition by recursive descent: or, and, not, comparison, sum, product, sign, value."""

    def __init__(self, where: Condition, row_type: RowType) -> None:
        self.text, self.now_ms = where
        self.tokens = list(_tokens(self.text))
        self.at = 0
        self.depth = 0
        self.computations = 0
        self.columns = {column.name: (place, column) for place, column in enumerate(row_type.columns)}

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self, *words: str) -> str | None:
        """Pass the next word if it is one of these."""
        token = self.next
        if token.kind in {"word", "sign"} and token.text in words:
            self.at += 1
            return token.text
        return None

    def error(self, expected: str) -> WhereError:
        found = "the end" if self.next.kind == "end" else f"{self.next.text!r} at {self.next.at + 1}"
        return WhereError(f"--where {self.text!r}: expected {expected}, found {found}")

    def expect(self, word: str) -> None:
        if self.take(word) is None:
            raise self.error(word)

    def whole(self) -> Node:
        node = self.any_of()
        if self.next.kind != "end":
            raise self.error("and, or, or the end")
        return node

    def any_of(self) -> Node:
        parts = [self.all_of()]
        while self.take("or"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else joined(parts, self.text, ends_with=True)

    def all_of(self) -> Node:
        parts = [self.negation()]
        while self.take("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else joined(parts, self.text, ends_with=False)

    def negation(self) -> Node:
        times = 0
        while self.take("not"):
            times += 1
        node = self.comparison()
        return negated(node, self.text) if times % 2 else node

    def comparison(self) -> Node:
        left = self.sum()
        if self.take("is"):
            is_not = self.take("not")
            if not self.take("null", "none"):
                raise self.error("null or not null")
            return null_test(left, is_null=not is_not)
        is_not = self.take("not")
        if self.take("in"):
            found = joined(
                [self._compared("=", left, item) for item in self._list()], self.text, ends_with=True
            )
        elif self.take("like"):
            found = like(left, self._pattern("like"), self.text)
        elif self.take("contains"):
            found = contains(left, self._pattern("contains"), self.text)
        elif self.take("between"):
            low = self.sum()
            self.expect("and")
            parts = [self._compared(">=", left, low), self._compared("<=", left, self.sum())]
            found = joined(parts, self.text, ends_with=False)
        elif is_not:
            raise self.error("in, like, contains or between")
        elif word := self.take(*COMPARE):
            return self._compared(word, left, self.sum())
        else:
            return left
        return negated(found, self.text) if is_not else found

    def _compared(self, word: str, left: Node, right: Node) -> Node:
        return compared(word, left, right, self.text, self.now_ms)

    def _list(self) -> list[Node]:
        self.expect("(")
        items = [self.sum()]
        while self.take(","):
            if len(items) >= LISTED:
                raise WhereError(f"--where: more than {LISTED} values in a list")
            items.append(self.sum())
        self.expect(")")
        return items

    def _pattern(self, word: str) -> str:
        token = self.next
        if token.kind != "text":
            raise self.error(f"a text, as in {word} 'a'")
        self.at += 1
        return unquoted(token.text)

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise WhereError(f"--where: a condition nested more than {DEEPEST} deep")
        node = self.product()
        while word := self.take("+", "-"):
            node = self._computed(word, node, self.product())
        self.depth -= 1
        return node

    def _computed(self, word: str, left: Node, right: Node) -> Node:
        self.computations += 1
        if self.computations > MOST_COMPUTATIONS:
            raise WhereError(f"--where: more than {MOST_COMPUTATIONS} computations")
        return computed(word, left, right, self.text)

    def product(self) -> Node:
        node = self.signed()
        while word := self.take("*", "/", "%"):
            node = self._computed(word, node, self.signed())
        return node

    def signed(self) -> Node:
        times = 0
        while self.take("-"):
            times += 1
        node = self.value()
        return self._computed("-", constant(NUMBER, 0), node) if times % 2 else node

    def value(self) -> Node:
        if self.take("("):
            node = self.any_of()
            self.expect(")")
            return node
        token = self.next
        self.at += 1
        if token.kind == "name":
            if token.text != "len" or not self.take("("):
                return self._column(token.text)
            inside = self.sum()
            self.expect(")")
            return length(inside, self.text)
        found = self._constant(token)
        if found is None:
            self.at -= 1
            raise self.error("a column or a value")
        return found

    def _constant(self, token: Token) -> Node | None:
        """Return the value that a word is; None for one that is none."""
        if token.kind == "number":
            if len(token.text) > DIGITS:
                raise WhereError(f"--where: {_excerpt(token.text)} is too long for a number")
            is_whole = token.text.isdecimal()
            return constant(NUMBER, int(token.text) if is_whole else float(token.text))
        if token.kind == "text":
            return constant(TEXT, unquoted(token.text))
        if token.kind == "time":
            return constant(TIME, moment(token.text, self.now_ms))
        return CONSTANTS.get(token.text) if token.kind == "word" else None

    def _column(self, text: str) -> Node:
        name, *fields = [text.strip("`")] if text.startswith("`") else text.split(".")
        if name not in self.columns:
            return constant(ANY, None)
        place, column = self.columns[name]
        node = Node(kind_of(column), lambda values: values[place], of=column.nested)
        for field in fields:
            node = field_of(node, field, text)
        return node
