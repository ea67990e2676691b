"""Types of DuckDB that Arrow does not have: their values become text."""

from collections.abc import Callable
from typing import Any

import duckdb
from duckdb import sqltypes

WITHOUT_ARROW = frozenset({"uhugeint", "bignum", "bit", "time with time zone", "union", "variant"})
"""Types whose values Arrow cannot hold, or only in a form of DuckDB's own."""
NESTED: dict[str, Callable[..., Any]] = {
    "list": duckdb.list_type,
    "array": duckdb.array_type,
    "map": duckdb.map_type,
}
"""What makes a type of those inside."""


def with_text(relation: Any) -> Any:
    """Return the same rows, with DuckDB's text of the values of types that Arrow does not have."""
    kinds = [_in_arrow(kind) for kind in relation.types]
    if kinds == relation.types:
        return relation
    columns = enumerate(zip(kinds, relation.columns, strict=True), 1)
    return relation.project(
        ", ".join(f"CAST(#{place} AS {kind}) AS {_quoted(name)}" for place, (kind, name) in columns)
    )


def _in_arrow(kind: Any) -> Any:
    """Return a type with VARCHAR in the place of those that Arrow does not have."""
    if kind.id in WITHOUT_ARROW:
        return sqltypes.VARCHAR
    if kind.id not in {*NESTED, "struct", "tuple"}:
        return kind
    inside = [_in_arrow(one) if isinstance(one, sqltypes.DuckDBPyType) else one for _, one in kind.children]
    if inside == [one for _, one in kind.children]:
        return kind
    if kind.id == "struct":
        return duckdb.struct_type(dict(zip((name for name, _ in kind.children), inside, strict=True)))
    if kind.id == "tuple":
        return sqltypes.VARCHAR  # DuckDB makes no such type for Python
    return NESTED[kind.id](*inside)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
