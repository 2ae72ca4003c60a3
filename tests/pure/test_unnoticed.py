"""Errors that reached an application, and answers to a commit that was simply made again."""

from typing import Any

import pytest

from chaos.evidence.account import Account
from chaos.scenarios.unnoticed import committed_again

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"


def commit(op: int, offset: int, error: str | None = None, client: str = "a", partition: int = 0) -> dict[str, Any]:
    facts = {"client": client, "op": op, "ix": 0, "kind": "offsets", "outcome": "info" if error else "ok", "error": error}
    return facts | {"topic": "orders", "partition": partition, "offset": offset, "value": None, "final": False}


def test_a_commit_that_was_made_again_was_not_noticed():
    """As in a rolling-upgrade of 2026-11-18, on a busy machine: a coordinator loaded for longer than librdkafka asks."""
    account = Account([commit(1, 5), commit(2, 9, LOADING), commit(3, 9)])

    assert committed_again(account) == {LOADING}


def test_a_later_commit_says_the_same_and_more():
    assert committed_again(Account([commit(2, 9, LOADING), commit(3, 12)])) == {LOADING}


@pytest.mark.parametrize(
    "later",
    [
        [],
        [commit(3, 8)],
        [commit(1, 9)],
        [commit(3, 9, LOADING)],
        [commit(3, 9, client="b")],
        [commit(3, 9, partition=1)],
    ],
    ids=["never", "short of it", "before it", "refused again", "by another", "of another partition"],
)
def test_one_that_was_never_accepted_was_noticed(later):
    assert committed_again(Account([commit(2, 9, LOADING), *later])) == frozenset()


def test_one_of_two_that_was_never_accepted_is_enough():
    rows = [commit(2, 9, LOADING), commit(3, 9), commit(4, 7, LOADING, partition=1)]

    assert committed_again(Account(rows)) == frozenset()


def test_other_errors_are_noticed_whatever_comes_later():
    assert committed_again(Account([commit(2, 9, "ILLEGAL_GENERATION"), commit(3, 9)])) == frozenset()


def test_a_poll_that_failed_is_no_commit():
    failed = commit(2, 9, LOADING) | {"kind": "poll"}

    assert committed_again(Account([failed, commit(3, 9)])) == frozenset()


def test_where_nothing_was_refused_nothing_is_told():
    assert committed_again(Account([commit(2, 9)])) == frozenset()
