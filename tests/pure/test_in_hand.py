"""What a consumer has in hand, as positions of its group; and what a group read more than once."""

from typing import Any

from chaos.evidence.account import Account
from chaos.scenarios import in_hand

HELD = [["orders", 0, 7, 70], ["orders", 0, 8, 80], ["orders", 1, 3, 31]]


def test_positions_short_of_what_is_in_hand_and_past_it():
    assert in_hand.short_of(HELD) == {"orders-0": 7, "orders-1": 3}
    assert in_hand.past(HELD) == {"orders-0": 9, "orders-1": 4}
    assert in_hand.values(HELD) == [70, 80, 31]
    assert in_hand.past([]) == in_hand.short_of([]) == {}


def read(client: str, op: int, value: int) -> dict[str, Any]:
    facts = {"client": client, "op": op, "ix": 0, "kind": "poll", "outcome": "ok", "value": value, "final": False}
    return facts | {"topic": "orders", "partition": 0, "offset": value, "epoch": 0, "error": None, "completed_ns": op}


def test_what_a_group_read_twice_whoever_of_it_did():
    account = Account([read("a", 1, 5), read("a", 2, 6), read("b", 1, 6), read("c", 1, 5), read("b", 2, 7)])

    assert account.read_twice({"a", "b"}) == {6}
    assert account.read_twice({"a", "b", "c"}) == {5, 6}
    assert account.read_twice({"a"}) == frozenset()
