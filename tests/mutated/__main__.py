"""Makes one mutated log dir again: `python -m tests.mutated SEED NUMBER FOLDER`."""

import sys
import tempfile
from pathlib import Path

from tests.mutated.fleets import make, sources


def main() -> None:
    seed, number, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as unpacked:
        print(*make(folder, sources(Path(unpacked)), seed, number), sep="\n")


if __name__ == "__main__":
    main()
