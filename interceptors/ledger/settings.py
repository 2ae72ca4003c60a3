"""The ledger's keys in a client's configuration, checked before anything is written by them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interceptors.ledger.joining import default_name
from interceptors.ledger.valuing import BY_HEADER, ValueOf, dotted, value_function
from interceptors.loading import BadInterceptor

PREFIX = "interceptor.ledger."
FOLDER, CLIENT, RUN, VALUE = KEYS = tuple(f"{PREFIX}{key}" for key in ("folder", "client", "run", "value"))


@dataclass(frozen=True, slots=True)
class Settings:
    folder: Path
    client: str
    run: str | None
    value_of: ValueOf | None  # None: the value is in a header

    @property
    def value_name(self) -> str | None:
        """For the manifest, so that the closing reader knows where to look."""
        return BY_HEADER if self.value_of is None else dotted(self.value_of)


def read_settings(config: Mapping[str, Any]) -> Settings:
    for key in config:
        if str(key).startswith(PREFIX) and key not in KEYS:
            raise BadInterceptor(f"{key} is not a setting of the ledger: it has {', '.join(KEYS)}.")
    folder = config.get(FOLDER)
    if not isinstance(folder, (str, os.PathLike)) or not str(folder):
        raise BadInterceptor(f"{FOLDER} is {folder!r}: give the folder of the run, as text.")
    value = config.get(VALUE, BY_HEADER)
    client = _text(config, CLIENT) or _text(config, "client.id") or default_name()
    return Settings(Path(folder), client, _text(config, RUN), None if value == BY_HEADER else value_function(value))


def _text(config: Mapping[str, Any], key: str) -> str | None:
    told = config.get(key)
    if told is not None and (not isinstance(told, str) or not told):
        raise BadInterceptor(f"{key} is {told!r}: give a name, as text.")
    return told
