"""The same rules as Grafana evaluates them itself, for those who have Grafana and no rule files in Prometheus."""

import hashlib
from typing import Any

from dashboards.alerts.alert import Alert
from dashboards.alerts.every import GROUPS
from dashboards.alerts.prometheus_rules import RUNBOOKS
from dashboards.provisioning import FOLDER, SOURCE_UID


def provisioned(*, runbooks: str = RUNBOOKS) -> dict[str, Any]:
    return {
        "apiVersion": 1,
        "groups": [
            {
                "orgId": 1,
                "name": group,
                "folder": FOLDER,
                "interval": "30s",
                "rules": [_rule(alert, runbooks) for alert in alerts],
            }
            for group, alerts in GROUPS.items()
        ],
    }


def _rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    """An expression that is true has a value for each that it is true of; none is what is hoped for, and so no error."""
    return {
        "uid": f"kafka-trial-{hashlib.sha1(alert.name.encode(), usedforsecurity=False).hexdigest()[:12]}",
        "title": alert.name,
        "condition": "fires",
        "data": [_query(alert.expression), _any()],
        "noDataState": "OK",
        "execErrState": "Error",
        "for": alert.hold,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary.replace("{{ $value }}", '{{ printf "%.0f" $values.found.Value }}'),
            "description": alert.description,
            "runbook_url": f"{runbooks}{alert.runbook}",
        },
        "isPaused": False,
    }


def _query(expression: str) -> dict[str, Any]:
    model = {
        "refId": "found",
        "expr": expression,
        "instant": True,
        "range": False,
        "intervalMs": 1000,
        "maxDataPoints": 43200,
    }
    return {
        "refId": "found",
        "datasourceUid": SOURCE_UID,
        "relativeTimeRange": {"from": 600, "to": 0},
        "model": model,
    }


def _any() -> dict[str, Any]:
    """Whatever its value is, 0 included: that there is one is what counts."""
    condition = {"type": "query", "evaluator": {"type": "gt", "params": [-1e308]}}
    model = {"refId": "fires", "type": "threshold", "expression": "found", "conditions": [condition]}
    return {"refId": "fires", "datasourceUid": "__expr__", "relativeTimeRange": {"from": 0, "to": 0}, "model": model}
