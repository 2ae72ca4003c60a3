"""What was downloaded or built once and is used ever after: jars, Toxiproxy, CDS archives, formatted storage.

Each entry is a folder that appears whole or not at all (built aside, then renamed), made by one process while others
wait, and carries the SHA-256 of every file so that damage is noticed instead of started.
"""

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from kernel.errors import DamagedCache, NoSpace

SUMS = "SHA256SUMS"  # the format of sha256sum, so that `sha256sum -c` can be run on it too
_verified: set[Path] = set()


def cache_root() -> Path:
    if own := os.environ.get("KAFKA_TRIAL_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-trial"


def cached(entry: str, build: Callable[[Path], None], *, mend: str) -> Path:
    """The folder `entry` of the cache, built on first use. `mend` tells the user how to have a damaged one made anew."""
    folder = cache_root() / entry
    if not (folder / SUMS).exists():
        with out_of_space_explained(cache_root()):
            _build_once(folder, build)
    if folder not in _verified:  # once per process: a broker that restarts should not hash its jars again
        verify(folder, mend=mend)
        _verified.add(folder)
    return folder


def forget(entry: str) -> None:
    folder = cache_root() / entry
    _verified.discard(folder)
    shutil.rmtree(folder, ignore_errors=True)


def verify(folder: Path, *, mend: str) -> None:
    for line in (folder / SUMS).read_text().splitlines():
        wanted, _, name = line.partition("  ")
        file = folder / name
        if not file.exists():
            raise DamagedCache(f"{file.name} is missing from the cache at {folder}: {mend}.", file=file)
        if (found := _sha256(file)) != wanted:
            raise DamagedCache(
                f"{file.name} in the cache at {folder} is damaged (SHA-256 begins {found[:8]}, should begin {wanted[:8]}): "
                f"{mend}.",
                file=file,
            )


@contextmanager
def out_of_space_explained(where: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        variable = "KAFKA_TRIAL_CACHE" if where == cache_root() else "KAFKA_TRIAL_STATE"
        raise NoSpace(
            f"the disk that holds {where} is full: free some space, or point {variable} to another disk.", where=where
        ) from error


def raise_if_full(where: Path, output: str) -> None:
    """A program we started failed: tell a full disk from everything else, because programs tell it in their own ways."""
    if "No space left" in output or shutil.disk_usage(where).free < 2**20:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _build_once(folder: Path, build: Callable[[Path], None]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f".{folder.name}.lock"):
        if (folder / SUMS).exists():
            return  # another process was first
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            build(aside)
            sums = (f"{_sha256(file)}  {file.relative_to(aside)}\n" for file in sorted(aside.rglob("*")) if file.is_file())
            (aside / SUMS).write_text("".join(sums))
            shutil.rmtree(folder, ignore_errors=True)  # an entry without its sums was never finished
            aside.rename(folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
