"""What the user types: one module per command group. Typer lives here and nowhere else.

A command is a paragraph: options, help, one call. A command's module is imported when it is asked for; jobs
and engines inside the functions that use them, so that `kcli --help` stays quick.
"""
