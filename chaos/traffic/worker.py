"""The process of one client. Its plan comes on the first line of stdin, orders on those after; it reports on stdout.

Nothing about it is in its arguments, because an address may hold a password. When stdin ends, whoever started it is gone:
it closes its ledger and goes too, whatever the cluster does.
"""

import ctypes
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from chaos.traffic.consuming import Consuming
from chaos.traffic.draining import Draining
from chaos.traffic.piping import Piping
from chaos.traffic.plans import ConsumerPlan, DrainPlan, PipelinePlan, ProducerPlan, RetryPlan, from_json
from chaos.traffic.producing import Producing
from chaos.traffic.retrying import Retrying
from interceptors.ledger.announcement import Announcement, ListedValues
from interceptors.ledger.ledger_writer import LedgerWriter

ORPHAN_PATIENCE = 15.0  # seconds
PR_SET_PDEATHSIG = 1


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us, who will tell us
    _wake_when_orphaned()
    task = json.loads(sys.stdin.readline())
    orders = Orders()
    threading.Thread(target=_listen, args=(orders.waiting,), daemon=True).start()
    client = _client(task)
    _report({"ready": True})
    try:
        client.run(orders.take, lambda facts: _report({**facts, "orders": orders.taken}))
        _report({"closed": True})
    finally:
        _leave(client)


def _leave(client: Any) -> None:
    """A producer that hangs would not let the interpreter end, and one that ended by an error must be seen to be gone."""
    if isinstance(client, Piping) and client.stuck:
        if (trouble := sys.exception()) is not None:
            traceback.print_exception(trouble)
        os._exit(0 if trouble is None else 1)


class Orders:
    """What the client is told, one at a time. Reports say how many it has taken: so one that is older can be told apart."""

    def __init__(self) -> None:
        self.waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.taken = 0

    def take(self) -> str | None:
        if self.waiting.empty():
            return None
        self.taken += 1
        return self.waiting.get()


def _client(task: dict[str, Any]) -> Producing | Consuming | Piping | Draining:
    plan, folder = from_json(task["plan"]), Path(task["ledger"])
    task["config"] = {"client.id": task["client"], **task["config"]}  # so that a broker, or a proxy, can tell who asks
    ledger = LedgerWriter(folder, task["run_id"], task["client"], final=isinstance(plan, DrainPlan))
    if isinstance(plan, RetryPlan):
        return Retrying(plan, task["config"], ledger, ListedValues(folder, run_id=task["run_id"], client=task["client"]))
    if isinstance(plan, ConsumerPlan):
        return Consuming(plan, task["config"], ledger)
    if isinstance(plan, DrainPlan):
        return Draining(plan, task["config"], ledger)
    if isinstance(plan, PipelinePlan):
        listed = ListedValues(folder, run_id=task["run_id"], client=task["client"])
        return Piping(plan, task["config"], ledger, listed, task["life"])
    assert isinstance(plan, ProducerPlan)  # noqa: S101
    topic = next(iter(plan.topics)) if len(plan.topics) == 1 else None
    first = task["first"]
    promise = Announcement(folder, run_id=task["run_id"], client=task["client"], first=first, topic=topic)
    return Producing(plan, task["config"], ledger, promise, first)


def _listen(orders: "queue.SimpleQueue[str]") -> None:
    for line in sys.stdin:
        orders.put(line.strip())
    orders.put("stop")
    time.sleep(ORPHAN_PATIENCE)  # the brokers may be gone with whoever started us; closing a client waits for them
    os._exit(1)


def _wake_when_orphaned() -> None:
    """A client may be frozen (SIGSTOP) when its trial is killed, and nobody would ever let it go on."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGCONT)


def _report(facts: dict[str, Any]) -> None:
    with suppress(BrokenPipeError):  # nobody listens any more; the ledger still matters
        os.write(1, (json.dumps(facts) + "\n").encode())


if __name__ == "__main__":
    main()
