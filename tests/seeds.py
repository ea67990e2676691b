"""The seed of random cases, fixed but for KCLI_SEED=n (`make soak`); KCLI_CASES=x multiplies the cases."""

import os
from random import Random

import hypothesis
from hypothesis.internal.conjecture import providers

USUAL = 20260
IS_GIVEN = "KCLI_SEED" in os.environ
SEED = int(os.environ.get("KCLI_SEED", USUAL))

UNTIMED = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
"""How long an example takes depends on what else the machine does: no reason to fail."""


def cases(usual: int) -> int:
    """Return how many random cases to run: the usual number times KCLI_CASES (1 when unset)."""
    return max(1, round(usual * float(os.environ.get("KCLI_CASES") or 1)))


def chance(*name: object) -> Random:
    """Return random choices of the seed, others for each name."""
    return Random(" ".join(map(str, (SEED, *name))))


def examples(most: int) -> hypothesis.settings:
    """Return the settings of a test of `most` examples; the profile `quick` of `make check` tries a fifth."""
    tried = most * hypothesis.settings().max_examples // 100
    return hypothesis.settings(max_examples=max(tried, 1))


def fix_examples() -> None:
    """Let hypothesis try the same examples in every run: none of earlier runs, no module's constants."""
    profile = {**UNTIMED, "derandomize": not IS_GIVEN, "database": None}
    hypothesis.settings.register_profile("thorough", max_examples=60, **profile)
    hypothesis.settings.register_profile("quick", max_examples=20, **profile)
    hypothesis.settings.load_profile("thorough")
    providers._get_local_constants = lambda: providers._local_constants
    if IS_GIVEN:
        hypothesis.core.global_force_seed = SEED
