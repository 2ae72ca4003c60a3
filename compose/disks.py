"""Log directories on file systems of their own, which can be full or fail without harm to anything else.

tmpfs is enough to be full. ext4, in a file by way of a loop device, can also be frozen, and turns read-only by itself when
it finds an error, as it does on a machine whose disk is dying; nobody can remount it so while a broker writes there. All are
mounted inside the cluster's folder, so whoever removes the folder knows what to unmount: nothing else has to be remembered.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernel.errors import NotReady, SuiteError, UsageError

KINDS = ("tmpfs", "ext4")
BALLAST = ".ballast"
LEAST_MB = 32
FREEZE, THAW = 0xC0045877, 0xC0045878  # Linux: FIFREEZE and FITHAW


@dataclass(frozen=True, slots=True)
class Disk:
    """One log directory of one node that gets a file system of its own."""

    node: int
    directory: int = 1  # which of the node's; the first also has the metadata log
    kind: str = "tmpfs"
    mb: int = 64

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"disk kind {self.kind!r} is not known: choose one of {', '.join(KINDS)}.")
        if self.mb < LEAST_MB:
            raise UsageError(f"a disk of {self.mb} MB is too small for a broker: give {LEAST_MB} MB or more.")


def check_disks(disks: Sequence[Disk], provider: str) -> None:
    """Refused before anything is started, where it cannot be."""
    if not disks:
        return
    if provider != "processes":
        raise UsageError("disks of their own need brokers as processes: use --provider processes.")
    if os.geteuid() != 0:
        raise UsageError("disks of their own need root, to mount them: run it as root, or choose another scenario.")
    missing = [tool for tool in ("mkfs.ext4", "e2fsck") if not _found(tool)]
    if missing and any(disk.kind == "ext4" for disk in disks):
        raise UsageError(f"{missing[0]} is not on this machine, and an ext4 disk needs it: install e2fsprogs.")


def mount_disk(disk: Disk, directory: Path) -> None:
    """Harmless if it is mounted already."""
    if directory.is_mount():
        return
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if disk.kind == "tmpfs":
        _run("mount", "-t", "tmpfs", "-o", f"size={disk.mb}m,mode=0700", "tmpfs", str(directory))
        return
    image = _image(directory)
    with image.open("wb") as file:
        file.truncate(disk.mb * 2**20)
    # Without a journal: what was not flushed is not there after a failure, and nothing else is missing.
    _run("mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", str(image))
    _mount_image(directory)


def fill(directory: Path) -> int:
    """To the last byte, with a file of ours. Returns how many bytes that took."""
    with (directory / BALLAST).open("wb", buffering=0) as file:
        for piece in (1 << 20, 1 << 12, 1):
            with suppress(OSError):  # no space left, as it was to be
                while True:
                    file.write(b"\1" * piece)
        return file.tell()


def make_room(directory: Path) -> None:
    (directory / BALLAST).unlink(missing_ok=True)


def fail(directory: Path) -> None:
    """Have an ext4 disk find an error: from now on it is read-only, and what was not flushed never will be."""
    device = directory.stat().st_dev
    name = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve().name
    trigger = Path("/sys/fs/ext4") / name / "trigger_fs_error"
    if not directory.is_mount() or not trigger.exists():
        raise SuiteError(f"{directory} is not an ext4 disk of its own: start the cluster with one to have it fail.")
    trigger.write_text("kafka-trial")


def flush(directory: Path) -> None:
    """Everything that was written there is on the disk afterwards."""
    _run("sync", "--file-system", str(directory))


def mend(directory: Path) -> None:
    """Check and mount a disk again that failed. Nobody may be using it."""
    _run("umount", str(directory))
    _run("e2fsck", "-f", "-y", str(_image(directory)), good=(0, 1))  # 1: what was wrong has been corrected
    _mount_image(directory)


def unmount_under(folder: Path) -> None:
    """Every file system below a folder; of those in use, the name at least, and the rest goes with its last user."""
    for point in reversed(mounts_under(folder)):
        if subprocess.run(["umount", point], capture_output=True, check=False).returncode:
            subprocess.run(["umount", "--lazy", point], capture_output=True, check=False)


def thaw_under(folder: Path) -> None:
    """Before anybody is ended who may be waiting for a disk: a process cannot even be killed meanwhile."""
    for point in mounts_under(folder):
        thaw(Path(point))


def mounts_under(folder: Path) -> list[str]:
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:  # not Linux: nothing of ours can be mounted there
        return []
    return mount_points(lines, f"{folder.resolve()}/")


def mount_points(lines: Iterable[str], prefix: str) -> list[str]:
    """Of /proc/self/mountinfo's lines, the places that begin so; blanks in them stand there as \\040."""
    places = [line.split(" ")[4].encode().decode("unicode_escape") for line in lines if line.count(" ") > 4]
    return [place for place in places if place.startswith(prefix)]


def write_refused(directory: Path) -> str:
    """What a write there is refused with; "" if it is not."""
    probe = directory / ".probe"
    try:
        probe.write_bytes(b"\1" * 4096)
        probe.unlink()
        return ""
    except OSError as refused:
        with suppress(OSError):  # made, but without content
            probe.unlink(missing_ok=True)
        return refused.strerror or str(refused)


def _mount_image(directory: Path) -> None:
    _run("mount", "-o", "loop,errors=remount-ro", str(_image(directory)), str(directory))
    with suppress(OSError):
        (directory / "lost+found").rmdir()  # a broker takes every folder in its log directory for a partition


def _image(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.ext4")


def _found(tool: str) -> str | None:
    return shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _run(tool: str, *arguments: str, good: tuple[int, ...] = (0,)) -> None:
    done = subprocess.run([_found(tool) or tool, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in good:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NotReady(f"{tool} {' '.join(arguments)} failed: {said[0] if said else f'code {done.returncode}'}.")


def freeze(directory: Path) -> None:
    """Whoever writes there waits until it is thawed; what was written before is on the disk."""
    try:
        _tell(directory, FREEZE)
    except OSError as refused:
        raise NotReady(f"the disk at {directory} could not be frozen: {refused.strerror}.") from refused


def thaw(directory: Path) -> None:
    """Harmless if it is not frozen."""
    with suppress(OSError):
        _tell(directory, THAW)


def _tell(directory: Path, what: int) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.ioctl(handle, what, 0)
    finally:
        os.close(handle)
