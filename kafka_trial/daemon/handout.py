"""Configuration files for a cluster that we started, so that watching it takes one more command."""

import json
from pathlib import Path

from compose.cluster import Cluster
from kernel.cluster import ClusterAddress


def write_daemon_files(cluster: Cluster) -> dict[str, str]:
    """For `kafka-trial exporter`, `probe` and `lag-monitor`, beside the files for clients. Owner only, as those."""
    folder = cluster.folder / "client"
    texts = {
        "exporter": exporter_file(cluster),
        "probe": probe_file(cluster.address, folder),
        "lag-monitor": lag_file(cluster.folder.name, cluster.address, folder),
    }
    return {name: _write(folder / f"{name}.toml", text) for name, text in texts.items()}


def exporter_file(cluster: Cluster) -> str:
    """By Jolokia where the nodes have it, as that is the fastest; else by JMX, which they always have."""
    jolokia = cluster.spec.jolokia
    containers = {node: name for node in cluster.nodes if (name := cluster.container(node))}
    lines = [
        "interval = 5",
        "max_age = 20",
        "",
        "[[clusters]]",
        f"name = {_text(cluster.folder.name)}",
        f"collector = {_text('jolokia' if jolokia else 'jmxquery')}",
        f"host = {_text('containers' if containers else 'local')}",
        f"nodes = {_table({node: cluster.jolokia_url(node) if jolokia else cluster.jmx(node) for node in cluster.nodes})}",
    ]
    return "\n".join([*lines, *([f"containers = {_table(containers)}"] if containers else [])]) + "\n"


def probe_file(address: ClusterAddress, folder: Path) -> str:
    return "\n".join(_kafka("kafka", address, folder)) + "\n"


def lag_file(name: str, address: ClusterAddress, folder: Path) -> str:
    """Impatient, for a cluster to play with: what is broken by hand is to be seen soon."""
    lines = ["interval = 2", "", "[judge]", "quiet = 20", "slow = 5", "", "[[clusters]]", f"name = {_text(name)}"]
    return (
        "\n".join([*lines, "topics_every = 10", "groups_every = 5", "", *_kafka("clusters.kafka", address, folder)]) + "\n"
    )


def _kafka(table: str, address: ClusterAddress, folder: Path) -> list[str]:
    told = {
        "bootstrap": address.bootstrap,
        "protocol": address.protocol,
        "ca_file": address.ca_file,
        "cert_file": address.certificate_file,
        "key_file": address.key_file,
        "sasl_mechanism": address.sasl_mechanism,
    }
    lines = [f"[{table}]", *(f"{key} = {_text(value)}" for key, value in told.items() if value)]
    if address.username and address.password:
        _write(folder / "password", address.password + "\n")
        lines += ["", f"[{table}.login]", f"username = {_text(address.username)}", 'password_file = "password"']
    return lines


def _write(file: Path, text: str) -> str:
    file.touch(mode=0o600)
    file.write_text(text)
    return str(file)


def _text(value: str) -> str:
    return json.dumps(value)  # TOML's strings in double quotes are JSON's


def _table(values: dict[int, str]) -> str:
    return "{ " + ", ".join(f"{node} = {_text(value)}" for node, value in values.items()) + " }"
