"""How many examples hypothesis tries for a test.

Its own number with the default profile, a share of it with a quicker one.
"""

from hypothesis import settings

DEFAULT = 100


def examples(most):
    """Return the settings of a test of `most` examples.

    The profile `quick` of `make check` tries a fifth of them.
    """
    return settings(max_examples=max(most * settings().max_examples // DEFAULT, 1), deadline=None)
