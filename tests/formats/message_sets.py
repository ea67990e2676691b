"""Messages of magic 0 and 1, and damaged sets of them."""

V1 = bytes.fromhex("0000000000000005000000186a5500fb01000000018bcfe56800ffffffff000000027631")
V0 = bytes.fromhex("00000000000000050000001257e7496e0000000000026b31000000027631")
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
