"""What a lag monitor is told in its configuration file. Checked whole before anything is started."""

import re
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, FilePath, model_validator

from kafka_trial.daemon.tables import Daemon, HostPort, Kafka, Login, Seconds, Table

Long = Annotated[float, Field(gt=0, le=30 * 86_400)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


def _pattern(told: str) -> str:
    try:
        re.compile(told)
    except re.error as trouble:
        raise ValueError(f"not a regular expression: {trouble}") from None
    return told


Pattern = Annotated[str, AfterValidator(_pattern)]


class Slo(Table):
    """Groups whose name matches may be so far behind."""

    groups: Pattern = ""
    seconds: Long


class JudgeTable(Table):
    """See docs/lag.md; all in seconds but `pauses`."""

    quiet: Long = 60
    pauses: Annotated[float, Field(ge=1, le=100)] = 3
    slow: Long = 10
    transaction: Long = 60
    abandoned: Long = 86_400
    blind: Long | None = None  # three intervals


class BurrowTable(Table):
    """Burrow's own settings, with its own defaults."""

    intervals: Annotated[int, Field(ge=1, le=1_000)] = 10
    min_distance: Annotated[int, Field(ge=0, le=86_400)] = 0
    expire_group: Annotated[int, Field(ge=1)] = 604_800
    allowed_lag: Annotated[int, Field(ge=0)] = 0
    minimum_complete: Annotated[float, Field(ge=0, le=1)] = 0


class Cluster(Table):
    name: Name
    kafka: Kafka
    sources: Annotated[tuple[Literal["admin", "offsets topic"], ...], Field(min_length=1)] = ("admin", "offsets topic")
    allow: Pattern = ""
    deny: Pattern = ""
    slo: tuple[Slo, ...] = ()
    topics_every: Seconds = 60
    groups_every: Seconds = 30
    timeout: Seconds = 10
    read_markers: bool = True


class HttpAccess(Table):
    """How to get into a receiver. Addresses and tokens that are secret come from a file or the environment."""

    name: Name
    url: str | None = None
    url_file: FilePath | None = None
    url_env: str | None = None
    login: Login | None = None
    token_file: FilePath | None = None  # sent as Authorization: Bearer
    token_env: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    ca_file: FilePath | None = None
    timeout: Annotated[float, Field(gt=0, le=60)] = 5

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if sum(given is not None for given in (self.url, self.url_file, self.url_env)) != 1:
            raise ValueError("needs one of url, url_file and url_env")
        if sum(given is not None for given in (self.login, self.token_file, self.token_env)) > 1:
            raise ValueError("has more than one of login, token_file and token_env")
        return self


class WebhookTable(HttpAccess):
    type: Literal["webhook"]
    url_close: str | None = None
    method: Literal["POST", "PUT", "PATCH", "GET", "DELETE"] = "POST"
    template_file: FilePath | None = None
    template_close_file: FilePath | None = None


class SlackTable(HttpAccess):
    type: Literal["slack"]


class AlertmanagerTable(HttpAccess):
    type: Literal["alertmanager"]
    more_urls: tuple[str, ...] = ()  # of a cluster of Alertmanagers: all are told
    refresh: Seconds = 60
    labels: dict[str, str] = Field(default_factory=dict)
    generator_url: str = ""


class EmailTable(Table):
    type: Literal["email"]
    name: Name
    server: HostPort
    sender: Name
    to: Annotated[tuple[str, ...], Field(min_length=1)]
    security: Literal["none", "starttls", "tls"] = "starttls"
    login: Login | None = None
    ca_file: FilePath | None = None
    timeout: Annotated[float, Field(gt=0, le=60)] = 5


ChannelTable = Annotated[WebhookTable | SlackTable | AlertmanagerTable | EmailTable, Field(discriminator="type")]


class RouteTable(Table):
    name: Name
    channels: Annotated[tuple[str, ...], Field(min_length=1)]
    clusters: Pattern = ""
    allow: Pattern = ""
    deny: Pattern = ""
    judge: Literal["own", "burrow"] = "own"
    threshold: Literal["note", "warning", "error"] = "error"
    min_lag: Annotated[int, Field(ge=0)] | None = None
    min_seconds: Annotated[float, Field(ge=0)] | None = None
    after: Annotated[float, Field(ge=0, le=86_400)] = 0
    close_after: Annotated[float, Field(ge=0, le=86_400)] = 0
    repeat: Annotated[float, Field(ge=0, le=30 * 86_400)] = 3_600
    severity: str = ""


class SilenceTable(Table):
    clusters: Pattern = ""
    groups: Pattern = ""
    until: datetime | None = None
    comment: str = ""

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if self.until is not None and self.until.tzinfo is None:
            raise ValueError(f"until = {self.until.isoformat()} does not say in which time zone: add Z or +02:00")
        return self


class InstancesTable(Table):
    cluster: str = ""  # where they meet; the first, if it is not told
    group: Name = "kafka-trial-lag-monitor"
    topic: Name = "kafka-trial.lag-incidents"
    shards: Annotated[int, Field(ge=1, le=50)] = 1
    session: Annotated[float, Field(ge=6, le=300)] = 10
    replication: Annotated[int, Field(ge=1, le=32)] = 3


class LagConfig(Daemon):
    listen: HostPort = "127.0.0.1:8000"
    interval: Seconds = 10
    state_folder: str | None = None  # beside the file, and named after it, if it is not told
    save_every: Seconds = 30
    delete_token_file: FilePath | None = None
    delete_token_env: str | None = None
    cors: str = ""
    partition_metrics: Annotated[int, Field(ge=0)] = 50_000  # group-partitions with series of their own
    judge: JudgeTable = Field(default_factory=JudgeTable)
    burrow: BurrowTable = Field(default_factory=BurrowTable)
    clusters: Annotated[tuple[Cluster, ...], Field(min_length=1)]
    channels: tuple[ChannelTable, ...] = ()
    routes: tuple[RouteTable, ...] = ()
    silences: tuple[SilenceTable, ...] = ()
    instances: InstancesTable | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for what, names in (
            ("cluster", [one.name for one in self.clusters]),
            ("channel", [one.name for one in self.channels]),
            ("route", [one.name for one in self.routes]),
        ):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"names the {what} {twice[0]!r} twice")
        channels = {one.name for one in self.channels}
        for route in self.routes:
            if unknown := sorted(set(route.channels) - channels):
                raise ValueError(f"the route {route.name!r} names the channel {unknown[0]!r}, which is not there")
        clusters = [one.name for one in self.clusters]
        if self.instances and self.instances.cluster and self.instances.cluster not in clusters:
            raise ValueError(f"instances.cluster = {self.instances.cluster!r} is none of the clusters")
        if self.judge.quiet < 2 * self.interval:
            raise ValueError(f"judge.quiet ({self.judge.quiet:g}) is shorter than two intervals ({self.interval:g} each)")
        if self.delete_token_file and self.delete_token_env:
            raise ValueError("has both delete_token_file and delete_token_env")
        return self
