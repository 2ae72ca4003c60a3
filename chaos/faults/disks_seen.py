"""Is a log directory's disk full, or read-only? Seen by a write of our own beside the broker's."""

from chaos.faults.fault import CanBeBroken, called
from kernel.errors import NotReady


def refused(cluster: CanBeBroken, node: int, directory: int, wanted: str) -> str:
    seen = cluster.write_refused(node, directory)
    where = f"log directory {directory} of {called(node)}"
    if seen != wanted:
        raise NotReady(f"a write to {where} is {f'refused with {seen!r}' if seen else 'accepted'}, not with {wanted!r}.")
    return f"a write of ours to {where} is refused: {seen}"
