"""Everything a Grafana needs, as files: dashboards, and the provisioning that loads them."""

import json
from pathlib import Path
from typing import Any

from dashboards.boards.every import BOARDS
from dashboards.grafana import as_grafana
from dashboards.provisioning import dashboards_provider, datasource
from dashboards.writing import as_yaml, write_all

MOUNTED = "/var/lib/grafana/dashboards/kafka-trial"  # where the stack and our documents mount them


def dashboards() -> dict[str, dict[str, Any]]:
    """By the name of its file."""
    return {f"{board.uid}.json": as_grafana(board) for board in BOARDS}


def files(*, path: str = MOUNTED, prometheus: str = "http://prometheus:9090") -> dict[str, str]:
    """By their place in the folder."""
    texts = {
        f"dashboards/{name}": json.dumps(made, indent=1, ensure_ascii=False) + "\n" for name, made in dashboards().items()
    }
    return texts | {
        "provisioning/dashboards/kafka-trial.yml": as_yaml(dashboards_provider(path)),
        "provisioning/datasources/prometheus.yml": as_yaml(datasource(prometheus)),
    }


def build(folder: Path, **more: str) -> list[Path]:
    return write_all(folder, files(**more))
