"""Formatted storage without a JVM: the template with a node's own names."""

import json

from compose.storage import new_uuid, node_storage

TEMPLATE = {
    "meta.properties": b"#made\nversion=1\ncluster.id=old\nnode.id=1\ndirectory.id=x\n",
    "bootstrap.checkpoint": b"\x00\x01",
}


def names(files: dict[str, bytes]) -> dict[str, str]:
    return dict(line.split("=", 1) for line in files["meta.properties"].decode().splitlines())


def test_a_node_gets_its_own_names_and_the_templates_features():
    files = node_storage(TEMPLATE, "cluster", 2, (1, 2, 3))

    assert names(files) | {"directory.id": "any"} == {
        "version": "1",
        "cluster.id": "cluster",
        "node.id": "2",
        "directory.id": "any",
    }
    assert files["bootstrap.checkpoint"] == TEMPLATE["bootstrap.checkpoint"]
    assert names(files)["directory.id"] != names(node_storage(TEMPLATE, "cluster", 3, (1, 2, 3)))["directory.id"]


def test_only_the_first_voter_stands_for_election_at_once():
    voted = {
        node: json.loads(node_storage(TEMPLATE, "c", node, (1, 2, 3))["__cluster_metadata-0/quorum-state"])["votedId"]
        for node in (1, 2, 3)
    }

    assert voted == {1: 1, 2: -1, 3: -1}
    assert "__cluster_metadata-0/quorum-state" not in node_storage(TEMPLATE, "c", 4, (1, 2, 3))
    assert "__cluster_metadata-0/quorum-state" not in node_storage(TEMPLATE, "c", 1, (1,)), "Kafka 3.9 would not start"


def test_no_uuid_begins_like_an_option():
    assert not [uuid for uuid in (new_uuid() for _ in range(2000)) if uuid.startswith("-") or len(uuid) != 22]
