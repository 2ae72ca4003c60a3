"""Free ports, and holding on to them.

A port that is merely found free can be gone when the broker binds it, or while the broker is down. So each is kept
bound, not listening, for as long as the cluster lives: the kernel then gives it to nobody by chance, and still lets
the broker listen on it, because both sides allow address reuse.
"""

import random
import socket
from dataclasses import dataclass, field

import psutil

from compose.broker_config import Ports
from kernel.errors import SuiteError, UsageError

# Below the range from which Linux takes the ports of outgoing connections (32768 on).
LOW, HIGH = 15000, 32000
TOXIPROXY = 0  # the "node" under which a Toxiproxy that all nodes share has its port


@dataclass
class PortReservations:
    held: list[socket.socket] = field(default_factory=list)

    def free(self) -> int:
        for _ in range(2000):
            if self._hold(port := random.randrange(LOW, HIGH)):
                return port
        raise SuiteError(f"no free port between {LOW} and {HIGH}: end some of the programs that listen on this machine.")

    def exactly(self, port: int) -> int:
        if not self._hold(port):
            raise UsageError(
                f"port {port} is in use{_by_whom(port)}: choose another --port, or leave it out to have free ones chosen.",
                port=port,
            )
        return port

    def for_node(self, client: int | None) -> Ports:
        return Ports(
            client=self.free() if client is None else self.exactly(client),
            **{name: self.free() for name in ("behind", "direct", "replication", "controller", "jmx", "agent", "jolokia")},
        )

    def release(self) -> None:
        for held in self.held:
            held.close()
        self.held.clear()

    def _hold(self, port: int) -> bool:
        holder = socket.socket()
        try:
            holder.bind(("0.0.0.0", port))  # on every address and without reuse: fails if anyone has it anywhere
        except OSError:
            holder.close()
            return False
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.held.append(holder)
        return True


def _by_whom(port: int) -> str:
    try:
        pid = next((c.pid for c in psutil.net_connections("tcp") if c.laddr and c.laddr.port == port and c.pid), None)
        return f" by {psutil.Process(pid).name()} (process {pid})" if pid else ""
    except psutil.Error:
        return ""
