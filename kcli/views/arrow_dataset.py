"""pyarrow.dataset, imported without pandas.

pyarrow.dataset makes scalars when it is imported, and pyarrow imports pandas with its first scalar: where the
extra `spark` is installed, too, that is a third of a start of `kcli sql`, which has no use for it. So pandas
is not found while this module is imported, by this thread. It is found as ever by other threads, and by
everybody afterwards; pyarrow looks for it again when it is asked for a DataFrame.
"""

import sys
import threading
from importlib.abc import MetaPathFinder


class _NoPandas(MetaPathFinder):
    """Says to the thread that made it that there is no pandas."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, name: str, *_: object) -> None:
        """Raise for pandas; all else is for the other finders."""
        if name == "pandas" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(name)


_finder = _NoPandas()
sys.meta_path.insert(0, _finder)
try:
    from pyarrow import dataset
finally:
    sys.meta_path.remove(_finder)

__all__ = ["dataset"]
