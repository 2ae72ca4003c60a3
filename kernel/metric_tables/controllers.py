"""What the controllers say. All of them, standby too, repeat what they know of the cluster: take the max, never the sum."""

from typing import Any

from kernel.metric_tables.rows import counter, gauge, summary
from kernel.metrics import CONTROLLER, Metric, Scope

_CONTROLLER = "kafka.controller:type=KafkaController,name="
_STATS = "kafka.controller:type=ControllerStats,name="
_QUEUE = "kafka.controller:type=ControllerEventManager,name="
_OF: dict[str, Any] = {"roles": frozenset({CONTROLLER}), "scope": Scope.NODE}
_REPEATED: dict[str, Any] = _OF | {"scope": Scope.CONTROLLERS}
_ACTIVE: dict[str, Any] = _OF | {"scope": Scope.ACTIVE}
_EACH_COUNTS = "Every controller counts it, so a sum is too many: max(increase())."


def _counted(name: str, help: str, **more: object) -> Metric:  # noqa: A002
    """A count that Kafka registers as a gauge; it only rises, so it is a counter here."""
    return counter(_CONTROLLER + name, help, "Value", **(_OF | more))


ROWS = (
    gauge(
        _CONTROLLER + "ActiveControllerCount",
        "1 on the active controller, 0 on the others; the sum over controllers is 1 in a healthy cluster.",
        star=True,
        note="Alert on sum != 1 or absent().",
        **_OF,
    ),
    gauge(
        _CONTROLLER + "OfflinePartitionsCount",
        "Partitions without a leader: nobody can write to or read from them.",
        star=True,
        **_REPEATED,
    ),
    counter(
        _STATS + "UncleanLeaderElectionsPerSec",
        "Leaders elected from outside the ISR: acknowledged records may be lost.",
        star=True,
        note=f"{_EACH_COUNTS} One event must page: over a window longer than the alert's `for`.",
        **_REPEATED,
    ),
    gauge(
        _CONTROLLER + "PreferredReplicaImbalanceCount",
        "Partitions not led by their preferred replica.",
        star=True,
        **_REPEATED,
    ),
    gauge(_CONTROLLER + "GlobalTopicCount", "Topics in the cluster.", star=True, **_REPEATED),
    gauge(_CONTROLLER + "GlobalPartitionCount", "Partitions in the cluster.", star=True, **_REPEATED),
    gauge(_CONTROLLER + "ActiveBrokerCount", "Brokers that are registered and not fenced.", star=True, **_REPEATED),
    gauge(_CONTROLLER + "FencedBrokerCount", "Brokers that are registered and fenced.", star=True, **_REPEATED),
    summary(
        _STATS + "LeaderElectionRateAndTimeMs",
        "Elections of leaders and the time they took.",
        star=True,
        unit="ms",
        until="4.0",
        appears="on controllers that use ZooKeeper, and nowhere else: not on KRaft, neither 3.9 nor 4.x",
        note="Gone with Kafka 4.0. In its place: raft election latency, newactivecontrollerscount_total, "
        "electionfromeligibleleaderreplicas_total, and the measured darkness of each partition (the probe's availability).",
        **_OF,
    ),
    gauge(
        _CONTROLLER + "TimeSinceLastHeartbeatReceivedMs,broker={broker}",
        "Time since the active controller last heard from a broker: the first sign that one is dead.",
        unit="ms",
        since="4.1",
        **_ACTIVE,
    ),
    gauge(
        _CONTROLLER + "BrokerRegistrationState,broker={broker}",
        "How a broker stands with the controller: 10 fenced, 20 in controlled shutdown, 30 active.",
        since="4.1",
        appears="when a broker registers that this controller has not known before",
        note="Not to be relied on: a controller that was restarted knows its brokers already, and tells nothing of them, "
        "seen on 4.1.0 and 4.3.1. In its place: fencedbrokercount and timesincelastheartbeatreceivedms.",
        **_REPEATED,
    ),
    gauge(
        _CONTROLLER + "ControlledShutdownBrokerCount",
        "Brokers that are shutting down in order, as in a rolling restart.",
        since="4.1",
        **_REPEATED,
    ),
    counter(
        _STATS + "ElectionFromEligibleLeaderReplicasPerSec",
        "Leaders elected from the eligible leader replicas (KIP-966): outside the ISR, and yet nothing is lost.",
        since="4.0",
        note=_EACH_COUNTS,
        **_REPEATED,
    ),
    _counted(
        "NewActiveControllersCount",
        "Elections of an active controller that this controller has seen since it started.",
        note=_EACH_COUNTS,
        scope=Scope.CONTROLLERS,
    ),
    _counted(
        "TimedOutBrokerHeartbeatCount",
        "Heartbeats that this controller, while active, did not get round to in time.",
        note="A dead broker sends none: for that see timesincelastheartbeatreceivedms.",
    ),
    _counted("EventQueueOperationsTimedOutCount", "Operations of the controller that were given up."),
    _counted("EventQueueOperationsStartedCount", "Operations of the controller that were begun."),
    _counted(
        "MetadataErrorCount", "Errors of this controller while it worked on metadata.", note="Any is a bug or a broken disk."
    ),
    gauge(_CONTROLLER + "LastAppliedRecordLagMs", "How far this controller is behind the metadata log.", unit="ms", **_OF),
    gauge(_CONTROLLER + "LastAppliedRecordOffset", "Offset of the last metadata record this controller applied.", **_OF),
    gauge(_CONTROLLER + "LastCommittedRecordOffset", "Offset of the last metadata record that is committed.", **_OF),
    gauge(_CONTROLLER + "IgnoredStaticVoters", "1 when controller.quorum.voters is set and not used.", since="4.1", **_OF),
    summary(_QUEUE + "EventQueueTimeMs", "How long the controller's events waited.", unit="ms", **_OF),
    summary(_QUEUE + "EventQueueProcessingTimeMs", "How long the controller's events took.", unit="ms", **_OF),
    gauge(_QUEUE + "AvgIdleRatio", "How idle the controller's one thread is, 0 to 1.", since="4.2", unit="ratio", **_OF),
)
