"""The folder that needs no Python: an interpreter, its library and the packages, started by a shell."""

import re
import subprocess
import zipfile
from fnmatch import fnmatchcase

from tests.packaging.pieces import entries

LIBRARY = "lib/python3.11"
LAUNCHER = """\
#!/bin/sh
here=$0
[ -L "$here" ] && here=$(readlink -f "$here")
exec "${here%/*}/bin/python3.11" -I -S -m kcli "$@"
"""
LAID_AS = {
    "bin/python3.11": "bin/python3.11",
    "libpython3.11.so.1.0": "lib/libpython3.11.so.1.0",
    "libffi.so.6": "lib/libffi.so.6",
}
"""Of the interpreter's archive: what is laid where; its library beside."""
OURS = ("formats", "kcli", "commands")
NOT_COMPILED = rf"{LIBRARY}/({'|'.join(OURS)}|pygments/(lexers|styles))/[a-z]"
"""Ours keep their source, for a traceback to show; of the lexers a start imports one or none."""
LEFT_OUT = (
    *(f"{name}/*" for name in ("config-*", "site-packages", "test", "idlelib", "ensurepip", "tkinter")),
    *(f"{name}/*" for name in ("turtledemo", "lib2to3", "distutils", "pydoc_data", "unittest", "curses")),
    *(f"{name}/*" for name in ("dbm", "sqlite3", "venv", "wsgiref", "xmlrpc", "asyncio")),
    *(f"lib-dynload/{name}.*" for name in ("_hashlib", "_test*", "_xx*", "xx*", "_ctypes_test", "_codecs_*")),
    *(f"lib-dynload/{name}.*" for name in ("_bz2", "_crypt", "_dbm", "_gdbm", "_uuid", "nis", "ossaudiodev")),
    *("turtle.py", "*.pyc"),
)
"""Of the standard library: what kcli never imports, and what needs libraries that few hosts have."""


def lay(interpreter, wheels, folder, *, compiled):
    """Lay the folder, its modules compiled if asked; else they are as they are first imported."""
    with zipfile.ZipFile(interpreter) as archive:
        program = next(name for name in archive.namelist() if name.endswith("/bin/python3.11"))
        top = program.removesuffix("bin/python3.11")
        for entry in archive.infolist():
            name = entry.filename.removeprefix(top)
            below = name.removeprefix(f"{LIBRARY}/")
            if name in LAID_AS:
                lay_file(archive, entry, folder / LAID_AS[name])
            elif (
                below != name
                and not entry.is_dir()
                and not any(fnmatchcase(below, pattern) for pattern in LEFT_OUT)
            ):
                lay_file(archive, entry, folder / name)
    for archive, entry in entries(wheels):
        lay_file(archive, entry, folder / LIBRARY / entry.filename)
    (folder / "kcli").write_text(LAUNCHER)
    python = folder / "bin" / "python3.11"
    for program in (folder / "kcli", python):
        program.chmod(0o755)
    if compiled:
        compile_modules(python, folder / LIBRARY)


def compile_modules(python, library):
    """Compile each module once for all; of others than ours no source is kept."""
    isolated = ["-I", "-S", "-B", "-m", "compileall", "-q", "-j", "0"]
    unlike_source = ["--invalidation-mode", "unchecked-hash", "-s", library.parents[2]]
    words = [python, *isolated, *unlike_source]
    subprocess.run([*words, "-b", "-x", NOT_COMPILED, library], check=True)
    for compiled in library.rglob("*.pyc"):
        compiled.with_suffix(".py").unlink()
    subprocess.run([*words, *(library / name for name in OURS)], check=True)


def lay_file(archive, entry, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(archive.read(entry))


def glibc(folder):
    """Return the oldest glibc that has every symbol version which a file of the folder names."""
    versions = {
        tuple(map(int, version.split(b".")))
        for path in folder.rglob("*")
        if path.is_file() and (".so" in path.name or path.parent.name == "bin")
        for version in re.findall(rb"\0GLIBC_(2\.\d+)(?=\0)", path.read_bytes())
    }
    return ".".join(map(str, max(versions)))
