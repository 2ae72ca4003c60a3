"""All alert rules there are, by the group they are evaluated in."""

from dashboards.alerts.alert import Alert
from dashboards.alerts.rules import availability, consumers, load, monitoring, replication, storage

GROUPS: dict[str, tuple[Alert, ...]] = {
    f"kafka-{module.__name__.rpartition('.')[2]}": module.RULES
    for module in (availability, replication, load, storage, consumers, monitoring)
}
ALERTS: tuple[Alert, ...] = tuple(alert for alerts in GROUPS.values() for alert in alerts)
