"""A file that says no more than which cluster it is and how to be let in: a [kafka] table, as a probe's has."""

from kafka_trial.daemon.tables import Kafka, Table


class ClusterConfig(Table):
    kafka: Kafka
