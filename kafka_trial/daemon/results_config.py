"""Where results are published and read: a cluster, and the topics on it. HOST:PORT, or a TOML file for one with a login."""

from pathlib import Path

from interceptors.audit.settings import TOPIC as AUDIT
from kafka_trial.daemon.audit_config import TopicName
from kafka_trial.daemon.config_file import load
from kafka_trial.daemon.tables import Kafka, Table, is_host_port
from kernel.errors import UsageError
from kernel.results import TOPIC


class ResultsConfig(Table):
    kafka: Kafka
    topic: TopicName = TOPIC
    audit_topic: TopicName = AUDIT


def results_at(word: str) -> ResultsConfig:
    if all(is_host_port(one.strip()) for one in word.split(",")):
        return ResultsConfig(kafka=Kafka(bootstrap=word))
    if not word.endswith(".toml"):
        raise UsageError(f"{word!r} is neither HOST:PORT nor a TOML file with a [kafka] table: give one of them.")
    return load(Path(word), ResultsConfig)
