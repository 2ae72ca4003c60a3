"""Which shard a group belongs to, and which partitions of the topic of commits a shard reads. Pure.

Kafka keeps all that a group commits in one partition of that topic, so shards are made of its partitions: who has a shard
reads only his part.
"""

from collections.abc import Collection
from functools import lru_cache

from lag_monitor.sources.taking import partition_of


@lru_cache(maxsize=65_536)
def shard_of(group: str, shards: int, offsets_partitions: int) -> int:
    """`offsets_partitions`: of the topic of commits; 0 if there is none yet."""
    return partition_of(group, offsets_partitions or shards) % shards


def partitions_of(shards: Collection[int], count: int, offsets_partitions: int) -> set[int]:
    return {partition for partition in range(offsets_partitions) if partition % count in shards}
