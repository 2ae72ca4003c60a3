"""Show the clusters on this machine and how each is doing."""

import json
from pathlib import Path
from typing import Any

from compose.handout import read_client_properties
from compose.state import ClusterState, clusters
from compose.view import ClusterView
from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import out
from kernel.cluster import ClusterAddress
from kernel.errors import NotReady


def status(as_json: AsJson = False) -> None:
    rows = [_look(state) for state in clusters()]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    if not rows:
        out.print("No cluster runs here. Start one with: kafka-trial up")
    for row in rows:
        out.print(f"{row['cluster']}  {row['health']}", markup=False)
        out.print(f"{'':10}  Kafka {row['kafka']}, {row['security']}, {row['provider']}, {row['owner']}", markup=False)
        out.print(f"{'':10}  {row['bootstrap']}", markup=False)


def _look(state: ClusterState) -> dict[str, Any]:
    owner = (
        "detached"
        if state.owner is None
        else "orphaned, goes at the next start"
        if state.orphaned
        else f"owned by process {state.owner[0]}"
    )
    known = {name: state.facts.get(name, "unknown") for name in ("kafka", "security", "bootstrap")}
    return {"cluster": state.cluster, "provider": state.provider, "owner": owner, "health": _health(state)} | known


def _health(state: ClusterState) -> str:
    """As seen from outside. A password is kept in the cluster's own folder, and used, never shown."""
    if "bootstrap" not in state.facts:
        return "starting"
    view = ClusterView(lambda: _addresses(state))
    try:
        wanted, alive = set(state.facts["brokers"]), view.brokers()
        behind = [str(partition) for partition in view.partitions() if not partition.fully_replicated]
    except NotReady:
        return "does not answer"
    finally:
        view.close()
    if missing := sorted(wanted - alive):
        return f"broker {', '.join(map(str, missing))} of {len(wanted)} down, {len(behind)} partitions under-replicated"
    return f"{len(behind)} partitions under-replicated" if behind else f"healthy, {len(wanted)} brokers"


def _addresses(state: ClusterState) -> dict[int, ClusterAddress]:
    file = Path(state.facts["client_properties"]["librdkafka"])
    doors = state.facts["direct"].split(",")
    return {broker: read_client_properties(file, door) for broker, door in zip(state.facts["brokers"], doors, strict=True)}
