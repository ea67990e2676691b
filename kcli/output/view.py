"""Which rows and columns are shown, in which order, and how many.

Options are checked before anything is read.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kcli.output.answer import Answer
from kcli.output.formats import FORMATS, PROMETHEUS, TEXT, TSV, OutputFormat, RowStyle
from kcli.output.screen import Screen
from kcli.output.suggest import did_you_mean
from kcli.rows import ArrowBlock, Item, row_types, type_name
from kcli.rows.declare import Column, RowType, Value, values_of
from kcli.rows.head import HeadColumn, beside
from kcli.words import clock_ms

if TYPE_CHECKING:
    from kcli.output.where import Condition


class ShownRow(NamedTuple):
    """A row as it is written: the name of its type, and the values of the shown columns."""

    type_name: str
    values: tuple[Value, ...]


Shown: TypeAlias = ShownRow | ArrowBlock

LONGEST_NULL = 64
"""Characters of the text for a null."""
NAN, NOT_FINITE = "NaN", {"-Infinity": float("-inf"), "Infinity": float("inf")}
"""The words for floats that JSON cannot write as numbers."""
BREAKS_A_CELL = frozenset(',"\t\r\n\0')


class ViewOptions(NamedTuple):
    """What a user asks of rows: their format, and which of them.

    `to_file`: they go to a file of a format that is known to be one; `to_run`: to the directory of a run, a
    file for each type. `quiet`: they go nowhere. `head`: what the columns before those of each row say.
    """

    output: str
    only: str | None = None
    columns: str | None = None
    sort: str | None = None
    limit: int | None = None
    headers: bool = True
    null: str | None = None
    where: str | None = None
    quiet: bool = False
    to_file: bool = False
    to_run: bool = False
    screen: Screen = Screen()
    lists_findings: bool = True
    head: tuple[HeadColumn, ...] = ()


class ViewError(Exception):
    """The options name something that these rows do not have."""


class View(NamedTuple):
    """The chosen format, row types and columns of one command's output.

    `tagged` says that the command has several row types, so that JSON rows carry `type`. `stops`: nothing is
    read after the last row that the limit shows. `single_view`: rows of all types are drawn together.
    `screen` is what tables are made for. `null`: the text of a null in csv and tsv; None: the usual one.
    `where`: the condition that shown rows meet. `lists_findings`: a page has them below its rows. `head`:
    columns before those of each row.
    """

    command: str
    format: OutputFormat
    types: tuple[RowType, ...]
    tagged: bool
    columns: tuple[str, ...] | None = None
    sort: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None
    headers: bool = True
    stops: bool = False
    single_view: bool = False
    screen: Screen = Screen()
    null: str | None = None
    where: "Condition | None" = None
    lists_findings: bool = True
    head: tuple[HeadColumn, ...] = ()

    @property
    def style(self) -> RowStyle:
        """How rows are encoded; AssertionError for a format that does not encode single rows."""
        assert self.format.style is not None, f"rows are not encoded as {self.format.name}"
        return self.format.style.with_null(self.null)

    def sources_of(self, row_type: RowType) -> tuple[tuple[Column, int | str], ...]:
        """Return the columns of --columns, each with its place in a row, or the text that all rows have."""
        all_of_them = _with_head(row_type, self.head)
        if self.columns is None:
            return all_of_them
        by_name = {column.name: (column, source) for column, source in all_of_them}
        return tuple(by_name[name] for name in self.columns if name in by_name)

    def columns_of(self, row_type: RowType) -> tuple[Column, ...]:
        """Return the shown columns of a row type, in the order of --columns."""
        return tuple(column for column, _ in self.sources_of(row_type))

    def names_of(self, row_type: RowType) -> tuple[str, ...]:
        """Return the names of the shown columns of a row type."""
        return tuple(column.name for column in self.columns_of(row_type))

    def chosen(self, rows: Iterable[Item]) -> Iterator[Item]:
        """Yield the rows to show, sorted and limited; unless it `stops`, rows after the limit are read."""
        if len(self.types) == 1:
            (row_type,) = self.types
            rows = (row for row in rows if type_name(row) == row_type.name)
        if self.where is not None:
            rows = self._meeting(self.where, rows)
        if self.sort:
            rows = self._sorted(rows)
        if self.limit is None:
            yield from rows
            return
        rows = iter(rows)
        yield from islice(rows, self.limit)
        if not self.stops:
            for _ in rows:  # the exit status and the findings are about every input
                pass

    def shown_rows(self, rows: Iterable[Item]) -> Iterator[Shown]:
        """Yield the chosen rows cut to the shown columns; blocks as they are."""
        sources = {
            row_type.name: [source for _, source in self.sources_of(row_type)] for row_type in self.types
        }
        is_whole = self.columns is None and not self.head
        for row in self.chosen(rows):
            if isinstance(row, ArrowBlock):
                yield row
                continue
            assert isinstance(row, tuple)
            name, values = type_name(row), values_of(row)
            if not is_whole:
                values = tuple(
                    source if isinstance(source, str) else values[source] for source in sources[name]
                )
            yield ShownRow(name, values)

    def _meeting(self, where: "Condition", rows: Iterable[Item]) -> Iterator[Item]:
        """Yield the rows for which a condition is true."""
        from kcli.output.where import keeps

        tests = {row_type.name: keeps(where, row_type) for row_type in self.types}
        return (
            row
            for row in rows
            if isinstance(row, tuple) and (test := tests.get(type_name(row))) and test(values_of(row))
        )

    def _sorted(self, rows: Iterable[Item]) -> list[Item]:
        """Return rows sorted by every key, stable; nulls and rows without the column come last either way."""
        items = list(rows)
        for name, descending in reversed(self.sort):
            positions = {
                row_type.name: row_type.names.index(name) for row_type in self.types if name in row_type.names
            }
            keyed = [(_sort_key(row, positions.get(type_name(row))), row) for row in items]
            present = [pair for pair in keyed if pair[0] is not None]
            if len({isinstance(key, str) for key, _ in present}) > 1:
                # words for floats that are no numbers, too; NaN is the largest
                present = [((key == NAN, NOT_FINITE.get(key, key)), row) for key, row in present]
            present.sort(key=itemgetter(0), reverse=descending)
            items = [row for _, row in present] + [row for key, row in keyed if key is None]
        return items


def _with_head(row_type: RowType, head: tuple[HeadColumn, ...]) -> tuple[tuple[Column, int | str], ...]:
    names = {head_column.column.name for head_column in head}
    columns = ((beside(row_type, column, names), number) for number, column in enumerate(row_type.columns))
    return (*head, *columns)


def _sort_key(row: Item, position: int | None) -> Any:
    if position is None or not isinstance(row, tuple):
        return None
    value = values_of(row)[position]
    return str(value) if isinstance(value, (list, dict)) else value


def make_view(command: str, answer: Answer, options: ViewOptions) -> View:
    """Return the view that options describe; ViewError with one line if they name what does not exist."""
    types, only, null = answer.types or row_types(command), options.only, options.null
    output_format = _format(command, options.output, text=answer.text is not None, to_file=options.to_file)
    if null is not None and (len(null) > LONGEST_NULL or not BREAKS_A_CELL.isdisjoint(null)):
        raise ViewError(
            f"--null {null!r}: expected at most {LONGEST_NULL} characters, no comma, quote, tab or line end"
        )
    tagged, is_whole = len(types) > 1, options.columns is None and options.headers
    if only is not None:
        types = (_only(only, types, command),)
    elif answer.single_view and output_format.is_view and is_whole:
        types = tuple(sorted(types, key=lambda row_type: row_type.name != answer.default_type))
    elif tagged and output_format.is_flat:
        possible = answer.possible
        types = (
            tuple(row_type for row_type in types if possible is None or row_type.name in possible)
            or types[:1]
        )
        default = tuple(row_type for row_type in types if row_type.name == answer.default_type)
        if default and (answer.is_asked or output_format.is_view or not options.to_file):
            types = default
        has_headers = is_whole and (output_format.is_view or output_format is TSV)
        if len(types) > 1 and not (has_headers or options.quiet or options.to_run):
            raise ViewError(
                f"{command} has rows of several types here: use --only with one of "
                f"{', '.join(row_type.name for row_type in types)}, or "
                f"{'--out FILE.ndjson' if options.to_file else '-o ndjson'}, for output as {options.output}"
            )
    keys = () if options.sort is None else map(str.strip, options.sort.split(","))
    order = [(_column(key.removeprefix("-"), types, "--sort", command), key[:1] == "-") for key in keys]
    condition = None if options.where is None else _condition(options.where, types, command)
    return View(
        command=command,
        format=output_format,
        types=types,
        tagged=tagged,
        columns=_columns(options.columns, types, command, options.head),
        sort=tuple(order),
        limit=options.limit,
        headers=options.headers,
        stops=answer.stop_at_limit,
        single_view=answer.single_view,
        screen=options.screen,
        null=null,
        where=condition,
        lists_findings=options.lists_findings,
        head=options.head,
    )


def _format(command: str, output: str, *, text: bool, to_file: bool) -> OutputFormat:
    """Return the output format of a name, one that the command has."""
    possible = {
        name: form for name, form in FORMATS.items() if (text or form is not TEXT) and form.is_for(command)
    }
    on_stdout = [name for name, form in possible.items() if form.on_stdout]
    if output in (possible if to_file else on_stdout):
        return FORMATS[output]
    if output == PROMETHEUS.name:
        option = f"--out FILE.{PROMETHEUS.extension}" if to_file else f"--output {output}"
        raise ViewError(f"{option}: {command} has no metrics; {', '.join(sorted(PROMETHEUS.of or ()))} have")
    advice = did_you_mean(output, on_stdout)
    raise ViewError(f"--output {output}: {advice}{command} prints {', '.join(on_stdout)}")


def _only(name: str, types: tuple[RowType, ...], command: str) -> RowType:
    """Return the row type of a name, one of the command's."""
    names = [row_type.name for row_type in types]
    if name in names:
        return types[names.index(name)]
    raise ViewError(
        f"--only {name}: {did_you_mean(name, names)}{command} has rows of type {', '.join(names)}"
    )


def _columns(
    text: str | None, types: tuple[RowType, ...], command: str, head: tuple[HeadColumn, ...]
) -> tuple[str, ...] | None:
    """Return the columns of a list, each there once; None of none."""
    if text is None:
        return None
    types = tuple(
        row_type._replace(columns=tuple(column for column, _ in _with_head(row_type, head)))
        for row_type in types
    )
    names = tuple(_column(name.strip(), types, "--columns", command) for name in text.split(","))
    if len(set(names)) < len(names):
        raise ViewError(f"--columns {text}: a column is named twice")
    return names


def _condition(text: str, types: tuple[RowType, ...], command: str) -> "Condition":
    """Return a condition that can be used; ViewError for another."""
    from kcli.output.where import Condition, WhereError, columns_of, keeps

    where = Condition(text, clock_ms())
    try:
        for name in columns_of(text):
            _column(name, types, "--where", command)
        for row_type in types:
            keeps(where, row_type)
    except WhereError as error:
        raise ViewError(str(error)) from error
    return where


def _column(name: str, types: tuple[RowType, ...], option: str, command: str) -> str:
    columns = list(dict.fromkeys(column for row_type in types for column in row_type.names))
    if name not in columns:
        advice = did_you_mean(name, columns)
        choices = f"kcli help columns {command} lists all" if advice else f"there are {', '.join(columns)}"
        quoted = f"; a text has quotes: '{name}'" if option == "--where" else ""
        raise ViewError(f"{option}: no column {name!r}; {advice}{choices}{quoted}")
    return name
