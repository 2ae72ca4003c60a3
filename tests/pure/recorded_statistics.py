"""Statistics of real clients, recorded by tests/data/record_statistics.py with librdkafka 2.16 and Kafka 4.3.1."""

import json
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "data" / "statistics"


def told(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text())
    return loaded
