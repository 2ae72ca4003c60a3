"""Which clusters this machine has, who owns each, and how to make one vanish completely.

A cluster is a folder under one known root. Its processes carry the cluster's id in their environment and its
containers carry it as a label, so that nothing has to be written down in the right moment to be found again: whatever
bears the mark of a cluster whose owner is dead gets removed.
"""

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock

from compose.cache import out_of_space_explained
from compose.disks import thaw_under, unmount_under
from kernel.errors import NoSpace

MARK = "KAFKA_TRIAL_CLUSTER"  # environment variable of our processes
LABEL = "kafka-trial.cluster"  # label of our containers, networks and volumes
NEEDED_MB = 150  # three idle brokers take 60 MB; below this a broker would die soon and say little


def state_root() -> Path:
    if own := os.environ.get("KAFKA_TRIAL_STATE"):
        return Path(own)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kafka-trial" / "clusters"


@dataclass
class ClusterState:
    """What `state.json` says of a cluster. `owner` is None when it was detached and lives until `down`."""

    cluster: str
    provider: str
    owner: tuple[int, float] | None  # process id and when that process began: ids are used again
    facts: dict[str, Any] = field(default_factory=dict)  # bootstrap, JMX and so on, for `status`

    @property
    def folder(self) -> Path:
        return state_root() / self.cluster

    def save(self) -> None:
        aside = self.folder / "state.json.new"
        aside.write_text(json.dumps(asdict(self), indent=1))
        aside.replace(self.folder / "state.json")

    @property
    def orphaned(self) -> bool:
        return self.owner is not None and not _alive(*self.owner)


def new_state(cluster: str, provider: str) -> ClusterState:
    """A folder for a new cluster, owned by this process from its first moment."""
    root = state_root()
    with out_of_space_explained(root):
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if (free := shutil.disk_usage(root).free // 2**20) < NEEDED_MB:
            raise NoSpace(
                f"only {free} MB are free on the disk that holds {root}, and a cluster needs {NEEDED_MB}: free some space, "
                "or point KAFKA_TRIAL_STATE to another disk.",
                where=root,
            )
        state = ClusterState(cluster, provider, owner=this_process())
        aside = root / f".{cluster}.new"
        aside.mkdir(mode=0o700)
        (aside / "state.json").write_text(json.dumps(asdict(state)))
        aside.rename(state.folder)
    return state


def clusters() -> list[ClusterState]:
    found = []
    for file in sorted(state_root().glob("*/state.json"), key=lambda file: file.stat().st_mtime):
        try:
            facts = json.loads(file.read_text())
            owner = tuple(facts["owner"]) if facts["owner"] else None
            found.append(ClusterState(file.parent.name, facts["provider"], owner, facts["facts"]))
        except (OSError, ValueError, KeyError):
            found.append(ClusterState(file.parent.name, "unknown", owner=(0, 0.0)))  # unreadable: nobody owns it
    return found


def sweep() -> list[str]:
    """Remove what interrupted runs left behind. Called at each start; safe when several start at once."""
    root = state_root()
    if not root.exists():
        return []
    with FileLock(root / ".sweep.lock"):
        gone = [state for state in clusters() if state.orphaned]
        for state in gone:
            demolish(state)
        for half in root.glob(".*.new"):
            if half.stat().st_mtime < time.time() - 60:
                shutil.rmtree(half, ignore_errors=True)
    return [state.cluster for state in gone]


def demolish(state: ClusterState) -> None:
    """End every process of a cluster; remove its containers, networks, volumes, mounts and files. Harmless if repeated."""
    thaw_under(state.folder)
    end_processes(state.cluster)
    if state.provider != "processes":
        from compose.containers import remove_everything

        remove_everything(state.cluster)
    unmount_under(state.folder)
    shutil.rmtree(state.folder, ignore_errors=True)


def marked_processes(cluster: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == cluster and process.pid != os.getpid():
                found.append(process)
        except psutil.Error:
            continue  # somebody else's, or already gone
    return found


def end_processes(cluster: str) -> None:
    ours = marked_processes(cluster)
    for process in ours:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(ours, timeout=10)


def this_process() -> tuple[int, float]:
    return os.getpid(), psutil.Process().create_time()


def _alive(pid: int, began: float) -> bool:
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - began) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
