"""`--where`: a condition on the columns of a row, read by Python's own parser: `size < 200 and topic = 'a'`.

Column names, numbers, texts, comparisons (`=` is `==`), `in (...)`, `is null`, `and`, `or` and `not` are
allowed, and nothing else. A text that is compared with a time is a word of `kcli.words`, with bytes UTF-8. As
in SQL a comparison with a null is neither true nor false; a row is shown where the condition is true.
"""

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from kcli.rows.declare import RowType, Value
from kcli.words import WordError, moment_ms

Get: TypeAlias = Callable[[tuple[Value, ...]], Any]
KIND_TEXT = {"int": "a number", "timestamp": "a number", "float": "a number", "str": "text", "bytes": "bytes"}
KIND_TEXT |= {"bool": "a boolean", "NoneType": "null"}
TESTS = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le}
TESTS |= {ast.Gt: operator.gt, ast.GtE: operator.ge}
TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|@[-+]\w+|\w+|[<>!=]=|<>|.""", re.DOTALL)
TIME_TOKEN = re.compile(r"@[-+]\w+|([0-9]+(ms|[smhdw]))+")
WORDS = {"=": "==", "<>": "!=", "null": "None", "true": "True", "false": "False"}
WORDS |= {keyword: keyword for keyword in ("and", "or", "not", "in", "is")}
ALLOWED = "expected columns, numbers and texts with comparisons, in (...), is null, and, or, not"
UNDECIDED = 0.5
"""Neither true nor false; so `and` is the least, `or` the largest of its parts."""
LONGEST_CONDITION = 2000
"""Characters, and so a bound on how deep it is nested."""


class WhereError(ValueError):
    """A condition that cannot be used; the message says where and why."""


class Condition(NamedTuple):
    """A condition, and the time that it was given, to which words such as `1h` are relative."""

    text: str
    now_ms: int


def columns_of(text: str) -> list[str]:
    """Return the names of columns in a condition; WhereError where Python cannot read it."""
    return [node.id for node in ast.walk(_parse(text)[0]) if isinstance(node, ast.Name)]


def keeps(where: Condition, row_type: RowType) -> Callable[[tuple[Value, ...]], bool]:
    """Return the test of values, where a column that the type lacks is null; WhereError if there is none."""
    tree, positions = _parse(where.text)
    columns = {column.name: (number, column.kind) for number, column in enumerate(row_type.columns)}
    get = _Compiler(where, positions, columns).condition(tree)
    return lambda values: get(values) == 1


class _Compiler(NamedTuple):
    """Makes functions of the parts of a condition; `columns` have their number and kind in a row."""

    where: Condition
    positions: list[int]
    columns: dict[str, tuple[int, str]]

    def refused(self, node: ast.expr, reason: str = ALLOWED) -> WhereError:
        return WhereError(f"--where {self.where.text!r}: at {self.positions[node.col_offset]}: {reason}")

    def condition(self, node: ast.expr) -> Get:
        """Return what gives 1 for true, 0 for false, UNDECIDED for neither."""
        match node:
            case ast.BoolOp(op=operation, values=operands):
                return _joined(max if isinstance(operation, ast.Or) else min, map(self.condition, operands))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return _negated(self.condition(operand))
            case ast.Compare(left=left, ops=operations, comparators=rights):
                return _joined(min, map(self.comparison, operations, [left, *rights], rights))
        kind, get = self.value(node)
        if kind not in {None, "a boolean"}:
            raise self.refused(node, f"this is {kind}, and no condition; compare it")
        return lambda values: value if isinstance(value := get(values), bool) else UNDECIDED

    def comparison(self, operation: ast.cmpop, left: ast.expr, right: ast.expr) -> Get:
        """Return what compares two values; UNDECIDED where one is null."""
        match operation, right:
            case (ast.NotIn() | ast.IsNot(), _):
                positive = ast.In() if isinstance(operation, ast.NotIn) else ast.Is()
                return _negated(self.comparison(positive, left, right))
            case (ast.In(), ast.Tuple(elts=items)):
                return _joined(max, (self.comparison(ast.Eq(), left, item) for item in items))
            case (ast.In(), ast.Constant()):
                return self.comparison(ast.Eq(), left, right)
            case (ast.Is(), ast.Constant(value=None)):
                get = self.value(left)[1]
                return lambda values: get(values) is None
        (kind, get), (other_kind, other_get) = self.value(left, right), self.value(right, left)
        if type(operation) not in TESTS:
            raise self.refused(right)
        if "null" in {kind, other_kind}:
            raise self.refused(right, "no comparison with null is true; write is null, or is not null")
        if len({kind, other_kind} - {None}) > 1:
            raise self.refused(right, f"{kind} is compared with {other_kind}")
        return _compared(TESTS[type(operation)], get, other_get)

    def value(self, node: ast.expr, opposite: ast.expr | None = None) -> tuple[str | None, Get]:
        """Return the kind of a column or constant, None for an unknown one, and what gives it of a row."""
        match node:
            case ast.Name(id=name):
                number, kind = self.columns.get(name, (None, ""))
                return KIND_TEXT.get(kind), lambda values: None if number is None else values[number]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as positive)):
                return "a number", lambda _: -positive
            case ast.Constant(value=int() | float() | str() | None as constant):
                kind = self.columns.get(opposite.id, (0, ""))[1] if isinstance(opposite, ast.Name) else ""
                if not isinstance(constant, str) or kind not in {"timestamp", "bytes"}:
                    return KIND_TEXT[type(constant).__name__], lambda _: constant
                try:
                    fitting = constant.encode() if kind == "bytes" else moment_ms(constant, self.where.now_ms)
                except (WordError, UnicodeEncodeError) as error:
                    raise self.refused(node, str(error)) from error
                return KIND_TEXT[kind], lambda _: fitting
        raise self.refused(node)


def _parse(text: str) -> tuple[ast.expr, list[int]]:
    """Return a condition as Python reads it, and the position in the text of each byte that Python reads."""
    if len(text) > LONGEST_CONDITION:
        raise WhereError(f"--where: a condition of {len(text)} characters; at most {LONGEST_CONDITION}")
    pieces: list[str] = []
    positions: list[int] = []
    for token in TOKEN.finditer(text, len(text) - len(text.lstrip())):
        piece = token[0]
        if len(piece) > 1 and piece[0] in "'\"":
            piece = ascii(piece[1:-1].replace(piece[0] * 2, piece[0]))
        elif TIME_TOKEN.fullmatch(piece):
            piece = ascii(piece)
        pieces.append(" " if piece.isspace() else WORDS.get(piece.lower(), piece))
        positions += [token.start() + 1] * len(pieces[-1].encode(errors="surrogatepass"))
    positions.append(len(text) + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return ast.parse("".join(pieces), mode="eval").body, positions
    except (SyntaxError, ValueError) as error:
        position = positions[min(getattr(error, "offset", 0) or 0, len(positions)) - 1]  # 0 is the end
        raise WhereError(f"--where {text!r}: at {position}: {ALLOWED}") from error


def _joined(pick: Callable[[Iterable[Any]], Any], gets: Iterable[Get]) -> Get:
    parts = tuple(gets)
    return lambda values: pick([get(values) for get in parts])


def _negated(get: Get) -> Get:
    return lambda values: 1 - get(values)


def _compared(work: Callable[[Any, Any], Any], left: Get, right: Get) -> Get:
    def compared(values: tuple[Value, ...]) -> Any:
        left_value, right_value = left(values), right(values)
        try:
            return UNDECIDED if left_value is None or right_value is None else work(left_value, right_value)
        except TypeError:
            return UNDECIDED

    return compared
