"""The console of Rich that views are drawn on. Slow to import: only views import it."""

import rich.console


class Console(rich.console.Console):
    """A console that raises BrokenPipeError where the reader of its file is gone; Rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        """Raise the error that Rich is handling."""
        raise  # noqa: PLE0704
