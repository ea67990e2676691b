"""Write the screens of every case anew."""

import tempfile
from contextlib import chdir
from pathlib import Path

from tests.screens import CASES, HERE, screens, unpack


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, chdir(unpack(Path(folder))):
        for name, line in CASES.items():
            (HERE / f"{name}.txt").write_text(f"$ kcli {line}\n\n{screens(line)}")


if __name__ == "__main__":
    main()
