"""Why a cluster gives no answer, or is not asked."""


class ClusterError(Exception):
    """The cluster cannot be reached, does not answer in time, or not what it should; one line."""


class SettingError(Exception):
    """A setting of the client is not one that can be used; one line."""


class UnsafeSettingError(Exception):
    """A setting of the client would have it write, or run a program; one line."""


NAMES = {
    -1: "UNKNOWN_SERVER_ERROR",
    1: "OFFSET_OUT_OF_RANGE",
    2: "CORRUPT_MESSAGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    9: "REPLICA_NOT_AVAILABLE",
    29: "TOPIC_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
    35: "UNSUPPORTED_VERSION",
    43: "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    56: "KAFKA_STORAGE_ERROR",
    74: "FENCED_LEADER_EPOCH",
    75: "UNKNOWN_LEADER_EPOCH",
    76: "UNSUPPORTED_COMPRESSION_TYPE",
    78: "OFFSET_NOT_AVAILABLE",
}
"""Kafka's errors of Metadata, ListOffsets and Fetch, by number (`common.protocol.Errors`)."""


def error_name(number: int) -> str:
    """Return Kafka's name of an error, `error N` for one that none of our requests gets."""
    return NAMES.get(number, f"error {number}")
