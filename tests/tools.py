"""Says which tool `make test` misses (exit status 1) or nothing; `make check` needs none of them."""

import os
import shutil
import subprocess
import sys

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def browser() -> str | None:
    """Return the path of the browser that judges pages."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def missing() -> list[str]:
    """Return what is missing for the judges that need a JVM, or a browser that `make` cannot install."""
    comes = os.geteuid() == 0 and shutil.which("apt-get")
    gone = [] if browser() or comes else ["a browser (chromium)"]
    java = shutil.which("java")
    if java is None:
        gone.append("a Java runtime, 17 or newer")
    else:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
        version = answer.split('"')[1].split(".")[0] if '"' in answer else "0"
        if not version.isdigit() or int(version) < 17:
            gone.append(f"Java 17 or newer (found {answer.splitlines()[0] if answer else 'nothing'})")
    gone += [
        f"{what} ({name})"
        for name, what in {"javac": "a Java compiler", "mvn": "Maven"}.items()
        if shutil.which(name) is None
    ]
    return gone


if __name__ == "__main__":
    if gone := missing():
        sys.exit(f"make test needs {', '.join(gone)}. 'make check' runs everything that needs none of them.")
