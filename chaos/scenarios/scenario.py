"""What a scenario is: a name, a promise, what it does, its options, and the twin that must fail."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chaos.evidence.account import Account
from chaos.trial import Trial
from interceptors.ledger.valuing import SMALLEST
from kernel.errors import UsageError


@dataclass(frozen=True, slots=True)
class Option:
    """Something about a scenario that can be chosen."""

    default: str
    choices: tuple[str, ...] = ()  # empty: a whole number
    help: str = ""
    least: int = 1
    most: int | None = None

    def check(self, name: str, value: str) -> str:
        if self.choices:
            if value not in self.choices:
                raise UsageError(f"{name} {value!r} is not known: choose one of {', '.join(self.choices)}.")
        elif not value.isdecimal() or not self.least <= int(value) <= (self.most or int(value)):
            raise UsageError(f"{name} {value!r} is not a number {self.span}: give one.")
        return value

    @property
    def span(self) -> str:
        return f"from {self.least} on" if self.most is None else f"from {self.least} to {self.most}"


ACKS = Option("all", ("all", "1", "0"), "acknowledgements a producer waits for")
REPLICATION = Option("3", help="replicas of each partition")
# What every scenario's traffic can be given; one that needs other figures has an option of that name itself.
COMMON = {
    "rate": Option("300", help="records a second of a producer"),
    "size": Option("100", help="bytes of a record", least=SMALLEST),
}


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    promise: str  # one line: what is done and what must come of it
    act: Callable[[Trial], None]
    conclude: Callable[[Trial, Account], None] = lambda _trial, _account: None  # from the ledger, once it is closed
    options: Mapping[str, Option] = field(default_factory=dict)
    brokers: int = 3
    least_brokers: int = 3
    controllers: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)  # of brokers, beyond the settings
    replays: bool = False  # whether it takes a schedule that was saved
    twin: Mapping[str, str] = field(default_factory=dict)  # the options under which it must fail
    twin_finds: str = ""  # and what exactly it then finds
    # What else it wants of its cluster, by its options, as a ClusterSpec takes it: features, log_dirs, security, a version.
    spec: Callable[[Mapping[str, str]], Mapping[str, Any]] = lambda _options: {}
    paced: bool = True  # its producers take the options of all, rate and size; else it sends step by step
    # What it cannot do without; checked before anything is started.
    processes: bool = False  # brokers as processes of this machine: it reaches into their files, or stands on their wire
    plaintext: bool = False  # it tells single requests apart, so they must not be encrypted
    since: str = ""  # the first version of Kafka that has what it is about
    spoils: bool = False  # leaves the cluster another one (brokers added, storage damaged): it needs one of its own
    # For docs/scenarios.md, a sentence or two each.
    question: str = ""
    steps: str = ""
    expectation: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """What not every machine or cluster has, in words."""
        asked = self.spec({name: option.default for name, option in self.all_options.items()})
        wanted = {
            "root (it mounts disks)": bool(asked.get("disks")),
            "libfaketime": bool(asked.get("clocks")),
            "brokers as processes": self.processes or bool(asked.get("disks")) or bool(asked.get("clocks")),
            "no encryption": self.plaintext,
            f"Kafka {self.since} or newer": bool(self.since),
        }
        return tuple(words for words, needed in wanted.items() if needed)

    @property
    def all_options(self) -> dict[str, Option]:
        common = COMMON if self.paced else {}
        return {**self.options, **{name: option for name, option in common.items() if name not in self.options}}

    def chosen(self, given: Mapping[str, str], brokers: int | None = None) -> dict[str, str]:
        """All options, those that were given checked, the others by default."""
        options = self.all_options
        unknown = sorted(given.keys() - options.keys())
        if unknown:
            known = ", ".join(options)
            raise UsageError(f"option {unknown[0]!r} is not one of {self.name}: it has {known}.", option=unknown[0])
        chosen = {name: option.check(name, given.get(name, option.default)) for name, option in options.items()}
        there = self.brokers if brokers is None else brokers
        if int(chosen.get("replication", 0)) > there:
            wanted = chosen["replication"]
            raise UsageError(f"replication {wanted} is more than the {there} brokers: use fewer, or --brokers {wanted}.")
        return chosen

    def cluster(self, brokers: int | None) -> dict[str, Any]:
        """The cluster it wants, as a ClusterSpec takes it."""
        count = self.brokers if brokers is None else brokers
        if count < self.least_brokers:
            raise UsageError(
                f"{self.name} needs at least {self.least_brokers} brokers, not {count}: {_why(self.least_brokers)}.",
                brokers=count,
            )
        return {"brokers": count, "controllers": self.controllers, "config": dict(self.config)}


def _why(least: int) -> str:
    return "every partition has three replicas" if least == 3 else "with fewer there is nobody to take over"
