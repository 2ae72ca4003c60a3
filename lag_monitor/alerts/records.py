"""Incidents and notices as JSON and back: for the file on disk, and for another instance that is to carry on.

Keys that are not known are passed over, so that of two instances one may be newer.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from lag_monitor.alerts.incidents import Incident
from lag_monitor.alerts.notices import Kind, Notice
from lag_monitor.alerts.readings import Reading, Worst
from lag_monitor.alerts.routes import Sight
from lag_monitor.verdict import Gravity

Plain = dict[str, Any]


def written(value: Incident | Notice) -> str:
    return json.dumps(asdict(value))


def plain(value: Incident | Notice) -> Plain:
    """Lists for tuples and words for names, as JSON would have it."""
    told: Plain = json.loads(written(value))
    return told


def incident(told: Mapping[str, Any]) -> Incident:
    """Raises ValueError, KeyError or TypeError for what is not one."""
    own = _own(Incident, told)
    own |= {"sight": Sight(own["sight"]), "told": tuple(own["told"])}
    own |= {name: _reading(own[name]) for name in ("reading", "worst")}
    return Incident(**own)


def notice(told: Mapping[str, Any]) -> Notice:
    own = _own(Notice, told)
    own |= {"kind": Kind(own["kind"]), "gravity": Gravity(own["gravity"])}
    own |= {"channels": tuple(own["channels"]), "partitions": tuple(_worst(part) for part in own["partitions"])}
    return Notice(**own)


def _reading(told: Mapping[str, Any]) -> Reading:
    own = _own(Reading, told)
    own |= {"gravity": Gravity(own["gravity"]), "partitions": tuple(_worst(part) for part in own["partitions"])}
    return Reading(**own)


def _worst(told: Mapping[str, Any]) -> Worst:
    return Worst(**_own(Worst, told))


def _own(kind: type[Any], told: Mapping[str, Any]) -> Plain:
    return {field.name: told[field.name] for field in fields(kind) if field.name in told}
