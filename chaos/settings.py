"""How patient a trial is: `quick` shortens Kafka's timeouts so that a run takes seconds, `default` leaves them alone.

No bound is written here. Bounds are computed from what brokers and clients say is in effect, whichever was chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel.errors import UsageError


@dataclass(frozen=True, slots=True)
class Settings:
    name: str
    brokers: Mapping[str, str] = field(default_factory=dict)
    clients: Mapping[str, str | int] = field(default_factory=dict)  # all of librdkafka's clients
    classic: Mapping[str, str | int] = field(default_factory=dict)  # members of a classic group, which say their own session
    steady_s: float = 3.0  # of traffic before the first fault and after the last
    hold_s: float = 1.0  # that everything must stay healthy to count as healthy
    noise_s: float = 3.0  # without a success that this machine alone may cause


QUICK = Settings(
    "quick",
    brokers={
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "replica.lag.time.max.ms": "4000",
        "group.min.session.timeout.ms": "1000",
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": "4000",
        "group.consumer.min.heartbeat.interval.ms": "200",
        "group.consumer.heartbeat.interval.ms": "500",
    },
    clients={
        "reconnect.backoff.max.ms": 500,
        "retry.backoff.max.ms": 200,
        "socket.timeout.ms": 5000,
        "message.timeout.ms": 30000,
    },
    classic={"session.timeout.ms": 4000, "heartbeat.interval.ms": 500},
    steady_s=1.5,
    hold_s=0.5,
    noise_s=2.5,
)
DEFAULT = Settings("default")
SETTINGS = {settings.name: settings for settings in (QUICK, DEFAULT)}


def settings_named(name: str) -> Settings:
    if name not in SETTINGS:
        raise UsageError(f"settings {name!r} are not known: choose one of {', '.join(SETTINGS)}.")
    return SETTINGS[name]
