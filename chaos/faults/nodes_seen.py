"""Is a node gone, silent, or back? Looked at from outside, over its direct listener, which no link fault touches."""

from chaos.faults import dial
from chaos.faults.dial import Reply
from chaos.faults.fault import CanBeBroken, called
from compose.links import CLIENT
from kernel.errors import NotReady
from kernel.waiting import wait_until


def gone(cluster: CanBeBroken, node: int) -> str:
    """The process has ended, and where it listened nobody answers."""
    wait_until(
        lambda: cluster.running(node),
        lambda running: not running,
        what=f"{called(node)} is gone",
        timeout=dial.PATIENCE_S,
    )
    if node not in cluster.brokers:  # it has no direct listener to look at
        return f"the process of {called(node)} is gone"
    reply = wait_until(
        lambda: greeted(cluster, node),
        lambda reply: reply.how in ("refused", "hung up", "reset"),  # Docker's own proxy picks up before it hangs up
        what=f"{called(node)} no longer answers",
        timeout=dial.PATIENCE_S,
    )
    return f"the process of {called(node)} is gone, a call to it is {reply.how}"


def silent(cluster: CanBeBroken, node: int) -> str:
    """It runs, its kernel takes the call, and nobody answers."""
    reply = wait_until(
        lambda: greeted(cluster, node),
        lambda reply: reply.how == "silent" and cluster.running(node),
        what=f"{called(node)} is silent",
        timeout=dial.PATIENCE_S,
    )
    return f"{called(node)} takes a call and does not answer for {reply.seconds:.1f} s, though its process is there"


def greeted(cluster: CanBeBroken, node: int) -> Reply:
    return dial.call(_door(cluster, node), secure=cluster.spec.security != "plaintext", patience=dial.SILENCE_S)


def _door(cluster: CanBeBroken, node: int) -> dial.Address:
    if node in cluster.brokers:
        return ("127.0.0.1", cluster.ports_of(node).direct)
    if cluster.provider == "processes":  # a controller of its own: what stands behind a link to it
        link = next(link for link in cluster.links.servers if link.target == node and link.source != CLIENT)
        return cluster.links.addresses_of(link)[1]
    raise NotReady(f"{called(node)} listens inside its container alone: whether it answers cannot be seen from here.")
