"""Who has what in a group, written into the store: from the admin calls or from the topic of commits, whichever is there."""

from collections.abc import Mapping

import numpy as np

from lag_monitor.offsets_topic.members import Membership
from lag_monitor.sources.admin import Described, Partition
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.heads import NONE
from lag_monitor.store.windows import ASSIGNED, ASSIGNMENT_KNOWN, OWN, UNREAD_TOPIC

KNOWN_ASSIGNMENTS = ("classic", "consumer")
BETWEEN = ("PreparingRebalance", "CompletingRebalance")  # nobody has anything, and that means nothing


def apply(store: ClusterStore, name: str, told: Described) -> None:
    """`told.owners` is everything that is assigned, if the kind of the group is one whose assignments are known."""
    group = store.group(name)
    group.kind, group.state, group.members = told.kind or group.kind, told.state, told.members
    if told.state in BETWEEN:
        return
    windows = store.windows
    known = told.kind in KNOWN_ASSIGNMENTS
    if known:
        store.clear_owners(name)
        for (topic, partition), (host, client_id) in told.owners.items():
            store.owner(name, topic, partition, host, client_id)
    read = {topic for topic, _ in told.owners}
    for topic, rows in group.topics.items():
        flags = windows.flags[rows] & ~np.uint8(ASSIGNED | ASSIGNMENT_KNOWN | UNREAD_TOPIC)
        if known:
            flags |= np.uint8(ASSIGNMENT_KNOWN)
            flags[windows.owner[rows] > 0] |= np.uint8(ASSIGNED)
            if told.members and topic not in read:
                flags |= np.uint8(UNREAD_TOPIC)
        windows.flags[rows] = flags


def described(membership: Membership, names: Mapping[bytes, str]) -> Described:
    """What the topic of commits tells of a group. `names` of topics by their ids."""
    owners: dict[Partition, tuple[str, str]] = {}
    for member in membership.members.values():
        for topic, partitions in member.partitions.items():
            name = topic if isinstance(topic, str) else names.get(topic, "")
            if name:
                owners |= {(name, partition): (member.host, member.client_id) for partition in partitions}
    state = "Stable" if membership.members else "Empty"
    return Described(state, membership.kind, len(membership.members), owners)


def confirm(store: ClusterStore, name: str, commits: Mapping[Partition, int]) -> dict[int, int]:
    """A group's commits as its coordinator has them, by row. What it has no more is not looked at any longer."""
    found: dict[int, int] = {}
    for (topic, partition), offset in commits.items():
        row = store.resolve(name, topic, partition)
        if row != NONE:
            found[row] = offset
    if found:
        store.windows.flags[list(found)] |= np.uint8(OWN)
    group = store.groups.get(name)
    for rows in group.topics.values() if group else ():
        left = [row for row in rows.tolist() if row not in found]
        store.unseen(np.array(left, np.int32))
    return found
