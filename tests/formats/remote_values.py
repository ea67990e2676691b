"""Values of remote log metadata as releases wrote them."""

import gzip
import json
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "rlmm"


def recorded(name):
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


VALUES = recorded("values.json.gz")


UPDATE = bytes.fromhex(
    "01010004666f6fbb835d49f591423699fc4372c4c5cb2400000000000000"
    "000000000000000000000000000100000000010000018bcfe56806000100"
)
SEGMENT = bytes.fromhex(
    "01000004666f6fbb835d49f591423699fc4372c4c5cb2400000000"
    "000000000000000000000000000000000100000000000000000000"
    "00000000000063000000010000018bcfe568000000018bcfe568"
    "050300000000000000000000000000000000020000000000000032"
    "0000000400"
)
DELETE = bytes.fromhex("01020004666f6fbb835d49f591423699fc4372c4c5cb240000000000000000010000018bcfe568070000")
