"""What a probe is told in its configuration file."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from exporters.probe.seen import ProbePlan
from kafka_trial.daemon.tables import Daemon, HostPort, Kafka, Seconds

_USUAL = ProbePlan()


def _topic(told: str) -> str:
    if not re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", told):
        raise ValueError("no name of a topic: letters, digits, dots, underscores and hyphens, at most 249")
    return told


class ProbeConfig(Daemon):
    listen: HostPort = "127.0.0.1:9309"
    kafka: Kafka
    topic: Annotated[str, AfterValidator(_topic)] = _USUAL.topic
    interval: Seconds = _USUAL.interval
    ack_within: Seconds = _USUAL.ack_within
    late_after: Seconds = _USUAL.late_after
    give_up_after: Seconds = _USUAL.give_up_after
    replication: Annotated[int, Field(ge=1, le=32)] = _USUAL.replication
    place_every: Seconds = _USUAL.place_every
    gone_after: Seconds = _USUAL.gone_after
    certificates_every: Annotated[float, Field(ge=1, le=86_400)] = _USUAL.certificates_every

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.give_up_after < self.ack_within:
            raise ValueError(f"give_up_after ({self.give_up_after:g}) is shorter than ack_within ({self.ack_within:g})")
        return self

    @property
    def plan(self) -> ProbePlan:
        return ProbePlan(
            topic=self.topic,
            interval=self.interval,
            ack_within=self.ack_within,
            late_after=self.late_after,
            give_up_after=self.give_up_after,
            replication=self.replication,
            place_every=self.place_every,
            gone_after=self.gone_after,
            certificates_every=self.certificates_every,
        )
