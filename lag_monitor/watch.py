"""What the monitor is told of one cluster. Frozen, checked by whoever reads the configuration."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel.cluster import ClusterAddress
from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.judge.settings import Patience
from lag_monitor.store.cluster_store import Names

ADMIN, TOPIC = "admin", "offsets topic"


@dataclass(frozen=True, slots=True)
class Promise:
    """Groups whose name matches may be so many seconds behind."""

    groups: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Watch:
    name: str
    address: ClusterAddress
    settings: Mapping[str, Any] = field(default_factory=dict)  # more of librdkafka's
    sources: tuple[str, ...] = (ADMIN, TOPIC)
    patience: Patience = field(default_factory=Patience)
    burrow: BurrowRules = field(default_factory=BurrowRules)
    names: Names = field(default_factory=Names)
    promises: tuple[Promise, ...] = ()
    topics_every: float = 60.0
    groups_every: float = 30.0
    timeout: float = 10.0
    read_markers: bool = True  # look into topics whose readers seem to stand just before the end

    def promised(self, group: str) -> float:
        """0 if nothing is. The first that matches counts."""
        return next((one.seconds for one in self.promises if re.search(one.groups, group)), 0.0)
