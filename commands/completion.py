"""`kcli completion`: the script that makes a shell complete kcli's words."""

import typer

from kcli.cli.boundary import boundary
from kcli.cli.option import REQUIRED, argument
from kcli.cli.status import UsageError


def completion(
    shell: str = argument("bash|zsh|fish", "The shell that you use.", default=REQUIRED),
) -> None:
    """Print the script that completes commands, options and their values in a shell.

    bash, in ~/.bashrc: eval "$(kcli completion bash)"

    zsh, in ~/.zshrc: eval "$(kcli completion zsh)"

    fish: kcli completion fish > ~/.config/fish/completions/kcli.fish
    """
    from kcli.cli.completion import SCRIPTS

    with boundary():
        if shell not in SCRIPTS:
            raise UsageError(f"completion {shell}: expected one of {', '.join(SCRIPTS)}")
        typer.echo(SCRIPTS[shell], nl=False)
