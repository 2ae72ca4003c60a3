"""Rule files for those who evaluate them: Prometheus, or Grafana itself."""

from pathlib import Path

from dashboards.alerts.grafana_rules import provisioned
from dashboards.alerts.prometheus_rules import RUNBOOKS, rule_file
from dashboards.writing import as_yaml, write_all


def prometheus_text(*, runbooks: str = RUNBOOKS, pace: float = 1) -> str:
    return as_yaml(rule_file(runbooks=runbooks, pace=pace))


def files(*, runbooks: str = RUNBOOKS, pace: float = 1) -> dict[str, str]:
    return {
        "prometheus/rules/kafka-trial.yml": prometheus_text(runbooks=runbooks, pace=pace),
        "grafana/alerting/kafka-trial.yml": as_yaml(provisioned(runbooks=runbooks)),
    }


def build(folder: Path, *, runbooks: str = RUNBOOKS, pace: float = 1) -> list[Path]:
    return write_all(folder, files(runbooks=runbooks, pace=pace))
