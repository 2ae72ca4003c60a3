"""How far each node is behind, from what the active controller tells of voters and observers."""

from typing import Any

from compose.view import _quorum


class Controller:
    def __init__(self, *observers: tuple[int, int]) -> None:
        self.observers = [{"replica_id": node, "log_end_offset": offset} for node, offset in observers]

    def describe_metadata_quorum(self) -> dict[str, Any]:
        voters = [{"replica_id": 101, "log_end_offset": 500}]
        return {"leader_id": 101, "leader_epoch": 1, "current_voters": voters, "observers": self.observers}


def test_a_broker_that_is_behind_is_seen():
    assert _quorum(Controller((1, 500), (2, 400))).lag == {101: 0, 1: 0, 2: 100}


def test_a_broker_with_a_new_disk_is_not_taken_for_its_old_one():
    """Seen on 2026-11-17 with Kafka 4.3.1: for five minutes it is listed under both directory ids, in either order."""
    assert _quorum(Controller((1, 500), (1, 200))).lag == {101: 0, 1: 0}
    assert _quorum(Controller((1, 200), (1, 490))).lag == {101: 0, 1: 10}
