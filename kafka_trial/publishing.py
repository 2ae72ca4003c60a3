"""Verdicts on their way to those who share no disk with us: by the results topic, and no verdict depends on it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafka_trial.cli.screen import complain

if TYPE_CHECKING:
    from chaos.evidence.folder import RunFolder

Publish = Callable[["RunFolder", dict[str, Any]], None]
SECOND = 1_000_000_000


def publisher(where: str | None) -> Publish:
    """Where it cannot go is told at once; that it did not arrive, when it did not."""
    if where is None:
        return lambda folder, verdict: None
    from kafka_trial.daemon.config_file import address_of
    from kafka_trial.daemon.results_config import results_at
    from kafka_trial.results import published
    from kernel.results import document

    place = results_at(where)
    connection = address_of(place.kafka).librdkafka() | place.kafka.settings

    def publish(folder: "RunFolder", verdict: dict[str, Any]) -> None:
        times = [event["t_ns"] for event in folder.events()]
        took = (max(times) - min(times)) / SECOND if times else None
        found = document(str(folder.path), folder.manifest(), verdict, took)
        published(found, connection, place.topic, warn=complain)

    return publish
