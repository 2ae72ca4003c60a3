"""What an administrator asks of a cluster, and has it do: topics, settings, elections, moves, offsets, users.

Each verb is thin: how it is asked stands in a file of its own. Everything goes straight to the brokers, so that no fault on
a link gets in its way. `Cluster` is one of these; what it is asked through is left to it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from compose import reassigning, throttling
from compose.features import Level
from compose.reassigning import Moves, Where
from compose.spec import ClusterSpec
from compose.view import ClusterView
from kernel.cluster import ClusterAddress, PartitionState
from kernel.errors import NotReady, UsageError
from kernel.waiting import wait_until


class Administered(ABC):
    spec: ClusterSpec
    view: ClusterView

    @property
    @abstractmethod
    def brokers(self) -> tuple[int, ...]: ...

    @property
    @abstractmethod
    def direct_address(self) -> ClusterAddress: ...

    @abstractmethod
    def address_for(self, user: str, password: str | None = None) -> ClusterAddress: ...

    @abstractmethod
    def running(self, broker: int) -> bool: ...

    @abstractmethod
    def _known(self, node: int) -> None: ...

    @abstractmethod
    def _brokers_in_words(self) -> str: ...

    @abstractmethod
    def _direct_addresses(self) -> dict[int, ClusterAddress]: ...

    def leader_of(self, topic: str, partition: int = 0) -> int:
        state = self.partition(topic, partition)
        if state.leader is None:
            raise NotReady(f"{topic}-{partition} has no leader: replicas {list(state.replicas)}, ISR {sorted(state.isr)}.")
        return state.leader

    def isr_of(self, topic: str, partition: int = 0) -> frozenset[int]:
        return self.partition(topic, partition).isr

    def partition(self, topic: str, partition: int = 0) -> PartitionState:
        for state in self.view.partitions(topic):
            if state.partition == partition:
                return state
        raise UsageError(f"partition {topic}-{partition} does not exist: topics are {self.view.topics()}.")

    def controller(self) -> int:
        """The active controller."""
        return wait_until(self.view.quorum, lambda _: True, what="one active controller", timeout=60).leader

    def effective_config(self, broker: int) -> dict[str, str]:
        """A broker's configuration as the broker itself describes it, not as it was asked for."""
        from compose.admin import describe_configs

        self._known(broker)
        return describe_configs(self.direct_address, "broker", str(broker))

    def topic_config(self, topic: str) -> dict[str, str]:
        from compose.admin import describe_configs

        return describe_configs(self.direct_address, "topic", topic)

    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replication: int | None = None,
        config: Mapping[str, str] | None = None,
        assignment: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic and wait until each of its partitions is led and fully replicated. An `assignment` names the
        replicas of each partition, the preferred leader first, and then decides partitions and replication too."""
        from compose.admin import create_topic

        chosen = [list(replicas) for replicas in assignment] if assignment else None
        if chosen:
            partitions, replication = len(chosen), len(chosen[0])
        copies = replication if replication is not None else min(3, len(self.brokers))
        if copies > len(self.brokers):
            raise UsageError(f"replication {copies} of {topic!r} is more than the {self._brokers_in_words()}: use fewer.")
        wanted = {key: str(value) for key, value in (config or {}).items()}
        if not create_topic(self.direct_address, topic, partitions, copies, wanted, chosen):
            self._same_topic(topic, partitions, copies, wanted)
        self.wait_replicated(topic, partitions=partitions)

    def _same_topic(self, topic: str, partitions: int, copies: int, config: Mapping[str, str]) -> None:
        """A topic that is there already will do if it is what was asked for; anything else would be a quiet surprise."""
        states, effective = self.view.partitions(topic), self.topic_config(topic)
        found = {"partitions": len(states), "replication": len(states[0].replicas)} | {k: effective.get(k) for k in config}
        asked = {"partitions": partitions, "replication": copies, **config}
        if found != asked:
            raise UsageError(f"topic {topic!r} exists with {found}, not with {asked}: use another name, or delete it first.")

    def alter_topic(self, topic: str, config: Mapping[str, str]) -> None:
        """Change a topic's configuration while it is in use."""
        self._alter("topic", topic, config)

    def alter_group(self, group: str, config: Mapping[str, str]) -> None:
        """Change the configuration of a group of the next generation, which is kept by the brokers and not by members."""
        self._alter("group", group, config)

    def _alter(self, kind: str, name: str, config: Mapping[str, str | None]) -> None:
        from compose.admin import alter_configs

        wanted = {key: None if value is None else str(value) for key, value in config.items()}
        alter_configs(self.direct_address, kind, name, wanted)

    def alter_brokers(self, config: Mapping[str, str | None], broker: int | None = None) -> str | None:
        """Change the dynamic configuration of one broker, or of all by the cluster's default. Returns Kafka's refusal."""
        from compose.broker_settings import alter_brokers

        return alter_brokers(self.direct_address, broker, config)

    def alter_quotas(self, entity: Mapping[str, str], limits: Mapping[str, float | None]) -> None:
        """`alter_quotas({"client-id": "noisy"}, {"producer_byte_rate": 100_000})`; None takes a limit away."""
        from compose.quotas import alter_quotas

        alter_quotas(self.direct_address, entity, limits)

    def quotas(self, entity: Mapping[str, str]) -> dict[str, float]:
        from compose.quotas import quotas

        return quotas(self.direct_address, entity)

    def delete_topics(self, *topics: str) -> None:
        """Delete topics that exist; those that do not are passed over."""
        from compose.admin import delete_topics

        delete_topics(self.direct_address, list(topics))

    def elect(self, topic: str, partition: int = 0, *, unclean: bool = False) -> str | None:
        """An operator's election: of the preferred leader, or of anybody who is there. Returns the error's name, if any."""
        from compose.admin import elect_leader

        return elect_leader(self.direct_address, topic, partition, unclean=unclean)

    def elect_preferred(self) -> dict[Where, str]:
        """Bring every partition's leadership home. Returns the error's name of each that could not be."""
        from compose.admin import elect_preferred

        return elect_preferred(self.direct_address)

    def reassign(self, moves: Moves) -> None:
        """Begin to move replicas: `{("orders", 0): [4, 1, 2]}`, the preferred leader first."""
        reassigning.reassign(self.direct_address, moves)

    def cancel_reassignments(self) -> list[Where]:
        """Take back every move that is under way, and say which."""
        pending = sorted(self.view.reassignments())
        reassigning.reassign(self.direct_address, dict.fromkeys(pending))
        return pending

    def wait_reassigned(self, moves: Moves, timeout: float = 60) -> list[PartitionState]:
        """Until every partition has exactly these replicas, all of them in sync, and nothing is under way any more."""
        topics = sorted({topic for topic, _ in moves})

        def done(states: list[PartitionState]) -> bool:
            there = {(state.topic, state.partition): state for state in states}
            return all(list(there[w].replicas) == list(to) and there[w].fully_replicated for w, to in moves.items())

        wait_until(self.view.reassignments, lambda some: not some, what="every reassignment done", timeout=timeout)
        return wait_until(lambda: self.view.partitions(*topics), done, what=f"replicas as in {dict(moves)}", timeout=timeout)

    def throttle(self, rate: int, before: Moves, after: Moves) -> None:
        """Let these moves be copied at no more than so many bytes a second, from each broker and to each broker."""
        for topic, config in throttling.throttled_replicas(before, after).items():
            self._alter("topic", topic, config)
        for broker in self.brokers:
            self._alter("broker", str(broker), throttling.rates(rate))

    def unthrottle(self, *topics: str) -> None:
        """Take off what `throttle` set."""
        for topic, config in throttling.nobody(topics).items():
            self._alter("topic", topic, config)
        for broker in self.brokers:
            self._alter("broker", str(broker), throttling.rates(None))

    def sizes(self, *topics: str) -> reassigning.Sizes:
        """Bytes on disk of every replica of these topics: `{("orders", 0): {1: 4096, 2: 4096}}`."""
        live = [broker for broker in self.brokers if self.running(broker)]
        return reassigning.sizes(self.direct_address, live, topics)

    def feature_levels(self, broker: int) -> dict[str, Level]:
        """Features as one broker has them: what its binaries support at most, and what is finalised."""
        from compose.features import levels

        return levels(self._direct_addresses()[broker], broker)

    def set_feature(self, feature: str, level: int, *, down: bool = False) -> str | None:
        """Finalise a feature level for the whole cluster. Returns what Kafka said if it refused."""
        from compose.features import set_level

        return set_level(self.direct_address, feature, level, down=down)

    def group(self, group: str) -> tuple[str, int]:
        """State and number of members of a consumer group."""
        from compose.admin import describe_group

        return describe_group(self.direct_address, group)

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """What a consumer group has committed, by partition."""
        from compose.admin import committed_offsets

        return committed_offsets(self.direct_address, group)

    def log_ends(
        self, *topics: str, committed: bool = False, patience: float = 5.0, attempts: int = 3
    ) -> dict[tuple[str, int], int]:
        """Where each log ends: for everybody, or for readers of committed records (the last stable offset). Of all, or
        `NotReady`: an answer may take `patience` seconds, and is asked for a few times; who looks again and again himself,
        and measures how long it takes, asks once."""
        from compose.log_offsets import log_ends

        where = self._places(topics)
        return log_ends(self.direct_address, where, committed=committed, patience=patience, attempts=attempts)

    def _places(self, topics: Sequence[str]) -> list[Where]:
        """The partitions of these topics, or of all; `NotReady` while nobody knows any of one."""
        places = [(state.topic, state.partition) for state in self.view.partitions(*topics)]
        if unknown := sorted(set(topics) - {topic for topic, _ in places}):
            raise NotReady(f"no broker knows a partition of {', '.join(unknown)}: create it first, or wait for it.")
        return places

    def transaction_coordinator(self, transactional_id: str) -> int:
        """The broker that coordinates the transactions of this id. Its topic is there once a producer has used one."""
        from compose.coordinators import TRANSACTION_STATE, partition_of

        partitions = len(self.view.partitions(TRANSACTION_STATE))
        return self.leader_of(TRANSACTION_STATE, partition_of(transactional_id, partitions))

    def log_offsets(self, topic: str) -> dict[int, tuple[int, int]]:
        """Where the log of each partition begins and ends."""
        from compose.log_offsets import log_offsets

        return log_offsets(self.direct_address, topic, len(self._places([topic])))

    def delete_records(self, below: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """Delete the records below an offset of each partition; returns where the logs begin then."""
        from compose.log_offsets import delete_records

        return delete_records(self.direct_address, below)

    def wait_replicated(self, *topics: str, partitions: int = 1, timeout: float = 60) -> list[PartitionState]:
        """Wait until every partition (of these topics, or of all) is led and its ISR is complete."""
        return wait_until(
            lambda: self.view.partitions(*topics),
            lambda states: len(states) >= (partitions if topics else 0) and all(s.fully_replicated for s in states),
            what=f"every partition of {', '.join(topics) or 'the cluster'} led and fully replicated",
            timeout=timeout,
        )

    def create_user(self, user: str, password: str) -> ClusterAddress:
        """Make a SCRAM user known to a sasl_ssl cluster, or change its password."""
        if self.spec.security != "sasl_ssl":
            raise UsageError(f"user {user!r} cannot have a password here: security is {self.spec.security}, not sasl_ssl.")
        from compose.admin import set_password

        set_password(self.direct_address, user, password)
        return self.address_for(user, password)

    def forget_user(self, user: str) -> None:
        """Nobody gets in by that name any more; who is in stays in."""
        from compose.acls import forget_user

        forget_user(self.direct_address, user)

    def allow(self, user: str, operation: str, kind: str, name: str) -> None:
        """`allow("alice", "WRITE", "TOPIC", "orders")`, in Kafka's words."""
        from compose.acls import allow

        allow(self.direct_address, user, operation, kind, name)

    def disallow(self, user: str, operation: str = "ANY", kind: str = "ANY", name: str | None = None) -> int:
        """Take rules away, by default all that the user has. Returns how many went."""
        from compose.acls import disallow

        return disallow(self.direct_address, user, operation, kind, name)
