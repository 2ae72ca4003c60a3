"""Disks and clocks of their own are refused in one sentence where they cannot be; disks are mended, thawed and found."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from compose import clocks, disks
from compose.clocks import check_clocks, clock_environment, clock_text, faketime, set_clock
from compose.cluster import Cluster
from compose.disks import Disk, check_disks, mount_points, write_refused
from compose.on_machines import OnMachines
from compose.spec import ClusterSpec
from compose.state import ClusterState
from kernel.cluster import ClusterAddress
from kernel.errors import NotReady, UsageError

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


# ---- what a disk can do ---------------------------------------------------------------------------------------


class Machine(OnMachines):
    """Of one node whose disks are folders; what is done to it is written down."""

    provider, direct_address = "processes", ClusterAddress("127.0.0.1:1")

    def __init__(self, folder: Path, *disks: Disk) -> None:
        self.spec, self._folder = ClusterSpec(brokers=1, log_dirs=2, disks=disks), folder
        self.done: list[str] = []

    def start(self, broker: int, *, wait: bool = True) -> None:
        self.done.append("started")

    def stop(self, broker: int) -> None:
        self.done.append("stopped")

    def create_topic(self, topic: str, **_: object) -> None: ...

    def _known(self, node: int) -> None: ...

    def _disk(self, node: int, directory: int) -> Path:
        return self._folder


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    one = Machine(tmp_path, Disk(1), Disk(1, 2, "ext4"))
    for verb in ("fail", "freeze", "mend", "make_room"):
        monkeypatch.setattr(disks, verb, lambda _, verb=verb: one.done.append(verb))
    return one


@pytest.mark.parametrize(("verb", "what"), [("fail_disk", "fail"), ("freeze_disk", "stall")])
def test_a_tmpfs_can_neither_fail_nor_stall(machine: Machine, verb: str, what: str):
    with pytest.raises(UsageError) as refused:
        getattr(machine, verb)(1)

    sentence = f"the disk of log directory 1 of node 1 is a tmpfs, which cannot {what}: start with "
    assert str(refused.value) == sentence + 'disks=(Disk(1, 1, kind="ext4"),).'
    assert machine.done == []


def test_an_ext4_can_do_both(machine: Machine):
    machine.fail_disk(1, 2)
    machine.freeze_disk(1, 2)

    assert machine.done == ["fail", "freeze"]


@pytest.mark.parametrize(("directory", "healed"), [(1, ["make_room"]), (2, ["mend", "make_room"])], ids=["tmpfs", "ext4"])
def test_there_is_room_on_a_mended_disk_of_either_kind(machine: Machine, directory: int, healed: list[str]):
    machine.mend_disk(1, directory)

    assert machine.done == ["stopped", *healed, "started"]


def test_a_disk_that_cannot_be_frozen_is_told_in_a_sentence(tmp_path: Path):
    with pytest.raises(
        NotReady, match=rf"^the disk at {tmp_path}/nowhere could not be frozen: No such file or directory\.$"
    ):
        disks.freeze(tmp_path / "nowhere")


def test_disks_are_thawed_before_brokers_are_ended_who_may_wait_for_them(monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []
    monkeypatch.setattr("compose.cluster.thaw_under", lambda folder: done.append(f"{folder.name} thawed"))
    monkeypatch.setattr("compose.cluster.demolish", lambda _: done.append("all removed"))
    cluster = Cluster()
    cluster._state = ClusterState("abc", "processes", owner=(1, 0.0))
    cluster._provider = SimpleNamespace(close=lambda: done.append("brokers ended"))  # type: ignore[assignment]

    cluster.close()

    assert done == ["abc thawed", "brokers ended", "all removed"]
