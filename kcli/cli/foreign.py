"""Whether packages of others are in the way of kcli's own: `commands` and `formats` are common names."""

import os
from importlib.util import find_spec

import kcli


def foreign_package() -> str | None:
    """Return the place of a `commands` or `formats` that is not ours, such as in a working directory."""
    ours = os.path.dirname(os.path.abspath(kcli.__file__))
    for name in ("commands", "formats"):
        spec = find_spec(name)
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
        if not places or os.path.dirname(os.path.abspath(places[0])) != os.path.dirname(ours):
            return places[0] if places else str(spec.origin if spec is not None else name)
    return None
