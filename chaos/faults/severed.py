"""What every partition is made of: some links cut, or silent, all at once.

Cut links refuse, so both sides know at once; silent ones swallow bytes in both directions, as a network that lost its
cable does, and each side has to wait for its own timeouts.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from chaos.faults.fault import CanBeBroken
from chaos.faults.links_seen import bitten
from compose.links import Link
from compose.toxics import Blackhole, Cut
from kernel.errors import UsageError


def links_where(cluster: CanBeBroken, fits: Callable[[Link], bool]) -> tuple[Link, ...]:
    found = tuple(link for link in cluster.links.servers if fits(link))
    if not found:
        raise UsageError(f"this partition severs no link of nodes {', '.join(map(str, cluster.nodes))}: name other nodes.")
    return found


@contextmanager
def severed(cluster: CanBeBroken, links: tuple[Link, ...], *, silent: bool) -> Iterator[None]:
    if not silent:
        with cluster.broken(Cut(), *links):
            yield
        return
    with cluster.broken(Blackhole(direction="upstream"), *links), cluster.broken(Blackhole(direction="downstream"), *links):
        yield


def seen_severed(cluster: CanBeBroken, links: tuple[Link, ...], *, silent: bool) -> str:
    return bitten(cluster, links, Blackhole() if silent else Cut())


def manner(silent: bool) -> str:
    return "silently" if silent else "with refusal"
