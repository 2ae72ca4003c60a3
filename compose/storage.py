"""Formatted storage, from a template instead of a JVM.

`kafka-storage format` costs a second of JVM per node and writes the same bytes each time but for three names. So it is
run once per Kafka version, and each node gets a copy with its own names. What is copied is data, so that one provider
writes it to a folder and the other into a volume.
"""

import base64
import json
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from compose.broker_config import as_properties
from compose.cache import cached
from compose.spec import ClusterSpec
from kernel.errors import SuiteError, UsageError

TOOL = "kafka.tools.StorageTool"
META = "meta.properties"
FILES = (META, "bootstrap.checkpoint")
RunTool = Callable[[Path, Sequence[str]], subprocess.CompletedProcess[str]]


def new_uuid() -> str:
    """A Kafka uuid. One that begins with a dash would be taken for an option by Kafka's own tools: draw again."""
    while (text := base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")).startswith("-"):
        pass
    return text


def storage_template(spec: ClusterSpec, run_tool: RunTool) -> dict[str, bytes]:
    """The files of a freshly formatted log directory, from the cache or by running the storage tool once."""
    choice = _choice(spec)
    key = sha256(" ".join(choice).encode()).hexdigest()[:8] if choice else "default"

    def build(into: Path) -> None:
        for name, content in format_storage(spec, run_tool, into / "scratch").items():
            (into / name).write_bytes(content)

    folder = cached(f"storage/{spec.kafka}-{key}", build, mend="run `kafka-trial fetch --again`")
    return {name: (folder / name).read_bytes() for name in FILES}


def format_storage(spec: ClusterSpec, run_tool: RunTool, scratch: Path, *, scram: str | None = None) -> dict[str, bytes]:
    """Run Kafka's storage tool on a throw-away node 1 in `scratch`, and keep what it wrote.

    `scram` is a first user with its password. It comes this way because a cluster that lets nobody in without a
    password has nobody who could create the first one; such storage is never cached.
    """
    scratch.mkdir(mode=0o700)
    try:
        settings = {
            "node.id": "1",
            "process.roles": "broker,controller",
            "controller.quorum.voters": "1@localhost:1",
            "controller.listener.names": "CONTROLLER",
            "listeners": "PLAINTEXT://localhost:2,CONTROLLER://localhost:1",
            "log.dirs": f"{scratch}/data",
        }
        (scratch / "format.properties").write_text(as_properties(settings))
        arguments = ["format", "--cluster-id", new_uuid(), "--config", f"{scratch}/format.properties", *_choice(spec)]
        done = run_tool(scratch, arguments + (["--add-scram", scram] if scram else []))
        if done.returncode or not (scratch / "data" / META).exists():
            _explain(done, _choice(spec))
        return {name: (scratch / "data" / name).read_bytes() for name in FILES}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def node_storage(template: Mapping[str, bytes], cluster_id: str, node: int, voters: Sequence[int]) -> dict[str, bytes]:
    """The log directory of one node: the template with the node's own names, ready for an immediate first election."""
    names = dict(line.split("=", 1) for line in template[META].decode().splitlines() if "=" in line)
    names |= {"cluster.id": cluster_id, "node.id": str(node), "directory.id": new_uuid()}
    files = dict(template) | {META: as_properties(names).encode()}
    # A voter alone elects itself at once anyway, and Kafka 3.9 does not survive to find that it has already done so.
    if node in voters and len(voters) > 1:
        files["__cluster_metadata-0/quorum-state"] = _first_vote(node, voters)
    return files


def log_directories(first: Mapping[str, bytes], names: Sequence[str]) -> dict[str, bytes]:
    """All of a node's, by their names: the first with everything, the others empty but for an identity of their own."""
    files = {f"{names[0]}/{name}": content for name, content in first.items()}
    for name in names[1:]:
        identity = dict(line.split("=", 1) for line in first[META].decode().splitlines() if "=" in line)
        files[f"{name}/{META}"] = as_properties(identity | {"directory.id": new_uuid()}).encode()
    return files


def _first_vote(node: int, voters: Sequence[int]) -> bytes:
    """What a voter remembers of the quorum. Normally nothing, so that all wait out a random election timeout of up to two
    seconds. Here the first voter remembers having stood for election, so it asks for votes the moment it is up."""
    state = {
        "clusterId": "",
        "leaderId": -1,
        "leaderEpoch": 1,
        "votedId": voters[0] if node == voters[0] else -1,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": voter} for voter in voters],
        "data_version": 0,
    }
    return json.dumps(state).encode()


def _choice(spec: ClusterSpec) -> list[str]:
    release = ["--release-version", spec.metadata_version] if spec.metadata_version else []
    features = [part for name, level in sorted(spec.features.items()) for part in ("--feature", f"{name}={level}")]
    return release + features


def _explain(done: subprocess.CompletedProcess[str], choice: Sequence[str]) -> None:
    lines = [line for line in (done.stderr + done.stdout).strip().splitlines() if line and not line.startswith("\tat ")]
    said = next((line for line in lines if "Exception" in line or "rror" in line), lines[-1] if lines else "nothing")
    if choice:
        raise UsageError(f"storage cannot be formatted with {' '.join(choice)}: Kafka says {said!r}.", choice=list(choice))
    raise SuiteError(f"storage could not be formatted: Kafka says {said!r}.")
