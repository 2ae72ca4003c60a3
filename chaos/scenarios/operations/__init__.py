"""What an operator does to a cluster while it serves, each task as a trial."""

from types import ModuleType

from chaos.scenarios.operations import (
    acl_revoked,
    add_broker,
    certificate_rotation,
    config_update,
    mirror_failover,
    password_change,
    preferred_leader,
    quotas,
    raise_replication,
    rebalance_partitions,
    remove_broker,
    replace_broker,
    rolling_upgrade,
)

OPERATIONS: tuple[ModuleType, ...] = (
    rolling_upgrade,
    add_broker,
    replace_broker,
    remove_broker,
    rebalance_partitions,
    raise_replication,
    preferred_leader,
    config_update,
    quotas,
    certificate_rotation,
    password_change,
    acl_revoked,
    mirror_failover,
)
