"""The runbooks that `kcli runbook` prints: shell scripts for the person on call; the tests run each."""

from importlib import resources


def runbooks() -> dict[str, str]:
    """Return the text of each runbook by its name: line 2 is its question, line 3 its exit statuses."""
    files = sorted(resources.files(__name__).iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".sh"): file.read_text(encoding="utf-8")
        for file in files
        if file.name.endswith(".sh")
    }
