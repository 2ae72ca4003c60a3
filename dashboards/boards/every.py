"""All dashboards there are, in the order in which they are looked at."""

from dashboards.board import Board
from dashboards.boards import (
    brokers,
    clients,
    cluster_health,
    consumer_lag,
    controllers,
    freshness,
    probe_and_audit,
    topics,
    trials,
)

BOARDS: tuple[Board, ...] = tuple(
    module.BOARD
    for module in (
        cluster_health, brokers, controllers, topics, consumer_lag, clients, probe_and_audit, freshness, trials,
    )
)  # fmt: skip
