"""Is a client's process gone or frozen, and are its connections still the same? Asked of the operating system."""

import psutil

from chaos.faults import dial
from kernel.errors import NotReady
from kernel.waiting import wait_until

Connection = tuple[int, int]  # our port and the broker's


def gone(name: str, pid: int | None) -> str:
    seen = wait_until(
        lambda: state_of(pid),
        lambda state: state in ("gone", psutil.STATUS_ZOMBIE),
        what=f"the process of {name} is gone",
        timeout=dial.PATIENCE_S,
    )
    return f"process {pid} of {name} is gone" + (" (not yet buried)" if seen != "gone" else "")


def frozen(name: str, pid: int | None) -> str:
    wait_until(
        lambda: state_of(pid),
        lambda state: state in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP),
        what=f"the process of {name} is stopped",
        timeout=dial.PATIENCE_S,
    )
    return f"process {pid} of {name} is stopped (state T)"


def state_of(pid: int | None) -> str:
    try:
        return psutil.Process(pid).status() if pid is not None else "gone"
    except psutil.NoSuchProcess:
        return "gone"


def connections(pid: int | None, ports: frozenset[int]) -> frozenset[Connection]:
    """The open connections of a process to these ports of a broker, or of a proxy before one."""
    try:
        sockets = psutil.Process(pid).net_connections("tcp") if pid is not None else []
    except psutil.NoSuchProcess:
        raise NotReady(f"process {pid} is gone, and its connections with it.")
    return frozenset(
        (each.laddr.port, each.raddr.port)
        for each in sockets
        if each.status == psutil.CONN_ESTABLISHED and each.raddr and each.raddr.port in ports
    )
