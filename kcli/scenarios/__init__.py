"""Stories about one replicated partition, for `kcli replica simulate`: one TOML file each."""

from importlib import resources

NAMES = (
    "high-watermark",
    "loss",
    "loss-cured",
    "divergence",
    "divergence-cured",
    "fast-failovers",
    "fast-failovers-cured",
    "fast-failovers-fetch",
    "unclean",
)
"""In the order of reading."""


def text(name: str) -> str:
    """Return the TOML of a story; KeyError for a name that is not in NAMES."""
    if name not in NAMES:
        raise KeyError(name)
    return (resources.files(__name__) / f"{name}.toml").read_text(encoding="utf-8")
