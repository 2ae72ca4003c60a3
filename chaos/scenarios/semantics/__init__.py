"""What Kafka promises to those who send and read, each promise as a trial."""

from types import ModuleType

from chaos.scenarios.semantics import (
    auto_commit,
    delivery_matrix,
    exactly_once,
    last_replica,
    late_end_transaction,
    leader_moves,
    offset_reset,
    retention_loss,
    retry_topics,
    sequence_gap,
    transactions,
)

SEMANTICS: tuple[ModuleType, ...] = (
    transactions,
    exactly_once,
    late_end_transaction,
    delivery_matrix,
    last_replica,
    leader_moves,
    auto_commit,
    retention_loss,
    offset_reset,
    retry_topics,
    sequence_gap,
)
