"""What every metric is called, where it comes from, and how it may be read.

One catalogue: collectors ask for its beans, the exporter emits its names, dashboards and alerts query them, and the
documents list them, so that no rename goes half way. Pure data; the rows are in `kernel/metric_tables/`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    SUMMARY = "summary"  # quantiles, _count and _sum, from the attributes of a Yammer histogram or timer
    STATE = "state"  # a word: exported as a label of a gauge that is 1
    HISTOGRAM = "histogram"
    UNTYPED = "unknown"  # an alias, under which others expect no type


class Scope(StrEnum):
    """Of what a value tells, and so how it may be added up."""

    NODE = "node"  # of this node: brokers and controllers may be summed
    BROKER = "broker"  # of this broker: may be summed over brokers
    CONTROLLERS = "controllers"  # of the cluster, repeated by every controller or node: take the max, never the sum
    ACTIVE = "active controller"  # of the cluster, from the active controller alone
    TOPIC = "topic"
    PARTITION = "partition"
    JVM = "jvm"
    OS = "os"
    EXPORTER = "exporter"  # of the exporter's own work
    CLIENT = "client"  # of a producer or consumer in Python
    PROBE = "probe"
    GROUP = "lag monitor"  # of a consumer group, or of the monitor's own work
    AUDIT = "audit"  # of a topic between two tiers, or of the auditor's own work
    TRIAL = "trials"  # of the runs in a folder, or of the look at it


BROKER, CONTROLLER = "broker", "controller"
EVERY_ROLE = frozenset({BROKER, CONTROLLER})

# Quantile label → attribute of a Yammer histogram. The label is the number as Prometheus writes it.
QUANTILES: Mapping[str, str] = {
    "0.5": "50thPercentile",
    "0.75": "75thPercentile",
    "0.95": "95thPercentile",
    "0.98": "98thPercentile",
    "0.99": "99thPercentile",
    "0.999": "999thPercentile",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """One family. `bean` is an object name in which a varying key stands as {label}; empty for what is not from JMX."""

    name: str
    kind: Kind
    help: str
    bean: str = ""
    attribute: str = ""  # of a composite: HeapMemoryUsage.used; of a summary: its count
    total: str = ""  # of a summary: the attribute with its sum; empty if there is none, and then it is Count times Mean
    unit: str = ""
    scope: Scope = Scope.BROKER
    roles: frozenset[str] = frozenset({BROKER})  # the nodes that have it
    star: bool = False  # singled out by Kafka's documents and every book: these first
    factor: float = 1.0
    labels: tuple[str, ...] = ()  # of our own metrics; those from JMX have theirs in `bean`
    word: str = "state"  # of a state: the label that carries the word
    fixed: Mapping[str, str] = field(default_factory=dict)  # labels that say which attribute it was
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # values of a label that are worth their series
    sentinels: tuple[float, ...] = ()  # numbers that mean "nothing yet"
    least: float | None = None  # anything below is such a number too
    since: str = "3.9"
    until: str = ""  # the first version without it
    appears: str = ""  # when it is not there from the start: the event that brings it
    everyday: bool = True  # False: one series per partition or per processor, collected only when asked for
    by_topic: str = ""  # of a partition's metric: how its topic's is made of it, sum or max; empty if it says nothing
    native: bool = False  # the Java agent exports it by itself, under this name
    confluent: str = ""  # family B, where it differs
    bitnami: str = ""  # family C, where it differs
    note: str = ""  # the trap, for people

    @property
    def label_names(self) -> tuple[str, ...]:
        varying = tuple(value[1:-1] for value in self.keys.values() if value.startswith("{"))
        state = (self.word,) if self.kind is Kind.STATE else ()
        return varying + tuple(self.fixed) + state + self.labels

    @property
    def key(self) -> str:
        """One of its kind in the catalogue; a name alone is not, for it may stand for all topics and for each."""
        return f"{self.bean}/{self.attribute}" if self.bean else self.name

    @property
    def domain(self) -> str:
        return self.bean.partition(":")[0]

    @property
    def keys(self) -> dict[str, str]:
        """The keys of the object name in the order Kafka registers them; a varying one has {label} for a value."""
        return dict(pair.split("=", 1) for pair in self.bean.partition(":")[2].split(",") if pair)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes to ask for, without the keys of a composite."""
        if self.kind is Kind.SUMMARY and not self.total:
            return (self.attribute, "Mean", *QUANTILES.values())
        return tuple(name.partition(".")[0] for name in (self.attribute, self.total) if name)

    def in_version(self, version: tuple[int, ...]) -> bool:
        return as_version(self.since) <= version and (not self.until or version < as_version(self.until))


def as_version(text: str) -> tuple[int, ...]:
    """(4, 3, 1) of "4.3.1-SNAPSHOT"; what is not a number ends it."""
    numbers: list[int] = []
    for part in text.replace("-", ".").split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)
