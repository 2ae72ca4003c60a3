"""Beans that the catalogue knows and does not export, each with its reason; so that one nobody knows is noticed.

A pattern is an object name without its domain's `kafka.`, in which `*` stands for anything.
"""

from collections.abc import Mapping

_CHANNEL = "one client inside the broker, a hundred figures of its connection; its effect is told elsewhere"
_CLIENT = "a Kafka client inside the broker that tells its version again"
_IDENTITY = "an identity, not a measurement"
_SESSIONS = "a cache of fetch sessions: of use only to whoever tunes it"

LEFT_OUT: Mapping[str, str] = {
    "server:type=*channel-metrics*": _CHANNEL,
    "server:type=alter-partition-metrics*": _CHANNEL,
    "server:type=directory-assignments-metrics*": _CHANNEL,
    "server:type=forwarding-metrics*": _CHANNEL,
    "server:type=heartbeat-metrics*": _CHANNEL,
    "server:type=registration-metrics*": _CHANNEL,
    "server:type=replica-fetcher-metrics*": _CHANNEL + " (MaxLag, FailedPartitionsCount)",
    "server:type=app-info,*": _CLIENT,
    "server:type=AppInfo*": _CLIENT,
    "server:type=KafkaServer,name=ClusterId": _IDENTITY,
    "server:type=ControllerServer,name=ClusterId": _IDENTITY,
    "server:type=KafkaServer,name=yammer-metrics-count": "how many beans there are",
    "server:type=ControllerServer,name=yammer-metrics-count": "how many beans there are",
    "server:type=ControllerServer,name=linux-disk-*": "the same process as KafkaServer's, on a combined node",
    "server:type=kafka-metrics-count": "how many beans there are",
    "server:type=node-metrics,*": "which feature levels the software supports: fixed by its version",
    "server:type=FetchSessionCache*": _SESSIONS,
    "server:type=FetchSessionCacheShard*": _SESSIONS,
    "server:type=ShareSessionCache*": _SESSIONS,
    "server:type=FetcherStats*": "bytes and requests by source broker; ReplicationBytesIn tells the sum",
    "server:type=DelayedFetchMetrics*": "a fetch's long poll that ends is no fault",
    "server:type=DelayedProduceMetrics*": "counted as errors of the Produce request",
    "server:type=DelayedDeleteRecordsMetrics*": "counted as errors of the request",
    "server:type=DelayedRemoteFetchMetrics*": "tiered storage",
    "server:type=DelayedRemoteListOffsetsMetrics*": "tiered storage",
    "server:type=DelayedOperationPurgatory,name=NumDelayedOperations*": "the part of PurgatorySize that has not timed out",
    "server:type=ReplicaAlterLogDirsManager*": "moves between log directories of one broker: an operator is watching",
    "server:type=ForwardingManager*": "requests forwarded to the controller; the controller's queue tells more",
    "server:type=AssignmentsManager*": "log directories of replicas that the controller is yet to be told of",
    "server:type=BrokerMetadataListener,name=MetadataBatchSizes": "records in a batch of metadata: for Kafka's developers",
    "server:type=ControllerMutation*": "a quota on changes of topics",
    "server:type=LeaderReplication*": "a quota on replication; ReplicationBytesOut tells the bytes",
    "server:type=FollowerReplication*": "a quota on replication; ReplicationBytesIn tells the bytes",
    "server:type=Produce": "the quota manager's own queue",
    "server:type=Fetch": "the quota manager's own queue",
    "server:type=Request": "the quota manager's own queue",
    "server:type=client-metrics*": "clients that push their metrics to the broker (KIP-714)",
    "server:type=ClientMetrics*": "clients that push their metrics to the broker (KIP-714)",
    "server:type=socket-server-metrics": "the memory pool, told by SocketServer's beans too",
    "server:type=socket-server-metrics,listener=*": "the rate of new connections; connection-creation-total counts them",
    "server:type=BrokerTopicMetrics,name=*Share*": "requests of share groups, told by RequestMetrics and ShareGroupMetrics",
    "server:type=BrokerTopicMetrics,name=Remote*": "tiered storage",
    "server:type=BrokerTopicMetrics,*": "by topic, a counter that stays at zero; its total is exported",
    "controller:type=KafkaController,name=LastAppliedRecordTimestamp": "LastAppliedRecordLagMs is the same, made of use",
    "controller:type=KafkaController,name=Migrating*": "the way from ZooKeeper, which ended with 3.9",
    "controller:type=KafkaController,name=Zk*": "the way from ZooKeeper, which ended with 3.9",
    "controller:type=KafkaController,name=ZkMigrationState": "the way from ZooKeeper, which ended with 3.9",
    "log:type=LogCleaner,name=cleaner-recopy-percent": "how much of a log cleaning kept: of use only to whoever tunes it",
    "log:type=LogManager,name=LogDirectoryCordoned*": "CordonedLogDirectoryCount counts them",
    "log:type=LogManager,name=remainingLog*": "loading logs while a broker starts, one series per log and thread",
    "log:type=LogManager,name=remainingSegments*": "loading logs while a broker starts, one series per log and thread",
    "network:type=RequestChannel,name=ResponseQueueSize,processor=*": "ResponseQueueSize in all is exported",
    "network:type=RequestMetrics,*": "93 requests times 8 timers: those of Produce and Fetch are exported",
    "utils:type=Throttler*": "bytes the cleaner reads and writes",
}
