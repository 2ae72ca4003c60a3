"""From a configuration to a plan for the lag monitor: addresses, patterns, channels; secrets read, nothing started."""

from pathlib import Path
from typing import TYPE_CHECKING

from kafka_trial.daemon.config_file import address_of, secret, user_and_password
from kafka_trial.daemon.lag_config import (
    AlertmanagerTable,
    Cluster,
    EmailTable,
    HttpAccess,
    LagConfig,
    RouteTable,
    SlackTable,
    WebhookTable,
)
from kernel.errors import UsageError
from lag_monitor.alerts.channels.alertmanager import Alertmanager
from lag_monitor.alerts.channels.email import Email
from lag_monitor.alerts.channels.posting import Access
from lag_monitor.alerts.channels.slack import Slack
from lag_monitor.alerts.channels.webhook import Webhook
from lag_monitor.alerts.routes import Route, Silence
from lag_monitor.answers import BurrowSettings
from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.judge.settings import Patience
from lag_monitor.monitor import Plan
from lag_monitor.sharing.lease import Instances
from lag_monitor.store.cluster_store import Names
from lag_monitor.verdict import Gravity
from lag_monitor.watch import Promise, Watch

if TYPE_CHECKING:
    from lag_monitor.alerts.channels.channel import Channel


def plan_of(config: LagConfig, file: Path) -> Plan:
    """UsageError for whatever could never work."""
    instances = config.instances
    plan = Plan(
        watches=tuple(_watch(cluster, config) for cluster in config.clusters),
        folder=_folder(config, file),
        save_every=config.save_every,
        routes=tuple(_route(one) for one in config.routes),
        channels=tuple(_channel(one) for one in config.channels),
        silences=tuple(
            Silence(one.clusters, one.groups, one.until.timestamp() if one.until else None, one.comment)
            for one in config.silences
        ),
        instances=Instances(instances.group, instances.topic, instances.shards, instances.session, instances.replication)
        if instances
        else None,
        meeting_place=instances.cluster if instances else "",
    )
    for channel in plan.channels:
        channel.check()
    return plan


def delete_token(config: LagConfig) -> str:
    if config.delete_token_file is None and config.delete_token_env is None:
        return ""
    found = secret(config.delete_token_file, config.delete_token_env, "token")
    if not found:
        raise UsageError("the token for deleting is empty: whoever asks could delete.")
    return found


def burrow_settings(config: LagConfig) -> BurrowSettings:
    """What /v3/config shows. Nothing secret is among it."""
    burrow = config.burrow
    first = config.clusters[0]
    return BurrowSettings(
        listen=config.listen,
        intervals=burrow.intervals,
        min_distance=burrow.min_distance,
        expire_group=burrow.expire_group,
        allowed_lag=burrow.allowed_lag,
        minimum_complete=burrow.minimum_complete,
        expire_cache=0,
        allow=first.allow,
        deny=first.deny,
        notifiers={one.name: {"class-name": "email" if one.type == "email" else "http"} for one in config.channels},
    )


def _folder(config: LagConfig, file: Path) -> Path:
    beside = file.resolve().parent
    return beside / config.state_folder if config.state_folder else beside / f"{file.stem}-state"


def _watch(cluster: Cluster, config: LagConfig) -> Watch:
    judge, burrow = config.judge, config.burrow
    patience = Patience(
        interval=config.interval,
        quiet=judge.quiet,
        pauses=judge.pauses,
        slow=judge.slow,
        transaction=judge.transaction,
        abandoned=judge.abandoned,
        blind=judge.blind or 3 * config.interval + cluster.timeout,
    )
    return Watch(
        name=cluster.name,
        address=address_of(cluster.kafka),
        settings=cluster.kafka.settings,
        sources=cluster.sources,
        patience=patience,
        burrow=BurrowRules(
            burrow.intervals, burrow.min_distance, burrow.expire_group, burrow.allowed_lag, burrow.minimum_complete
        ),
        names=Names(cluster.allow, cluster.deny),
        promises=tuple(Promise(one.groups, one.seconds) for one in cluster.slo),
        topics_every=cluster.topics_every,
        groups_every=cluster.groups_every,
        timeout=cluster.timeout,
        read_markers=cluster.read_markers,
    )


def _route(told: RouteTable) -> Route:
    return Route(
        name=told.name,
        channels=told.channels,
        clusters=told.clusters,
        allow=told.allow,
        deny=told.deny,
        judge=told.judge,
        threshold=Gravity[told.threshold.upper()],
        min_lag=told.min_lag,
        min_seconds=told.min_seconds,
        after=told.after,
        close_after=told.close_after,
        repeat=told.repeat,
        severity=told.severity,
    )


def _channel(told: WebhookTable | SlackTable | AlertmanagerTable | EmailTable) -> "Channel":
    if isinstance(told, EmailTable):
        return _email(told)
    access, url = _access(told), _url(told)
    if isinstance(told, SlackTable):
        return Slack(told.name, url, access)
    if isinstance(told, AlertmanagerTable):
        return Alertmanager(told.name, (url, *told.more_urls), told.refresh, told.labels, told.generator_url, access)
    return Webhook(
        told.name,
        url,
        told.url_close or "",
        told.method,
        _text(told.template_file),
        _text(told.template_close_file),
        access,
    )


def _email(told: EmailTable) -> Email:
    host, _, port = told.server.rpartition(":")
    username, password = user_and_password(told.login)
    return Email(
        told.name,
        host.strip("[]"),
        int(port),
        told.sender,
        told.to,
        told.security,
        username,
        password,
        str(told.ca_file or ""),
        told.timeout,
    )


def _access(told: HttpAccess) -> Access:
    username, password = user_and_password(told.login)
    headers = dict(told.headers)
    if told.token_file or told.token_env:
        headers["Authorization"] = f"Bearer {secret(told.token_file, told.token_env, 'token')}"
    return Access(username, password, headers, str(told.ca_file or ""), told.timeout)


def _url(told: HttpAccess) -> str:
    return told.url if told.url is not None else secret(told.url_file, told.url_env, "address").strip()


def _text(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as trouble:
        raise UsageError(
            f"the template {file} cannot be read: {getattr(trouble, 'strerror', None) or 'not text'}."
        ) from None
