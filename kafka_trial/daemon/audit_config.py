"""What an auditor is told in its configuration file."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from interceptors.audit.auditor import Wanted
from interceptors.audit.settings import TOPIC
from kafka_trial.daemon.probe_config import _topic
from kafka_trial.daemon.tables import Daemon, HostPort, Kafka, Seconds, Table

Name = Annotated[str, Field(min_length=1, max_length=249)]
TopicName = Annotated[str, AfterValidator(_topic)]


class FlowTable(Table):
    """What `from` has, `to` should have too."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    topic: TopicName | None = None  # every topic
    source: Annotated[Name | tuple[Name, ...], Field(alias="from")]
    to: Name

    @property
    def wanted(self) -> Wanted:
        sources = (self.source,) if isinstance(self.source, str) else self.source
        return Wanted(sources, self.to, self.topic or "")


class AuditConfig(Daemon):
    listen: HostPort = "127.0.0.1:9311"
    kafka: Kafka
    topic: TopicName = TOPIC
    since: datetime | None = None  # the beginning of the topic
    lateness: Annotated[float, Field(ge=0, le=86_400)] = 60.0
    judge_every: Seconds = 5.0
    settle_after: Seconds = 600.0
    keep: Annotated[float, Field(ge=60, le=31 * 86_400)] = 86_400.0
    ask_log_ends: bool = True
    flow: tuple[FlowTable, ...] = ()

    @property
    def since_ms(self) -> int | None:
        if self.since is None:
            return None
        return int((self.since if self.since.tzinfo else self.since.replace(tzinfo=UTC)).timestamp() * 1000)
