"""Makes garbage collections rare in a process that imports it: imports make many objects and no garbage."""

import gc

FEW_COLLECTIONS = 100_000
"""New objects between two of them."""

gc.set_threshold(FEW_COLLECTIONS)
