"""Files by which a Grafana finds dashboards and data source by itself, when it starts."""

from typing import Any

FOLDER = "Kafka"
SOURCE_UID = "prometheus"


def dashboards_provider(path: str) -> dict[str, Any]:
    """`path`: where Grafana sees the folder with the dashboards. Changes by hand would not be kept, and so are refused."""
    provider = {
        "name": "kafka-trial",
        "folder": FOLDER,
        "type": "file",
        "allowUiUpdates": False,
        "options": {"path": path, "foldersFromFilesStructure": False},
    }
    return {"apiVersion": 1, "providers": [provider]}


def datasource(url: str) -> dict[str, Any]:
    """`url`: where Grafana finds Prometheus. Its address is not a secret; a password would not go here."""
    source = {
        "name": "Prometheus",
        "uid": SOURCE_UID,
        "type": "prometheus",
        "access": "proxy",
        "url": url,
        "isDefault": True,
        "jsonData": {"httpMethod": "POST", "timeInterval": "15s"},
    }
    return {"apiVersion": 1, "datasources": [source]}
