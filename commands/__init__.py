"""What the user types: one module per command group. Typer lives here and nowhere else.

A command is a paragraph: options, help, one call. Modules are imported when
their command runs needs them; jobs and engines inside the functions that use
them, so that `kcli --help` stays quick.
"""
