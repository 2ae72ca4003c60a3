"""Principals for a trial: users of its own, let in and allowed what the trial says, and forgotten when it ends."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from chaos.trial import Trial
from kernel.cluster import ClusterAddress


@contextmanager
def principal(trial: Trial, name: str, topic: str) -> Iterator[tuple[str, ClusterAddress]]:
    """A user who may write to a topic, and its address. Its password is drawn here and is only in there."""
    user, cluster = trial.group(name), trial.cluster
    sasl = cluster.spec.security == "sasl_ssl"
    address = cluster.create_user(user, new_password()) if sasl else cluster.address_for(user)
    cluster.allow(user, "DESCRIBE", "TOPIC", topic)
    cluster.allow(user, "WRITE", "TOPIC", topic)
    try:
        yield user, address
    finally:
        for client in trial.traffic.clients:  # nobody may go on as somebody who is forgotten
            if _is(client.config, user, address):
                trial.traffic.close(client.name)
        cluster.disallow(user)
        if sasl:
            cluster.forget_user(user)


def _is(config: Mapping[str, Any], user: str, address: ClusterAddress) -> bool:
    """By its name where it has a password, by its key where that is its name."""
    by_key = address.key_file is not None and config.get("ssl.key.location") == address.key_file
    return by_key or config.get("sasl.username") == user


def new_password() -> str:
    return secrets.token_urlsafe(18)
