"""kafka-trial: a real Kafka cluster in three seconds, broken on purpose, with a verdict you can trust.

from kafka_trial import Cluster, Cut, Link

with Cluster(brokers=3) as kafka:
    print(kafka.address.bootstrap)
    with kafka.broken(Cut(), Link(3, 1, "replication"), Link(3, 2, "replication")):
        ...
"""

from chaos.faults.isolate import Isolate
from chaos.faults.kill_broker import KillBroker
from chaos.faults.link_fault import LinkFault
from chaos.faults.pause_broker import PauseBroker
from chaos.faults.stop_broker import StopBroker
from compose.cluster import Cluster
from compose.links import Link
from compose.spec import ClusterSpec
from compose.toxics import Bandwidth, Blackhole, Cut, Latency, LimitData, Reset, Slicer, SlowClose
from kernel.cluster import ClusterAddress, PartitionState
from kernel.errors import SuiteError, UsageError

__version__ = "0.1.0"

__all__ = [
    "Bandwidth",
    "Blackhole",
    "Cluster",
    "ClusterAddress",
    "ClusterSpec",
    "Cut",
    "Isolate",
    "KillBroker",
    "Latency",
    "LimitData",
    "Link",
    "LinkFault",
    "PartitionState",
    "PauseBroker",
    "Reset",
    "Slicer",
    "SlowClose",
    "StopBroker",
    "SuiteError",
    "UsageError",
]
