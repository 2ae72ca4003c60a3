"""What must not change for a while is looked at all the time; a look that nobody answers says nothing."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from chaos.trial import Trial
from kernel.errors import NotReady


def stays(*looks: bool | None) -> tuple[bool | None, str]:
    """What is expected after these looks, the last of which goes on for ever; None: nobody answered."""
    told: list[tuple[bool | None, str]] = []
    left = list(looks)

    def look() -> bool:
        seen = left.pop(0) if len(left) > 1 else left[0]
        if seen is None:
            raise NotReady("no broker answered.")
        return seen

    trial = SimpleNamespace(expect=lambda _name, holds, sentence: told.append((holds, sentence)))
    Trial.stays(cast(Any, trial), "offline", look, seconds=0.3, words="It is offline")
    (only,) = told
    return only


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ((True,), (True, "It is offline; so it was for 0.3 s.")),
        ((True, False), (False, "It is offline; so it was not for 0.3 s.")),
        ((None, True), (True, "It is offline; so it was for 0.3 s.")),
        ((None, False), (False, "It is offline; so it was not for 0.3 s.")),
        ((None,), (None, "It is offline; after 0.3 s nobody answered.")),
        ((True, True, None), (None, "It is offline; after 0.3 s nobody answered.")),
    ],
)
def test_only_looks_that_were_answered_count(looks: tuple[bool | None, ...], expected: tuple[bool | None, str]):
    assert stays(*looks) == expected
