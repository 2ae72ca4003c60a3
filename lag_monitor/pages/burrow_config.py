"""Our configuration in the terms of Burrow's: modules of five kinds, and four tables beside them.

What has no counterpart here (ZooKeeper, log files, a process id file) is told empty, not left out. The allowed lag, the
minimum share and the denylist are told beyond what Burrow tells, behind its own fields.
"""

from lag_monitor.answers import BurrowCluster, BurrowSettings, BurrowState
from lag_monitor.pages.burrow_payloads import Payload
from lag_monitor.pages.go_json import single

KINDS = ("storage", "evaluator", "cluster", "consumer", "notifier")
ONLY = "default"  # there is one storage, one evaluator and one HTTP server


def main(settings: BurrowSettings, *, cors: str, level: str) -> Payload:
    return {
        "general": {"pidfile": "", "stdout-logfile": "", "access-control-allow-origin": cors},
        "logging": {
            "filename": "",
            "max-size": 0,
            "max-backups": 0,
            "max-age": 0,
            "use-local-time": False,
            "use-compression": False,
            "level": level,
        },
        "zookeeper": {"servers": [], "timeout": 0, "root-path": ""},
        "httpserver": {ONLY: {"address": settings.listen, "tls": "", "timeout": 0}},
    }


def modules(kind: str, settings: BurrowSettings, state: BurrowState) -> list[str]:
    if kind in ("cluster", "consumer"):
        return list(state.clusters())
    return list(settings.notifiers) if kind == "notifier" else [ONLY]


def module(kind: str, name: str, settings: BurrowSettings, state: BurrowState) -> Payload | None:
    """None: there is no such module."""
    if kind in ("cluster", "consumer"):
        known = state.cluster(name)
        if known is None:
            return None
        return cluster(name, known) if kind == "cluster" else _consumer(name, known, settings)
    if kind == "notifier":
        return dict(settings.notifiers[name]) if name in settings.notifiers else None
    if name != ONLY:
        return None
    return _storage(settings) if kind == "storage" else _evaluator(settings)


def cluster(name: str, known: BurrowCluster) -> Payload:
    return {
        "class-name": "kafka",
        "servers": list(known.servers),
        "client-profile": _profile(name, known),
        "topic-refresh": known.topic_refresh,
        "offset-refresh": known.offset_refresh,
    }


def _consumer(name: str, known: BurrowCluster, settings: BurrowSettings) -> Payload:
    return {
        "class-name": "kafka",
        "cluster": name,
        "servers": list(known.servers),
        "group-allowlist": settings.allow,
        "zookeeper-path": "",
        "zookeeper-timeout": 0,
        "client-profile": _profile(name, known),
        "offsets-topic": "__consumer_offsets",
        "start-latest": False,
        "group-denylist": settings.deny,
    }


def _storage(settings: BurrowSettings) -> Payload:
    return {
        "class-name": "inmemory",
        "intervals": settings.intervals,
        "min-distance": settings.min_distance,
        "group-allowlist": settings.allow,
        "expire-group": settings.expire_group,
        "group-denylist": settings.deny,
    }


def _evaluator(settings: BurrowSettings) -> Payload:
    return {
        "class-name": "caching",
        "expire-cache": settings.expire_cache,
        "allowed-lag": settings.allowed_lag,
        "minimum-complete": single(settings.minimum_complete),
    }


def _profile(name: str, known: BurrowCluster) -> Payload:
    """Neither the files of a certificate nor a user's name are told: whoever reads this need not have a password."""
    tls = {"name": name, "noverify": False, "certfile": "", "keyfile": "", "cafile": ""}
    sasl = {"name": known.sasl, "handshake-first": True, "username": ""}
    return {
        "name": name,
        "client-id": known.client_id,
        "kafka-version": "",
        "tls": tls if known.tls else None,
        "sasl": sasl if known.sasl else None,
    }
