"""Damaged message sets."""

REFUSED = "v1-lz4-other-checksum"


BENT = (
    "v0-inner-other-magic",
    "v1-inner-other-magic",
    "v0-relative-inner-offsets",
    "v1-absolute-inner-offsets",
    "v1-relative-inner-offsets",
    "v1-producer-style-wrapper",
    "v1-wrapper-inner-truncated",
    "v1-inner-bit-flip",
    "v1-nested-wrapper",
    "v1-wrapper-null-value",
    "v0-wrapper-empty",
)
