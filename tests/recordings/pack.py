"""A recording: NAME.tar.gz (log dirs, with modification times), NAME.json (origin, SHA-256 of all)."""

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data" / "recordings"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in DATA.glob("*.tar.gz"))


def golden(name: str) -> str:
    """Return what Kafka's tool printed of a recording."""
    return gzip.decompress((DATA / f"{name}.golden.gz").read_bytes()).decode()


def files(folder: Path) -> list[Path]:
    """Return every regular file below a folder, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def sha256(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tar(folder: Path, name: str, target: Path) -> None:
    """Write a folder as `target`, the same bytes for the same contents; it unpacks to `name`."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in [folder, *sorted(folder.rglob("*"))]:
            info = archive.gettarinfo(path, str(Path(name) / path.relative_to(folder)))
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mode = 0o755 if info.isdir() else 0o644
            # Whole ms, as the broker sees them; a quarter more, so that no float on the way falls short of
            # it.
            info.mtime = 0 if info.isdir() else (path.stat().st_mtime_ns // 1_000_000 + 0.25) / 1000
            archive.addfile(info, io.BytesIO(path.read_bytes()) if info.isfile() else None)
    target.write_bytes(gzip.compress(plain.getvalue(), 9, mtime=0))


def save(folder: Path, manifest: dict[str, Any], data: Path = DATA) -> Path:
    """Commit a recorded folder as NAME.tar.gz and NAME.json, NAME from the manifest; return the tar."""
    data.mkdir(parents=True, exist_ok=True)
    name = manifest["name"]
    hashes = {str(path.relative_to(folder)): sha256(path) for path in files(folder)}
    (data / f"{name}.json").write_text(dumps({**manifest, "files": hashes}))
    tar(folder, name, data / f"{name}.tar.gz")
    return data / f"{name}.tar.gz"


def dumps(manifest: dict[str, Any]) -> str:
    """Return a manifest as JSON: one line per row of a list, so that it can be read and compared."""

    def block(value: Any, depth: int) -> str:
        pad = " " * (depth + 1)
        if isinstance(value, dict) and value and depth < 3:
            inner = ",\n".join(
                f"{pad}{json.dumps(key)}: {block(item, depth + 1)}" for key, item in value.items()
            )
            return f"{{\n{inner}\n{' ' * depth}}}"
        if isinstance(value, list) and value and depth < 4:
            inner = ",\n".join(f"{pad}{json.dumps(item)}" for item in value)
            return f"[\n{inner}\n{' ' * depth}]"
        return json.dumps(value)

    return block(manifest, 0) + "\n"


def manifest(name: str, data: Path = DATA) -> dict[str, Any]:
    """Return a committed recording's manifest."""
    return json.loads((data / f"{name}.json").read_text())


def unpack(name: str, into: Path, data: Path = DATA) -> Path:
    """Unpack a recording into a folder, check every file against its manifest, return where it is."""
    with tarfile.open(data / f"{name}.tar.gz") as archive:
        archive.extractall(into, filter="tar")
    folder = into / name
    expected = manifest(name, data)["files"]
    found = {str(path.relative_to(folder)): sha256(path) for path in files(folder)}
    if found != expected:
        wrong = sorted(
            path for path in found.keys() | expected.keys() if found.get(path) != expected.get(path)
        )
        raise AssertionError(f"{name}.tar.gz does not match {name}.json: {', '.join(wrong[:5])}")
    return folder


def copy(source: Path, target: Path) -> None:
    """Copy a log dir that may be changing, without files that vanish; modification times are kept."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
        try:
            if entry.is_dir(follow_symlinks=False):
                copy(Path(entry.path), target / entry.name)
            else:
                shutil.copy2(entry.path, target / entry.name)
        except FileNotFoundError:
            continue
