"""pyarrow.dataset, without pandas, which pyarrow imports for the scalars that it makes when it is imported.

That is a third of a start of `kcli sql`, which has no use for it.
"""

import sys
from importlib.abc import MetaPathFinder


class _NoPandas(MetaPathFinder):
    """Says that there is no pandas."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


_finder = _NoPandas()
sys.meta_path.insert(0, _finder)
try:
    from pyarrow import dataset
finally:
    sys.meta_path.remove(_finder)

__all__ = ["dataset"]
