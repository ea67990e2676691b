"""Mutations of a partition directory (bytes, indexes, checkpoints, names), each with words for it."""

import os
import re
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random

from formats.batch import BATCH, HEADER_SIZE, LOG_OVERHEAD

Mutation = Callable[[Random, Path], str | None]
"""Changes something in a directory and says what; None where there is nothing to change."""

Change = Callable[[Random, Path], str]

NUMBERS = (0, 1, -1, 2, 127, 128, 255, 2**31 - 1, -(2**31), 2**31, 2**32 - 1, 2**63 - 1, -(2**63), 10**19)
ENDINGS = (".deleted", ".cleaned", ".swap", ".tmp", ".old", ".part", ".checkpoint")
HEADER_FIELDS = tuple((field.offset, field.size) for field in BATCH.fields[:-2])
"""Place and size in bytes of the fields of a batch header, without base sequence and records count."""
MOST_BATCHES = 10_000


def _files(directory: Path, pattern: str = "*") -> list[Path]:
    return [path for path in sorted(directory.glob(pattern)) if path.is_file() and not path.is_symlink()]


def of_a_file(*patterns: str, is_empty: bool = False) -> Callable[[Change], Mutation]:
    """Make a mutation of what changes a file: one of a pattern is chosen; without bytes if that is said."""

    def made(change: Change) -> Mutation:
        def mutated(random: Random, directory: Path) -> str | None:
            pattern = random.choice(patterns) if len(patterns) > 1 else (*patterns, "*")[0]
            found = [path for path in _files(directory, pattern) if is_empty or path.stat().st_size]
            return change(random, random.choice(found)) if found else None

        return mutated

    return made


def _edited(path: Path, edit: Callable[[bytearray], object]) -> None:
    data = bytearray(path.read_bytes())
    edit(data)
    path.write_bytes(data)


def batches(data: bytes | bytearray) -> list[int]:
    """Return where batches begin, by their lengths alone."""
    found, position = [], 0
    while len(found) < MOST_BATCHES and position + HEADER_SIZE <= len(data):
        found.append(position)
        length: int = struct.unpack_from(">i", data, position + 8)[0]
        if length < 14:
            break
        position += LOG_OVERHEAD + length
    return found


@of_a_file()
def flip_a_bit(random: Random, path: Path) -> str:
    at, bit = random.randrange(path.stat().st_size), random.randrange(8)
    _edited(path, lambda data: data.__setitem__(at, data[at] ^ 1 << bit))
    return f"bit {bit} of byte {at} of {path.name} flipped"


@of_a_file("*.log*")
def set_a_header_field(random: Random, path: Path) -> str:
    at, (place, size) = random.choice(batches(path.read_bytes()) or [0]), random.choice(HEADER_FIELDS)
    value = random.choice((*NUMBERS, random.getrandbits(64))) & (1 << 8 * size) - 1
    _edited(path, lambda data: data.__setitem__(slice(at + place, at + place + size), value.to_bytes(size)))
    return f"field at {place} of the batch at {at} of {path.name} set to {value}"


@of_a_file("*.log")
def flip_a_sign_of_a_base_offset(random: Random, path: Path) -> str:
    at = random.choice(batches(path.read_bytes()) or [0])
    _edited(path, lambda data: data.__setitem__(at, data[at] ^ 0x80))
    return f"sign of the base offset at {at} of {path.name} flipped"


@of_a_file()
def cut_the_tail(random: Random, path: Path) -> str:
    size = path.stat().st_size
    cut = random.choice((1, random.randint(1, min(size, 70)), random.randint(1, size)))
    os.truncate(path, max(size - cut, 0))
    return f"{path.name} cut by {cut} bytes"


@of_a_file()
def zero_a_range(random: Random, path: Path) -> str:
    size = path.stat().st_size
    start, length = random.randrange(size), random.randint(1, size)
    _edited(
        path, lambda data: data.__setitem__(slice(start, start + length), bytes(min(length, size - start)))
    )
    return f"{length} bytes from {start} of {path.name} zeroed"


@of_a_file()
def append(random: Random, path: Path) -> str:
    data = path.read_bytes()
    start = random.randrange(len(data))
    more = random.choice(
        (bytes(random.randint(1, 200)), random.randbytes(random.randint(1, 200)), data[start:])
    )
    path.write_bytes(data + more)
    return f"{len(more)} bytes added to {path.name}"


@of_a_file()
def repeat_a_range(random: Random, path: Path) -> str:
    data = path.read_bytes()
    start = random.randrange(len(data))
    end = random.randint(start + 1, len(data))
    path.write_bytes(data[:end] + data[start:])
    return f"bytes {start} to {end} of {path.name} repeated"


@of_a_file("*.index", "*.timeindex", "*.txnindex")
def set_an_index_entry(random: Random, path: Path) -> str:
    size = {".index": 8, ".timeindex": 12}.get(path.suffix, 34)
    slots = path.stat().st_size // size
    slot = random.randint(0, slots)
    entry = random.choice(
        (bytes(size), b"\xff" * size, random.randbytes(size), b"\0" * (size - 4) + random.randbytes(4))
    )
    insert = random.random() < 0.5
    _edited(path, lambda data: data.__setitem__(slice(slot * size, (slot + (not insert)) * size), entry))
    return f"entry {slot} of {path.name} {'added' if insert else 'set'}"


def damage_a_text(random: Random, directory: Path) -> str | None:
    """Change a number or a line of a checkpoint or of properties."""
    texts = [
        path
        for path in _files(directory)
        if "." not in path.name or path.suffix in {".metadata", ".properties"}
    ]
    texts = [path for path in texts if path.stat().st_size and not path.name.startswith("remote_log")]
    if not texts:
        return None
    path = random.choice(texts)
    text = path.read_bytes().decode("latin-1")
    lines = text.splitlines(keepends=True)
    at = random.randrange(len(lines)) if lines else 0
    word = str(random.choice((*NUMBERS, "x", "", "1.5", " 7", "7 ", "\u0663", "-0", "+1", "007")))
    change = random.choice(("number", "drop", "repeat", "swap", "empty", "garbage"))
    if change == "number":
        numbers = list(re.finditer(r"-?[0-9]+", text))
        if numbers:
            found = random.choice(numbers)
            text = text[: found.start()] + word + text[found.end() :]
    elif change == "drop":
        text = "".join(lines[:at] + lines[at + 1 :])
    elif change == "repeat":
        text = "".join([*lines[:at], *lines[at : at + 1] * 2, *lines[at + 1 :]])
    elif change == "swap":
        random.shuffle(lines)
        text = "".join(lines)
    else:
        text = "" if change == "empty" else random.randbytes(30).decode("latin-1")
    path.write_bytes(text.encode("utf-8" if "\u0663" in text else "latin-1"))
    return f"{path.name}: {change}"


@of_a_file(is_empty=True)
def remove_a_file(random: Random, path: Path) -> str:
    path.unlink()
    return f"{path.name} removed"


@of_a_file(is_empty=True)
def rename_a_file(random: Random, path: Path) -> str:
    stem, _, rest = path.name.partition(".")
    offset = random.choice((*NUMBERS, random.randrange(200)))
    name = random.choice(
        (
            path.name + random.choice(ENDINGS),
            f"{offset:020d}.{rest}",
            f"{offset}.{rest}",
            f"{stem}.old.{rest}",
            f"x.{rest}",
            f"{stem}.{random.choice(('log', 'index', 'timeindex', 'txnindex', 'snapshot'))}",
        )
    )
    path.rename(path.with_name(name))
    return f"{path.name} renamed to {name}"


@of_a_file(is_empty=True)
def copy_a_file(random: Random, path: Path) -> str:
    _, _, rest = path.name.partition(".")
    name = random.choice((path.name + random.choice(ENDINGS), f"{random.randrange(300):020d}.{rest}"))
    path.with_name(name).write_bytes(path.read_bytes())
    return f"{path.name} copied to {name}"


def swap_two_files(random: Random, directory: Path) -> str | None:
    found = _files(directory)
    if len(found) < 2:
        return None
    one, other = random.sample(found, 2)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    return f"{one.name} and {other.name} swapped"


@of_a_file()
def empty_a_file(random: Random, path: Path) -> str:
    path.write_bytes(b"")
    return f"{path.name} emptied"


@of_a_file(is_empty=True)
def replace_a_file(random: Random, path: Path) -> str:
    """Put what is no regular file in the place of one."""
    path.unlink()
    what = random.choice(("directory", "pipe", "broken link", "link to itself"))
    if what == "directory":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere" if what == "broken link" else path.name)
    return f"{path.name} replaced by a {what}"


def add_a_stray_file(random: Random, directory: Path) -> str | None:
    name = random.choice(
        (
            "00000000000000000007.snapshot",
            f"{random.randrange(300):020d}.snapshot",
            f"{random.randrange(300):020d}.log",
            f"{random.randrange(300):020d}.txnindex",
            f"{random.randrange(300):020d}-0000000001.checkpoint",
            "remote_log_snapshot",
            "leader-epoch-checkpoint",
            "quorum-state",
            ".lock",
            "\udcff.log",
            "notes.txt",
        )
    )
    data = random.choice(
        (b"", bytes(64), random.randbytes(64), BATCH.pack(BATCH.read(random.randbytes(HEADER_SIZE))))
    )
    (directory / name).write_bytes(data)
    return f"{name!r} added"


MUTATIONS: tuple[Mutation, ...] = (
    flip_a_bit,
    flip_a_bit,
    set_a_header_field,
    set_a_header_field,
    flip_a_sign_of_a_base_offset,
    cut_the_tail,
    cut_the_tail,
    zero_a_range,
    append,
    repeat_a_range,
    set_an_index_entry,
    set_an_index_entry,
    damage_a_text,
    damage_a_text,
    remove_a_file,
    rename_a_file,
    copy_a_file,
    swap_two_files,
    empty_a_file,
    replace_a_file,
    add_a_stray_file,
)


def mutate(random: Random, directory: Path) -> list[str]:
    """Change a directory in one to three ways; return them in words."""
    made = [random.choice(MUTATIONS)(random, directory) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    return [words for words in made if words is not None]
