"""Names in addresses: a group may be called `a/b`, and its address has to lead to it and to nothing else.

A server hands on the decoded path, in which the `/` of a name looks like the one between two names. So routes are matched
against the path as it was sent.
"""

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode

if TYPE_CHECKING:
    from starlette.routing import Match, Route
    from starlette.types import Scope

# A browser takes these out of a path, however they are encoded, and an empty name leaves nothing to match.
LOST_IN_A_PATH = ("", ".", "..")


def encoded(name: str) -> str:
    return quote(name, safe="", errors="replace")


def group_page(cluster: str, group: str) -> str:
    if group in LOST_IN_A_PATH:
        return f"/clusters/{encoded(cluster)}/group?{urlencode({'name': group})}"
    return f"/clusters/{encoded(cluster)}/groups/{encoded(group)}"


def with_query(path: str, **words: str) -> str:
    """Words that are empty are left out."""
    query = urlencode({name: word for name, word in words.items() if word}, errors="replace")
    path = path or "/"
    return f"{path}{'&' if '?' in path else '?'}{query}" if query else path


@lru_cache(maxsize=4096)
def spelled(raw: str) -> str:
    """One spelling for each path: what need not be encoded is not, and a slash inside a name is."""
    return "/".join(quote(unquote(part), safe="") for part in raw.split("/"))


@cache
def route_class() -> "type[Route]":
    from starlette.routing import Match, Route

    class EncodedRoute(Route):
        def matches(self, scope: "Scope") -> "tuple[Match, Scope]":
            if scope["type"] != "http":
                return Match.NONE, {}
            raw = scope.get("raw_path")
            path = raw.decode("latin-1") if raw else quote(scope["path"])
            match, child = super().matches({**scope, "path": spelled(path)})
            if "path_params" in child:
                child["path_params"] = {name: _decoded(value) for name, value in child["path_params"].items()}
            return match, child

    return EncodedRoute


def _decoded(value: Any) -> Any:
    return unquote(value) if isinstance(value, str) else value
