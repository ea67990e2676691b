"""Runs first in the one file: unpacks it once (KCLI_ROOT, cache, temporary files), then runs kcli."""

import os
import sys

FOLDER = "the folder of kcli-linux-x86_64.tar.gz needs no Python"


def main():
    """Run kcli with the packages of this file, or say which file is the one for this Python."""
    here = (sys.version_info[0], sys.version_info[1], os.uname().machine)
    if here[:2] != PYTHON or here[2] != MACHINE:  # noqa: F821 - the builder writes them before this
        mine = "CPython {}.{} on {}".format(*PYTHON, MACHINE)  # noqa: F821
        other = f"take {FILES[here]}" if here in FILES else FOLDER  # noqa: F821
        sys.exit("kcli: this file is for {}, not for {}.{} on {}: {}".format(mine, *here, other))
    if not has_glibc():
        sys.exit("kcli: this file needs glibc, which this Python does not use: install kcli with pip")
    root = os.environ.get("KCLI_ROOT") or writable()
    if root is None:
        sys.exit("kcli: no directory to unpack to: set KCLI_ROOT to one that you may write to")
    packages = os.path.join(root, "kcli-" + BUILD)  # noqa: F821
    try:
        unpack(packages)
    except OSError as error:
        sys.exit(f"kcli: it cannot unpack 250 MB to {root}: {error.strerror}: set KCLI_ROOT")
    sys.dont_write_bytecode = False  # the directory is ours, and a start without takes seconds
    sys.path.insert(1, packages)
    # the fork server, which imports before it takes the path of its owner
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [packages, os.environ.get("PYTHONPATH")]))
    from kcli.__main__ import main as run

    run()


def has_glibc():
    """Return whether this Python runs with the library that the packages were linked to."""
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (OSError, ValueError):
        return False


def writable():
    """Return a directory that belongs to this user alone, made if need be; None if there is none."""
    import tempfile

    home = "" if os.environ.get("HOME") == "" else os.path.expanduser("~")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    for place in (os.path.join(cache, "kcli"), os.path.join(tempfile.gettempdir(), f"kcli-{os.getuid()}")):
        if not os.path.isabs(place):
            continue
        try:
            os.makedirs(place, mode=0o700, exist_ok=True)
            found = os.lstat(place)
        except OSError:
            continue
        is_ours = found.st_uid == os.getuid() and not found.st_mode & 0o022 and os.path.isdir(place)
        if is_ours and os.access(place, os.W_OK):
            return place
    return None


def unpack(packages):
    """Make the directory of the packages, whole or not at all, by one process at a time."""
    if os.path.isdir(packages):
        return
    import fcntl
    import shutil
    import zipfile

    os.makedirs(os.path.dirname(packages), exist_ok=True)
    with open(packages + ".lock", "w") as lock, zipfile.ZipFile(os.path.dirname(__file__)) as archive:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(packages):
            return
        shutil.rmtree(packages + ".part", ignore_errors=True)
        prefix = "site-packages/"
        try:
            for entry in archive.infolist():
                if entry.filename.startswith(prefix):
                    entry.filename = entry.filename[len(prefix) :]
                    archive.extract(entry, packages + ".part")
            os.rename(packages + ".part", packages)
        except OSError:
            shutil.rmtree(packages + ".part", ignore_errors=True)
            raise


if __name__ == "__main__":
    main()
