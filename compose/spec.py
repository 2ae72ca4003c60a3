"""What cluster is wanted, checked whole before anything is started."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from compose.disks import Disk
from kernel.errors import UsageError

DEFAULT_KAFKA = "4.3.1"
TRIED_VERSIONS = ("3.9.1", "4.1.0", "4.3.1")  # the versions the test suite runs; any other from 3.9 on may be asked for
OLDEST = (3, 9, 0)
SECURITY = ("plaintext", "tls", "sasl_ssl")
DEFAULT_SECURITY = SECURITY[0]
PROVIDERS = ("auto", "processes", "containers")
MOST_BROKERS = 5
MOST_LOG_DIRS = 4
FIRST_CONTROLLER = 101  # dedicated controllers are numbered apart, so that brokers can be added without a gap

# What the plan itself decides. Changing one of these would disconnect the broker from its links or its storage.
RESERVED = frozenset(
    {
        "node.id",
        "process.roles",
        "listeners",
        "advertised.listeners",
        "listener.security.protocol.map",
        "inter.broker.listener.name",
        "controller.listener.names",
        "controller.quorum.voters",
        "log.dirs",
        "log.dir",
    }
)


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """A cluster to start. Raises `UsageError` for a value that cannot work, naming the value and the choice."""

    brokers: int = 3
    controllers: int | None = None  # None: brokers are controllers too (combined); a number: that many of their own
    kafka: str = DEFAULT_KAFKA
    security: str = DEFAULT_SECURITY
    certificate_days: float | None = None  # nodes' certificates expire so long after a node's start; None: in the year 3000
    config: Mapping[str, str] = field(default_factory=dict)  # broker configuration on top of Kafka's defaults
    metadata_version: str | None = None  # format as an older release would, e.g. "3.9-IV0"
    features: Mapping[str, int] = field(default_factory=dict)  # e.g. {"transaction.version": 1}
    javaagent: bool = False  # load jmx_prometheus_javaagent in every node
    jolokia: bool = False  # load Jolokia's agent in every node
    jvm_options: tuple[str, ...] = ()  # on every node's command line, after ours
    log_dirs: int = 1  # of each node: more than one, and it survives the loss of one
    disks: tuple[Disk, ...] = ()  # log directories on file systems of their own; needs root
    clocks: tuple[int, ...] = ()  # nodes whose clock can be set; needs libfaketime
    heap: str = "400m"
    port: int | None = None  # clients find broker n at port + n - 1; None: free ports

    def __post_init__(self) -> None:
        _in_range("brokers", self.brokers, 1, MOST_BROKERS)
        if self.controllers is not None:
            _in_range("controllers", self.controllers, 1, MOST_BROKERS)
        _in_range("log_dirs", self.log_dirs, 1, MOST_LOG_DIRS)
        check_version(self.kafka)
        if self.security not in SECURITY:
            raise UsageError(
                f"security {self.security!r} is not known: choose one of {', '.join(SECURITY)}.", value=self.security
            )
        if self.certificate_days is not None:
            self._check_days(self.certificate_days)
        check_config(self.config)
        self._check_machines()
        if not re.fullmatch(r"[1-9][0-9]*[mg]", self.heap):
            raise UsageError(f"heap {self.heap!r} is not a size: give a number and m or g, like 400m.", value=self.heap)
        if self.port is not None:
            _in_range("port", self.port, 1024, 65535 - MOST_BROKERS)
        # Frozen all the way down: a spec is printed, compared and kept with the evidence.
        object.__setattr__(self, "config", MappingProxyType({k: str(v) for k, v in self.config.items()}))
        object.__setattr__(self, "features", MappingProxyType(dict(self.features)))

    def _check_machines(self) -> None:
        for node in (*self.clocks, *(disk.node for disk in self.disks)):
            if node not in self.node_ids:
                raise UsageError(f"node {node} does not exist: the cluster has {', '.join(map(str, self.node_ids))}.")
        for disk in self.disks:
            _in_range("the log directory of a disk", disk.directory, 1, self.log_dirs)

    def _check_days(self, days: float) -> None:
        if self.security == "plaintext":
            raise UsageError("certificate_days is given, and security is plaintext: choose tls or sasl_ssl.", value=days)
        if not 0 < days <= 36_500:  # nodes would not let each other in with what has expired
            raise UsageError(f"certificate_days {days:g} is out of range: choose more than 0 and at most 36500.", value=days)

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(range(1, self.brokers + 1))

    @property
    def controller_ids(self) -> tuple[int, ...]:
        if self.controllers is not None:
            return tuple(range(FIRST_CONTROLLER, FIRST_CONTROLLER + self.controllers))
        # Three voters survive one loss; two survive none, so a pair of brokers has one controller only.
        return self.broker_ids[: 3 if self.brokers >= 3 else 1]

    @property
    def node_ids(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*self.controller_ids, *self.broker_ids)))

    def __reduce__(self) -> tuple[object, ...]:  # a MappingProxyType cannot be pickled, a spec should be
        values = [getattr(self, name) for name in self.__slots__]
        return (type(self), tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values))


def check_version(version: str) -> tuple[int, int, int]:
    """The version as numbers, or the sentence that says why it cannot be one."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version)
    if not match:
        raise UsageError(
            f"Kafka version {version!r} is not known: give a released version like {DEFAULT_KAFKA} "
            f"(tried here: {', '.join(TRIED_VERSIONS)}).",
            value=version,
        )
    numbers = (int(match[1]), int(match[2]), int(match[3]))
    if numbers < OLDEST:
        raise UsageError(
            f"Kafka version {version} is too old: 3.9.0 is the first that is supported, because it is the first whose "
            f"KRaft can do everything the trials ask for.",
            value=version,
        )
    return numbers


def check_config(config: Mapping[str, str]) -> None:
    taken = sorted(RESERVED & config.keys())
    if taken:
        raise UsageError(f"config {taken[0]!r} cannot be set: the cluster plan decides it. Leave it out.", value=taken[0])


def _in_range(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise UsageError(f"{what} {value} is out of range: choose {low} to {high}.", what=what, value=value)
