"""Replicas: who is in sync, who leads, who lags. Counted by each broker for the partitions it leads."""

from kernel.metric_tables.rows import counter, gauge
from kernel.metrics import Scope

_MANAGER = "kafka.server:type=ReplicaManager,name="
_FETCHER = "kafka.server:type=ReplicaFetcherManager,name={},clientId={{client_id}}"

ROWS = (
    gauge(
        _MANAGER + "UnderReplicatedPartitions",
        "Partitions led by this broker with fewer in-sync replicas than replicas.",
        star=True,
        note="A dead broker reports nothing; the others report for it.",
    ),
    gauge(
        _MANAGER + "UnderMinIsrPartitionCount",
        "Partitions led by this broker that refuse acks=all writes, having fewer in-sync replicas than min.insync.replicas.",
        star=True,
    ),
    gauge(
        _MANAGER + "AtMinIsrPartitionCount",
        "Partitions led by this broker that would refuse acks=all writes if they lost one more in-sync replica.",
        star=True,
    ),
    counter(
        _MANAGER + "IsrShrinksPerSec",
        "Times a replica was taken out of the ISR by this leader.",
        star=True,
        note="Kafka misses some: four partitions shrank and three were counted, seen on 4.3.1; why is not known for sure.",
    ),
    counter(_MANAGER + "IsrExpandsPerSec", "Times a replica was taken back into the ISR by this leader.", star=True),
    counter(_MANAGER + "FailedIsrUpdatesPerSec", "Changes of an ISR that the controller did not accept.", star=True),
    gauge(_MANAGER + "PartitionCount", "Partitions of which this broker has a replica."),
    gauge(_MANAGER + "LeaderCount", "Partitions this broker leads.", note="Uneven over brokers: leadership is imbalanced."),
    gauge(_MANAGER + "OfflineReplicaCount", "Replicas of this broker on a log directory that is offline."),
    gauge(_MANAGER + "ReassigningPartitions", "Partitions led by this broker that are being reassigned."),
    gauge(_MANAGER + "ProducerIdCount", "Producer ids that this broker remembers."),
    gauge(
        _MANAGER + "PartitionsWithLateTransactionsCount",
        "Partitions with a transaction open for longer than it may be: a hanging transaction.",
    ),
    gauge(_FETCHER.format("MaxLag"), "The furthest any follower on this broker is behind its leader, in records."),
    gauge(
        _FETCHER.format("FailedPartitionsCount"),
        "Partitions this broker no longer fetches because fetching failed.",
        note="Does not heal by itself.",
    ),
    gauge(_FETCHER.format("DeadThreadCount"), "Replica fetcher threads that died."),
    gauge(_FETCHER.format("MinFetchRate"), "Fetches per second of the slowest replica fetcher."),
    gauge(
        "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId={client_id},topic={topic},partition={partition}",
        "How far this follower is behind its leader, in records.",
        scope=Scope.PARTITION,
        appears="when the broker follows a partition",
        by_topic="max",
        everyday=False,
    ),
)
