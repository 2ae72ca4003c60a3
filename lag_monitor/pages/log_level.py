"""How much is logged, in Burrow's words, read and changed while it runs."""

import json
import logging

WORDS = {"debug": 10, "trace": 10, "info": 20, "warning": 30, "warn": 30, "error": 40, "fatal": 50}
TOLD = ((50, "fatal"), (40, "error"), (30, "warn"), (20, "info"))


def current() -> str:
    level = logging.getLogger().level
    return next((word for least, word in TOLD if level >= least), "debug")


def change(level: int) -> None:
    logging.getLogger().setLevel(level)


def asked(body: bytes) -> int | None:
    """None: no level is called so. ValueError: that is not a request at all. As lenient as Go: what follows is not read."""
    request, _ = json.JSONDecoder().raw_decode(body.decode("utf-8", "replace").lstrip())
    if request is None:
        return None
    if not isinstance(request, dict):
        raise ValueError("not an object")
    words = [value for name, value in request.items() if name.lower() == "level" and value is not None]
    if any(not isinstance(word, str) for word in words):
        raise ValueError("the level is not a word")
    return WORDS.get(words[-1].lower()) if words else None
