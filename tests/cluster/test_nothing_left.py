"""However our own process ends, nothing of its cluster may stay: no process, container, network, volume, port or folder."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from compose.cluster import Cluster
from compose.state import LABEL, clusters, marked_processes, state_root
from kernel.waiting import wait_until
from tests.cluster.providers import PROVIDERS

# Starts a cluster, tells where it is, and waits for its end; `boom` ends it by an exception.
HOLDER = """
import sys
from compose.cluster import Cluster
with Cluster(brokers=1, provider=sys.argv[1]) as cluster:
    print(cluster.folder.name, cluster.address.bootstrap, flush=True)
    if sys.stdin.readline() == "boom\\n":
        raise ZeroDivisionError
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of this test's own, so that it sees only what it made."""
    monkeypatch.setenv("KAFKA_TRIAL_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def start_holder(provider: str) -> tuple["subprocess.Popen[str]", str, int]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, provider],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert holder.stdout is not None
    name, bootstrap = holder.stdout.readline().split()
    assert left_of(name, provider), "the test would see nothing even if something were left"
    return holder, name, int(bootstrap.split(":")[1])


def left_of(cluster: str, provider: str) -> list[str]:
    left = [f"process {process.pid}" for process in marked_processes(cluster)]
    left += [f"folder {folder.name}" for folder in state_root().glob("*") if not folder.name.startswith(".sweep")]
    if provider == "containers":
        for what in ("container ls --all", "network ls", "volume ls"):
            command = ["docker", *what.split(), "--quiet", "--filter", f"label={LABEL}={cluster}"]
            left += subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return left


def gone(cluster: str, provider: str) -> None:
    wait_until(
        lambda: left_of(cluster, provider), lambda left: not left, what=f"nothing left of {cluster}", timeout=40, every=0.3
    )


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_after_a_signal(provider: str, end: str):
    holder, cluster, port = start_holder(provider)

    holder.send_signal(signal.Signals[end])
    holder.communicate(timeout=40)

    gone(cluster, provider)
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", port))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_after_an_exception_and_after_a_normal_end(provider: str):
    for last_words, code in (("boom\n", 1), ("\n", 0)):
        holder, cluster, _ = start_holder(provider)
        _, errors = holder.communicate(last_words, timeout=40)
        assert holder.returncode == code
        assert ("ZeroDivisionError" in errors) == bool(code)
        assert left_of(cluster, provider) == []


def test_when_the_warden_dies_too_the_next_start_sweeps():
    holder, cluster, _ = start_holder("processes")
    wardens = [child for child in psutil.Process(holder.pid).children() if "compose.warden" in child.cmdline()]
    assert len(wardens) == 1
    wardens[0].kill()
    holder.kill()
    holder.communicate(timeout=10)
    assert left_of(cluster, "processes")
    assert [state.orphaned for state in clusters()] == [True]

    with Cluster(brokers=1, provider="processes") as next_one:
        assert [state.cluster for state in clusters()] == [next_one.folder.name]
        assert marked_processes(cluster) == []


def test_a_start_that_fails_leaves_nothing(own_state: Path):
    from kernel.errors import NotReady

    with pytest.raises(NotReady, match=r"node 1 ended while starting. Its log ends in .*num.io.threads"):
        Cluster(brokers=1, provider="processes", config={"num.io.threads": "none"}).boot()

    assert [folder for folder in own_state.glob("*") if not folder.name.startswith(".")] == []


def test_ten_clusters_in_a_row_leave_nothing():
    def ours() -> tuple[int, int]:
        me = psutil.Process()
        return len(me.children(recursive=True)), len(list(Path("/proc/self/fd").iterdir()))

    with Cluster(brokers=1, provider="processes") as first:
        names = [first.folder.name]
    before = ours()

    for _ in range(10):
        with Cluster(brokers=1, provider="processes") as cluster:
            names.append(cluster.folder.name)

    assert [left_of(name, "processes") for name in names] == [[]] * 11
    assert ours()[0] == before[0]
    assert ours()[1] <= before[1] + 2, "file descriptors pile up"


def test_two_clusters_at_once_do_not_meet():
    with Cluster(brokers=1, provider="processes") as one, Cluster(brokers=1, provider="processes") as two:
        one.create_topic("only-here")

        assert one.address != two.address
        assert one.view.topics() == ["only-here"]
        assert two.view.topics() == []
