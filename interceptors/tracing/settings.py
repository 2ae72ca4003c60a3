"""What `interceptor.tracing.*` may say, checked as the client is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interceptors.loading import BadInterceptor
from interceptors.tracing.names import CLIENT_ID, GROUP, PORT, SERVER, SYSTEM
from interceptors.tracing.writing import WRITERS

PREFIX = "interceptor.tracing."
KEYS = ("write", "sample", "process", "keys")
WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Settings:
    write: tuple[str, ...] = ("w3c",)
    sample: float = 1.0
    link: bool = False  # process spans are linked to their records instead of being their children
    keys: bool = True  # whether spans carry the keys of records
    client: dict[str, Any] = field(default_factory=lambda: {SYSTEM: "kafka"})  # attributes of every span of this client


def settings_of(config: Mapping[str, Any]) -> Settings:
    told = {key.removeprefix(PREFIX): value for key, value in config.items() if str(key).startswith(PREFIX)}
    if unknown := sorted(set(told) - set(KEYS)):
        known = ", ".join(PREFIX + key for key in KEYS)
        raise BadInterceptor(f"{PREFIX}{unknown[0]} is not known: known are {known}.")
    return Settings(
        write=_formats(told.get("write", "w3c")),
        sample=_ratio(told.get("sample", 1.0)),
        link=_one_of("process", told.get("process", "child"), ("child", "link")) == "link",
        keys=_truth("keys", told.get("keys", True)),
        client=_client(config),
    )


def _formats(told: Any) -> tuple[str, ...]:
    names = [name.strip() for name in told.split(",")] if isinstance(told, str) else told
    if (
        not isinstance(names, (list, tuple))
        or not names
        or not all(isinstance(name, str) and name in WRITERS for name in names)
    ):
        raise BadInterceptor(f"{PREFIX}write is {told!r}: give one or more of {', '.join(WRITERS)}.")
    return tuple(dict.fromkeys(names))


def _ratio(told: Any) -> float:
    try:
        ratio = float(told)
    except (TypeError, ValueError):
        ratio = -1.0
    if isinstance(told, bool) or not 0.0 <= ratio <= 1.0:
        raise BadInterceptor(f"{PREFIX}sample is {told!r}: give a number from 0 (no trace) to 1 (all).")
    return ratio


def _one_of(key: str, told: Any, choices: tuple[str, ...]) -> str:
    if told not in choices:
        raise BadInterceptor(f"{PREFIX}{key} is {told!r}: give {' or '.join(choices)}.")
    return str(told)


def _truth(key: str, told: Any) -> bool:
    truth = WORDS.get(told.lower()) if isinstance(told, str) else told
    if not isinstance(truth, bool):
        raise BadInterceptor(f"{PREFIX}{key} is {told!r}: give true or false.")
    return truth


def _client(config: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {SYSTEM: "kafka"}
    if config.get("client.id"):
        facts[CLIENT_ID] = str(config["client.id"])
    if config.get("group.id"):
        facts[GROUP] = str(config["group.id"])
    return facts | _server(config.get("bootstrap.servers", config.get("metadata.broker.list")))


def _server(told: Any) -> dict[str, Any]:
    """Of a single bootstrap server. Of several nobody knows which one will lead, and a list is no address."""
    if not isinstance(told, str) or "," in told or not told.strip():
        return {}
    address = told.strip().rpartition("://")[2]
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return {SERVER: address.strip("[]")}
    return {SERVER: host.strip("[]"), PORT: int(port)}
