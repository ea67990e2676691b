"""`kcli completion`: the script that makes a shell complete kcli's words."""

import typer

from kcli.cli.command import REQUIRED, argument, choose

SHELLS = ("bash", "zsh", "fish")


def completion(
    ctx: typer.Context, shell: str = argument("bash|zsh|fish", "The shell that you use.", default=REQUIRED)
) -> None:
    """Print the script that completes commands, options and their values in a shell.

    bash, in ~/.bashrc: eval "$(kcli completion bash)"

    zsh, in ~/.zshrc: eval "$(kcli completion zsh)"

    fish: kcli completion fish > ~/.config/fish/completions/kcli.fish
    """
    from typer.completion import show_callback

    choose("completion", shell, SHELLS)
    show_callback(ctx, ctx.command.params[0], shell)
