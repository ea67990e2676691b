"""Offsets of a partition as a line of the screen: ranges of them, and numbers where these begin."""

from collections.abc import Iterable


class Timeline:
    """Offsets `first` to `end`, which is exclusive, on so many columns."""

    def __init__(self, first: int, end: int, width: int) -> None:
        self.first = first
        self.length = max(end - first, 1)
        self.width = width

    def column(self, offset: int) -> int:
        """Return the column of an offset, that of `end` one past the last."""
        return max(0, min(self.width, round((offset - self.first) * self.width / self.length)))

    def columns(self, start: int, end: int) -> slice:
        """Return the columns of a range of offsets; one at least if it has any offset."""
        left, right = self.column(start), self.column(end)
        if end > start and left == right:
            left = min(left, self.width - 1)
            right = left + 1
        return slice(left, max(left, right))

    def cells(self, ranges: Iterable[tuple[int, int, str]], empty: str = " ") -> list[str]:
        """Return a character for each column; each range is drawn over those before it."""
        line = [empty] * self.width
        for start, end, cell in ranges:
            columns = self.columns(start, end)
            line[columns] = [cell] * (columns.stop - columns.start)
        return line

    def labels(self, texts: Iterable[tuple[int, object]], line: str = "") -> str:
        """Return `line`, or spaces, with a text at each offset where there is room, first come first."""
        characters = list(line.ljust(self.width + (not line)))
        is_free = [True] * len(characters)
        for offset, label in texts:
            text = str(label)
            column = min(self.column(offset), self.width - 1, len(characters) - len(text))
            if column >= 0 and all(is_free[max(column - 1, 0) : column + len(text) + 1]):
                characters[column : column + len(text)] = text
                is_free[column : column + len(text)] = [False] * len(text)
        return "".join(characters).rstrip()
