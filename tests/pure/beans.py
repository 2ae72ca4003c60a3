"""Beans of real nodes, recorded: Kafka 3.9.1 and 4.3.1, as broker, controller, and both in one."""

import json
from pathlib import Path

from exporters.readings import Reading

RECORDED = Path(__file__).parent.parent / "data" / "beans"
NODES = tuple(f"{version}-{role}" for version in ("3.9.1", "4.3.1") for role in ("broker", "controller", "combined"))


def recorded(node: str) -> list[Reading]:
    beans = json.loads((RECORDED / f"{node}.json").read_text())
    return [Reading(bean, attribute, value) for bean, values in beans.items() for attribute, value in values.items()]


def without(readings: list[Reading], part: str) -> list[Reading]:
    return [reading for reading in readings if part not in reading.bean]
