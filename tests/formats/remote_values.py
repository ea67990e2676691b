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
