"""The files that `spark-submit` needs to run kcli on a cluster, and the command line that names them.

| file                   | what                                                                |
|------------------------|-----------------------------------------------------------------------------------|
| `kcli-packages.zip`    | kcli's own packages, for `--py-files`: the same bytes for the same code |
| `kcli-submit.py`       | starts a session, as `spark-submit` configures it, and runs kcli in it |
"""

import os
import shlex
import shutil
import sys
import zipfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

ZIPPED_PACKAGES = ("formats", "kcli", "commands", "pyspark_kcli")
IN_A_CHECKOUT = {"pyspark_kcli": "kcli.views.pyspark_kcli"}
"""Where a package lies in a checkout if nothing has linked it to where an installed kcli has it."""
ZIP = "kcli-packages.zip"
SCRIPT = "kcli-submit.py"
ARCHIVE_FOLDER = "environment"
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
QUIET_CONF = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}

ENTRY = '''\
"""Runs kcli over the session that spark-submit configures: rows go to stdout, all else to stderr."""

import os
import sys

from pyspark.sql import SparkSession


def part_streams():
    """Give stderr its own place again.

    spark-submit reads both streams of Python from one pipe, and prints them to stdout.
    """
    place = f"/proc/{os.getppid()}/fd"
    try:
        are_one = os.path.samestat(os.fstat(1), os.fstat(2))
        if are_one and not os.path.samestat(os.stat(f"{place}/1"), os.stat(f"{place}/2")):
            os.dup2(os.open(f"{place}/2", os.O_WRONLY | os.O_APPEND), 2)
    except OSError:
        pass  # where there is no /proc it stays as it is


if __name__ == "__main__":
    part_streams()
    session = SparkSession.builder.appName("kcli").getOrCreate()
    from kcli.__main__ import main  # not before: a session puts the packages at another place of sys.path

    sys.argv = ["kcli", *sys.argv[1:]]
    try:
        main()
    finally:
        session.stop()
'''


class PackagesError(Exception):
    """The packages of this kcli cannot be put into a zip."""


def write_files(directory: str) -> None:
    """Write the zip and the script into a directory; OSError, PackagesError if kcli is in none."""
    os.makedirs(directory, exist_ok=True)
    with zipfile.ZipFile(os.path.join(directory, ZIP), "w", zipfile.ZIP_DEFLATED) as packed:
        for name, path in sorted(_modules()):
            with open(path, "rb") as file:
                packed.writestr(zipfile.ZipInfo(name, ZIP_EPOCH), file.read(), zipfile.ZIP_DEFLATED)
    with open(os.path.join(directory, SCRIPT), "w", encoding="utf-8") as script:
        script.write(ENTRY)


def _modules() -> Iterator[tuple[str, str]]:
    """Yield every module and page of kcli's packages: its name in the zip, and its path."""
    for package in ZIPPED_PACKAGES:
        spec = find_spec(package) or find_spec(IN_A_CHECKOUT.get(package, package))
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
        if not places or not os.path.isdir(places[0]):
            raise PackagesError(
                f"package {package}: it lies in no directory; run an installed kcli, or one in a checkout"
            )
        for folder, _, names in os.walk(places[0]):
            for name in names:
                if name.endswith((".py", ".md")):
                    path = os.path.join(folder, name)
                    yield os.path.join(package, os.path.relpath(path, places[0])), path


def submit_lines(
    directory: str,
    arguments: Sequence[str],
    *,
    master: str,
    conf: Sequence[str] = (),
    environment: str | None = None,
) -> Iterator[str]:
    """Yield lines for a shell: comments that say what has to be where, then one command, ready to run.

    `arguments` are those of a kcli command line, with --spark. `environment` is an archive of a Python
    environment (venv-pack, conda-pack) that Spark unpacks for each executor.
    """
    local = master.startswith("local")
    python = f"./{ARCHIVE_FOLDER}/bin/python" if environment is not None else sys.executable
    if not local:
        yield (
            f"# {ZIP} and {SCRIPT} are in {directory}; every executor must see the paths that kcli is given."
        )
        if environment is None:
            yield (
                f"# Every executor must have {python} with what kcli needs. Else pack an environment once, "
                "and name it with --archive:"
            )
            yield (
                f"#   venv-pack -p {shlex.quote(sys.prefix)} -o kcli-environment.tar.gz      (conda: "
                "conda-pack)"
            )
    settings = [f"{key}={value}" for key, value in QUIET_CONF.items()] + list(conf)
    line = [_spark_submit(), "--master", master]
    for setting in settings:
        line += ["--conf", setting]
    line += ["--py-files", os.path.join(directory, ZIP)]
    if environment is not None:
        line += ["--archives", f"{environment}#{ARCHIVE_FOLDER}"]
    line += [os.path.join(directory, SCRIPT), *arguments]
    pythons = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}
    yield " ".join([*(f"{key}={shlex.quote(value)}" for key, value in pythons.items()), shlex.join(line)])


def _spark_submit() -> str:
    """Return the spark-submit of $PATH, else that of the pyspark installed with this Python."""
    installed = os.path.join(os.path.dirname(sys.executable), "spark-submit")
    return "spark-submit" if shutil.which("spark-submit") or not os.path.exists(installed) else installed
