"""What an audited client is told by the `interceptor.audit.*` keys of its configuration, checked before it is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interceptors.audit.cells import HASHES
from interceptors.loading import BadInterceptor

PREFIX = "interceptor.audit."
CONNECTION = ("bootstrap.servers", "metadata.broker.list", "broker.address.family", "client.dns.lookup")
CONNECTION_FAMILIES = ("security.", "ssl.", "sasl.", "enable.ssl.", "enable.sasl.", "socket.")
CALLBACKS = ("oauth_cb",)
TOPIC = "kafka-trial-audit"
CELLS, MOST_CELLS = 36, 3000


@dataclass(frozen=True, slots=True)
class Settings:
    role: str  # producer or consumer
    tier: str
    topic: str = TOPIC
    bucket_ms: int = 10_000
    every_ms: int = 10_000
    save_ms: int = 1_000
    close_ms: int = 5_000
    cells: int = CELLS
    identity: str = "offset"
    count: str = "commit"
    spool: Path | None = None
    client: str = ""
    transactional: bool = False
    deserialised: bool = False  # records come as objects
    connection: Mapping[str, Any] = field(default_factory=dict, repr=False)  # may hold passwords

    @property
    def content(self) -> bool:
        return self.identity == "content"


def read(config: Mapping[str, Any]) -> Settings:
    told = {key.removeprefix(PREFIX): value for key, value in config.items() if str(key).startswith(PREFIX)}
    if unknown := sorted(set(told) - set(KNOWN)):
        raise BadInterceptor(f"{PREFIX}{unknown[0]} is not known: choose one of {', '.join(PREFIX + key for key in KNOWN)}.")
    role = _one_of(told, "role", ("producer", "consumer"), "consumer" if config.get("group.id") else "producer")
    return Settings(
        role=role,
        tier=_name(told, "tier", str(config.get("group.id") or role) if role == "consumer" else role),
        topic=_topic(told),
        bucket_ms=_whole(told, "bucket.ms", 10_000, 1_000, 86_400_000),
        every_ms=_whole(told, "every.ms", 10_000, 100, 3_600_000),
        save_ms=_whole(told, "save.ms", 1_000, 50, 3_600_000),
        close_ms=_whole(told, "close.ms", 5_000, 0, 600_000),
        cells=_cells(told),
        identity=_one_of(told, "identity", ("offset", "content"), "offset"),
        count=_one_of(told, "count", ("commit", "read"), "commit"),
        spool=_folder(told),
        client=str(config.get("client.id", "")),
        transactional=bool(config.get("transactional.id")),
        deserialised=any(config.get(f"{part}.deserializer") is not None for part in ("key", "value")),
        connection=_connection(told, config),
    )


KNOWN = (
    "bucket.ms", "cells", "close.ms", "config", "count", "every.ms", "identity", "role", "save.ms", "spool", "tier", "topic",
)  # fmt: skip


def _whole(told: Mapping[str, Any], key: str, usual: int, least: int, most: int) -> int:
    given = told.get(key, usual)
    try:
        number = -1 if isinstance(given, (bool, float)) else int(given)
    except (TypeError, ValueError):
        number = -1
    if not least <= number <= most:
        raise BadInterceptor(f"{PREFIX}{key} is {given!r}: give a whole number from {least} to {most}.")
    return number


def _cells(told: Mapping[str, Any]) -> int:
    number = _whole(told, "cells", CELLS, 0, MOST_CELLS)
    if number % HASHES or 0 < number < 2 * HASHES:
        raise BadInterceptor(
            f"{PREFIX}cells is {number}: give a multiple of {HASHES}, at least {2 * HASHES}, or 0 for none."
        )
    return number


def _one_of(told: Mapping[str, Any], key: str, allowed: tuple[str, ...], usual: str) -> str:
    given = told.get(key, usual)
    if given not in allowed:
        raise BadInterceptor(f"{PREFIX}{key} is {given!r}: give {' or '.join(map(repr, allowed))}.")
    return str(given)


def _name(told: Mapping[str, Any], key: str, usual: str) -> str:
    given = told.get(key, usual)
    if not isinstance(given, str) or not given.strip() or len(given) > 249:
        raise BadInterceptor(f"{PREFIX}{key} is {given!r}: give a name of at most 249 characters.")
    return given


def _topic(told: Mapping[str, Any]) -> str:
    given = _name(told, "topic", TOPIC)
    if given in (".", "..") or not all(letter.isascii() and (letter.isalnum() or letter in "._-") for letter in given):
        raise BadInterceptor(f"{PREFIX}topic is {given!r}, no name of a topic: letters, digits, dots, underscores, hyphens.")
    return given


def _folder(told: Mapping[str, Any]) -> Path | None:
    given = told.get("spool")
    if given is None:
        return None
    if not isinstance(given, (str, Path)) or not str(given):
        raise BadInterceptor(f"{PREFIX}spool is {given!r}: give the path of a folder.")
    folder = Path(given)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".writable").touch()
    except OSError as trouble:
        raise BadInterceptor(f"{PREFIX}spool = {str(folder)!r} cannot be written to: {trouble.strerror}.") from None
    return folder


def _connection(told: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """How the client reaches its cluster; or what it is told for the reports alone."""
    own = told.get("config", {})
    if not isinstance(own, Mapping) or not all(isinstance(key, str) for key in own):
        raise BadInterceptor(f"{PREFIX}config is a {type(own).__name__}: give a dict of librdkafka's settings.")
    inherited = {
        key: value
        for key, value in config.items()
        if key in CONNECTION or key in CALLBACKS or str(key).startswith(CONNECTION_FAMILIES)
    }
    if "bootstrap.servers" in own:
        inherited = {}  # another cluster: nothing of the way to this one applies
    found = inherited | dict(own)
    if not (found.get("bootstrap.servers") or found.get("metadata.broker.list")):
        raise BadInterceptor(
            f"the audit has nowhere to report to: set bootstrap.servers, or {PREFIX}config with bootstrap.servers."
        )
    return found
