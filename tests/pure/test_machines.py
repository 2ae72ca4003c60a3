"""Disks and clocks of their own are refused in one sentence where they cannot be, and every mount of ours is found again."""

from pathlib import Path

import pytest

from compose import clocks, disks
from compose.clocks import check_clocks, clock_environment, clock_text, faketime, set_clock
from compose.disks import Disk, check_disks, mount_points, write_refused
from compose.spec import ClusterSpec
from kernel.errors import UsageError

MOUNTS = [
    "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
    "90 22 0:55 / /state/abc/node-3/data rw,relatime - tmpfs tmpfs rw,size=65536k",
    "91 22 7:0 / /state/with\\040blank/node-3/data-2 rw - ext4 /dev/loop0 rw",
    "92 22 7:1 / /state/abcd/node-1/data rw - ext4 /dev/loop1 rw",
    "nonsense",
]


def test_only_what_is_mounted_below_the_folder_is_found():
    assert mount_points(MOUNTS, "/state/abc/") == ["/state/abc/node-3/data"]
    assert mount_points(MOUNTS, "/state/with blank/") == ["/state/with blank/node-3/data-2"]
    assert mount_points(MOUNTS, "/elsewhere/") == []


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"kind": "floppy"}, "disk kind 'floppy' is not known: choose one of tmpfs, ext4."),
        ({"mb": 1}, "a disk of 1 MB is too small for a broker: give 32 MB or more."),
    ],
)
def test_a_disk_that_cannot_be_is_named(wish: dict[str, object], sentence: str):
    with pytest.raises(UsageError) as refused:
        Disk(1, **wish)  # type: ignore[arg-type]

    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"disks": (Disk(4),)}, "node 4 does not exist: the cluster has 1, 2, 3."),
        ({"clocks": (9,)}, "node 9 does not exist: the cluster has 1, 2, 3."),
        ({"disks": (Disk(3, directory=2),)}, "the log directory of a disk 2 is out of range: choose 1 to 1."),
    ],
)
def test_a_cluster_without_that_node_is_refused(wish: dict[str, object], sentence: str):
    with pytest.raises(UsageError) as refused:
        ClusterSpec(**wish)  # type: ignore[arg-type]

    assert str(refused.value) == sentence


def test_in_containers_there_are_neither_disks_nor_clocks_of_their_own():
    with pytest.raises(UsageError, match="disks of their own need brokers as processes: use --provider processes"):
        check_disks((Disk(1),), "containers")
    with pytest.raises(UsageError, match="clocks that can be set need brokers as processes: use --provider processes"):
        check_clocks((1,), "containers")
    check_disks((), "containers")
    check_clocks((), "containers")


def test_without_root_a_disk_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disks.os, "geteuid", lambda: 1000)

    with pytest.raises(UsageError, match="disks of their own need root, to mount them"):
        check_disks((Disk(1),), "processes")


def test_without_the_tools_of_ext4_only_ext4_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disks.os, "geteuid", lambda: 0)
    monkeypatch.setattr(disks.shutil, "which", lambda *_, **__: None)

    with pytest.raises(UsageError, match=r"mkfs.ext4 is not on this machine, and an ext4 disk needs it: install e2fsprogs"):
        check_disks((Disk(1, kind="ext4"),), "processes")
    check_disks((Disk(1),), "processes")


def test_without_libfaketime_a_clock_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clocks, "faketime", lambda: None)

    with pytest.raises(UsageError, match=r"libfaketime.so.1 is not on this machine, .*: install libfaketime"):
        check_clocks((1,), "processes")


def test_libfaketime_is_found_where_it_is(tmp_path: Path):
    assert faketime([str(tmp_path)]) is None

    library = tmp_path / "faketime" / "libfaketime.so.1"
    library.parent.mkdir()
    library.touch()
    assert faketime(["/nowhere", str(tmp_path)]) == library


def test_a_clock_is_told_by_a_file(tmp_path: Path):
    set_clock(tmp_path, -3600)

    assert (tmp_path / "clock").read_text() == "-3600s\n" == clock_text(-3600)
    assert clock_text(0) == "+0s\n"
    assert clock_environment("/home")["FAKETIME_TIMESTAMP_FILE"] == "/home/clock"
    assert clock_environment("/home")["FAKETIME_DONT_FAKE_MONOTONIC"] == "1"


def test_a_write_that_is_taken_is_not_called_refused(tmp_path: Path):
    assert write_refused(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []
    assert write_refused(tmp_path / "nowhere") == "No such file or directory"
