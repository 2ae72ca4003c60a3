"""Connections by listener and by client, logins that failed, and quotas."""

from typing import Any

from kernel.metric_tables.rows import counter, gauge
from kernel.metrics import EVERY_ROLE, Metric, Scope

_SOCKETS = "kafka.server:type=socket-server-metrics,listener={listener},networkProcessor={network_processor}"
_SOFTWARE = (
    "kafka.server:type=socket-server-metrics,clientSoftwareName={client_software_name},"
    "clientSoftwareVersion={client_software_version},listener={listener},networkProcessor={network_processor}"
)
_NODE: dict[str, Any] = {"roles": EVERY_ROLE, "scope": Scope.NODE}
_QUOTA: dict[str, Any] = {"appears": "once a quota applies to the client", "roles": EVERY_ROLE, "scope": Scope.NODE}


def _quota(kind: str, attribute: str, help: str, **more: object) -> tuple[Metric, ...]:  # noqa: A002
    """A quota is on a user, on a client id, or on both: three beans, one name."""
    name = f"kafka_server_quota_{kind.lower()}_" + attribute.replace("-", "_")
    return tuple(
        gauge(f"kafka.server:type={kind},{keys}", help, attribute, name=name, **(_QUOTA | more))
        for keys in ("user={user},client-id={client_id}", "user={user}", "client-id={client_id}")
    )


ROWS = (
    gauge(_SOCKETS, "Connections that are open.", "connection-count", **_NODE),
    counter(_SOCKETS, "Connections that were made.", "connection-creation-total", **_NODE),
    counter(_SOCKETS, "Connections that were closed.", "connection-close-total", **_NODE),
    counter(_SOCKETS, "Logins (TLS or SASL) that failed.", "failed-authentication-total", **_NODE),
    counter(_SOCKETS, "Logins (TLS or SASL) that succeeded.", "successful-authentication-total", **_NODE),
    gauge(
        _SOFTWARE,
        "Connections by client library and its version.",
        "connections",
        name="kafka_server_socketservermetrics_connections_by_software",  # the same ones, counted again
        appears="with the first client of its kind",
        everyday=False,
        **_NODE,
    ),
    *_quota("Produce", "byte-rate", "Bytes per second that a client under a quota sends.", unit="bytes"),
    *_quota("Produce", "throttle-time", "How long a client under a quota is held back, on average.", unit="ms"),
    *_quota("Fetch", "byte-rate", "Bytes per second that a client under a quota reads.", unit="bytes"),
    *_quota("Fetch", "throttle-time", "How long a client under a quota is held back, on average.", unit="ms"),
    *_quota("Request", "request-time", "Share of the request handlers that a client under a quota uses, in per cent."),
    *_quota("Request", "throttle-time", "How long a client under a quota is held back, on average.", unit="ms"),
)
