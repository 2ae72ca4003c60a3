"""A class that stands in for another: what it does not do itself is done by the original, under the same name.

By composition, not by inheritance: the original's own methods call each other without passing through us twice, and what
nobody intercepts is called directly, so that it costs nothing.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


def public(original: type) -> list[str]:
    return [name for name in dir(original) if not name.startswith("_")]


def serves(original: type) -> Callable[[C], C]:
    """Give the class whatever of the original it does not have, handed on to `self._client`."""

    def served(ours: C) -> C:
        for name in public(original):
            if not hasattr(ours, name):
                setattr(ours, name, _handed_on(original, name))
        ours.__doc__ = ours.__doc__ or original.__doc__
        return ours

    return served


def _handed_on(original: type, name: str) -> Any:
    theirs = getattr(original, name)
    if not callable(theirs):
        return property(lambda self: getattr(self._client, name))

    @functools.wraps(theirs, assigned=("__name__", "__doc__"))
    def handed_on(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._client, name)(*args, **kwargs)

    handed_on.handed_on = True  # type: ignore[attr-defined]
    return handed_on


def bind(ours: Any, client: Any, direct: set[str]) -> None:
    """Let calls that nobody intercepts go straight to the client: those handed on anyway, and those named here.

    Not where a subclass has a method of its own: an attribute of the instance would hide it. What the original gives to
    its instances alone, such as an asyncio client's executor, is ours too (not by __getattr__, which slows every access)."""
    vars(ours).update({name: value for name, value in getattr(client, "__dict__", {}).items() if name[0] != "_"})
    for name in public(type(client)):
        home = next((cls for cls in type(ours).__mro__ if name in vars(cls)), None)
        if home is None or home.__module__.partition(".")[0] != "interceptors":
            continue
        if name in direct or getattr(vars(home)[name], "handed_on", False):
            vars(ours)[name] = getattr(client, name)
