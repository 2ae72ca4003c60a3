"""Rules in the form Prometheus reads."""

from typing import Any

from dashboards.alerts.alert import Alert
from dashboards.alerts.durations import at_pace
from dashboards.alerts.every import GROUPS

RUNBOOKS = "docs/runbooks/"
ROUNDED = '{{ printf "%.0f" $value }}'  # else a million is 1e+06, and a minute 60.0170001


def rule_file(*, runbooks: str = RUNBOOKS, pace: float = 1) -> dict[str, Any]:
    """`runbooks`: what stands before the name of a runbook's page. `pace`: see durations.py."""
    return {
        "groups": [
            {"name": group, "rules": [_rule(at_pace(alert, pace), runbooks) for alert in alerts]}
            for group, alerts in GROUPS.items()
        ]
    }


def _rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.hold,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary.replace("{{ $value }}", ROUNDED),
            "description": alert.description,
            "runbook_url": f"{runbooks}{alert.runbook}",
        },
    }
