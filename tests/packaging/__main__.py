"""`python -m tests.packaging [DIR]` builds every distribution; `--small` those that this Python can run."""

import os
import shutil
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from tests.packaging.folder import glibc, lay
from tests.packaging.man_page import man_page
from tests.packaging.one_file import write
from tests.packaging.pieces import EVERY, FOLDER, HERE, ROOT, download, interpreter, run

SHARED = {
    "bash": "bash-completion/completions/kcli",
    "zsh": "zsh/site-functions/_kcli",
    "fish": "fish/vendor_completions.d/kcli.fish",
}
"""Where a shell looks below share/ for the completion of a command."""


def main():
    """Build everything, or for a test what this Python and this machine run, the folder not packed."""
    small = "--small" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--small"]
    target = Path(words[0] if words else "dist").resolve()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "kcli.1").write_text(man_page())
    wheel = packages(target)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        places = [HERE] if small else EVERY
        folder = target / "kcli" if small else Path(scratch) / "kcli"
        done = [pool.submit(one_file, wheel, place, Path(scratch), target) for place in places]
        if HERE.machine == "x86_64":  # it compiles itself
            done.append(pool.submit(whole_folder, wheel, Path(scratch), folder, compiled=not small))
        for each in done:
            each.result()
        if not small and HERE.machine == "x86_64":
            pack(folder, target / FOLDER)
            print(f"{FOLDER} runs with glibc {glibc(folder)} and newer")
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size / 1e6:7.2f} MB  {path.name}")


def packages(target):
    """Build sdist and wheel, the wheel from the sdist, of a copy of the checkout; return the wheel."""
    with tempfile.TemporaryDirectory() as scratch:
        words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = run([*words, "formats", "kcli", "commands", "pyproject.toml", "README.md", "LICENSE"])
        for name in filter(None, listed.split("\0")):
            if os.path.exists(ROOT / name):
                copy = Path(scratch, name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, copy)
        described = run(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
        Path(scratch, "kcli", "commit.txt").write_text(described)
        with open(Path(scratch, "pyproject.toml"), "a") as declared:
            declared.write(urls(run(["git", "config", "--default", "", "--get", "remote.origin.url"])))
        write_shared(Path(scratch, "share"))
        run([sys.executable, "-m", "build", "--no-isolation", "--outdir", target, scratch])
    (wheel,) = target.glob("*.whl")
    return wheel


def urls(origin):
    """Return the table of project URLs: where the checkout was cloned from over https, without a password."""
    place = urlsplit(origin.strip().removesuffix(".git"))
    if place.scheme != "https":
        return ""
    home = f"https://{place.netloc.rpartition('@')[2]}{place.path}"
    return f'\n[project.urls]\nSource = "{home}"\nIssues = "{home}/issues"\n'


def write_shared(share):
    """Write what a wheel installs beside the packages: the man page, and the completion of each shell."""
    texts = {"man/man1/kcli.1": man_page()} | {
        path: run([sys.executable, "-m", "kcli", "completion", shell]) for shell, path in SHARED.items()
    }
    for path, text in texts.items():
        (share / path).parent.mkdir(parents=True)
        (share / path).write_text(text)


def one_file(wheel, place, scratch, target):
    write(download(wheel, place, scratch), place, target / place.file)


def whole_folder(wheel, scratch, folder, *, compiled):
    wheels = download(wheel, EVERY[0], scratch / "folder")
    lay(interpreter(), wheels, folder, compiled=compiled)


def pack(folder, target):
    """Pack a folder, owned by root, its files as old as the commit."""
    seconds = int(run(["git", "log", "-1", "--format=%ct"]))

    def anonymous(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = seconds
        return entry

    with tarfile.open(target, "w:gz", compresslevel=9) as archive:
        archive.add(folder, folder.name, filter=anonymous)


if __name__ == "__main__":
    main()
