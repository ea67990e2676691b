"""Why a cluster gives no answer, or is not asked."""


class ClusterError(Exception):
    """The cluster cannot be reached, does not answer in time, or not what it should; one line."""


class SettingError(Exception):
    """A setting of the client is not one that can be used; one line."""


class UnsafeSettingError(Exception):
    """A setting of the client would have it write, or run a program; one line."""
