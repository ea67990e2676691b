"""The one file for a Python: wheels in a zip file as they were compressed, and what unpacks them once."""

import copy
import hashlib
import struct
import zipfile
from pathlib import Path

from tests.packaging.pieces import EVERY, entries

LENGTHS = struct.Struct("<26xHH")
"""Of a local file header: how long the name and the extra field are that follow it."""


def write(wheels, place, target):
    """Write the file that runs where there is nothing but this Python."""
    build = hashlib.sha256()
    with target.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w") as ours:
            for archive, entry in entries(wheels):
                build.update(f"{entry.filename} {entry.CRC}\n".encode())
                append(ours, archive, entry, f"site-packages/{entry.filename}")
            ours.writestr("__main__.py", first_module(place, build.hexdigest()[:16]), zipfile.ZIP_DEFLATED)
    target.chmod(0o755)


def append(ours, archive, entry, name):
    """Append an entry of another archive under a new name, its bytes as they are."""
    archive.fp.seek(entry.header_offset)
    archive.fp.seek(sum(LENGTHS.unpack(archive.fp.read(LENGTHS.size))), 1)
    data = archive.fp.read(entry.compress_size)
    renamed = copy.copy(entry)
    renamed.filename, renamed.extra, renamed.flag_bits = name, b"", entry.flag_bits & 0x800
    ours.fp.seek(ours.start_dir)
    renamed.header_offset = ours.fp.tell()
    ours.fp.write(renamed.FileHeader(zip64=False))
    ours.fp.write(data)
    ours.start_dir = ours.fp.tell()
    ours.filelist.append(renamed)
    ours.NameToInfo[name] = renamed
    ours._didModify = True


def first_module(place, build):
    """Return root.py with what it is to know of this file."""
    known = {
        "PYTHON": place.python,
        "MACHINE": place.machine,
        "BUILD": build,
        "FILES": {(*each.python, each.machine): each.file for each in EVERY},
    }
    lines = [f"{name} = {value!r}" for name, value in known.items()]
    return "\n".join([*lines, (Path(__file__).parent / "root.py").read_text()])
