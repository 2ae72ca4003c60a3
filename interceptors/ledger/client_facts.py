"""What the checkers need to know of a client, told by its configuration. Pure; the defaults are librdkafka's."""

from collections.abc import Mapping
from typing import Any

ACKS = ("acks", "request.required.acks")
IN_FLIGHT = ("max.in.flight.requests.per.connection", "max.in.flight")


def client_facts(config: Mapping[str, Any]) -> dict[str, Any]:
    """Whoever has a group is a consumer: librdkafka asks for one of each, and of no producer."""
    return _consumer(config) if "group.id" in config else _producer(config)


def _producer(config: Mapping[str, Any]) -> dict[str, Any]:
    idempotent = _true(config.get("enable.idempotence", False)) or "transactional.id" in config
    ordered = idempotent or str(_first(config, IN_FLIGHT, None)) == "1"
    acks = str(_first(config, ACKS, "all"))
    return {"role": "producer", "ordered": ordered, "acks": "all" if acks == "-1" else acks, "idempotence": idempotent}


def _consumer(config: Mapping[str, Any]) -> dict[str, Any]:
    isolation = str(config.get("isolation.level", "read_committed"))
    auto = _true(config.get("enable.auto.commit", True))
    known = {"role": "consumer", "isolation": isolation, "mode": "subscribe", "group": str(config["group.id"])}
    return known | {"auto_commit": auto}


def _first(config: Mapping[str, Any], names: tuple[str, ...], otherwise: Any) -> Any:
    return next((config[name] for name in names if name in config), otherwise)


def _true(value: Any) -> bool:
    return str(value).lower() in ("true", "1", "t")
