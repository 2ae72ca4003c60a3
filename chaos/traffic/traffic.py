"""All clients of a run: started, counted, told to stop, and drained at the end."""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from chaos.evidence.folder import RunFolder
from chaos.evidence.seal import seal
from chaos.traffic.client import Client
from chaos.traffic.plans import ConsumerPlan, DrainPlan, PipelinePlan, Plan, ProducerPlan
from interceptors.ledger.ledger_writer import LedgerWriter
from kernel.errors import SuiteError, UsageError
from kernel.ledger import Kind, Outcome
from kernel.waiting import wait_until

VALUES_EACH = 10**12  # a value tells its producer at a glance: 1000000000042 is record 42 of the first
CRASH_OP = 1 << 61  # after everything the client itself wrote down

Where = tuple[str, int]


class Traffic:
    """`config` is what every client gets on top of its own plan: the address, and the timeouts of the settings."""

    def __init__(self, folder: RunFolder, run_id: str, config: Mapping[str, Any]) -> None:
        self._folder, self._run_id, self._config = folder, run_id, dict(config)
        self._clients: dict[str, Client] = {}
        self._names: Counter[str] = Counter()
        self._producers = self._pipelines = 0
        self._guests: dict[str, dict[str, Any]] = {}
        self._crashes = LedgerWriter(folder.ledger, run_id, "trial")

    def __enter__(self) -> "Traffic":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    # ---- clients ----------------------------------------------------------------------------------------------

    def start(self, name: str, plan: Plan, *, wait: bool = True, config: Mapping[str, Any] | None = None) -> Client:
        """Start a client. A name that was used before gets a number: a client that comes back is a new client."""
        life = self._new_life(name)
        task: dict[str, Any] = {"run_id": self._run_id, "ledger": str(self._folder.ledger.resolve())}
        task["config"] = self._config | dict(config or {})
        if isinstance(plan, ProducerPlan):
            self._producers += 1
            task["first"] = self._producers * VALUES_EACH
        elif isinstance(plan, PipelinePlan):
            self._pipelines += 1
            task["life"] = self._pipelines
        client = self._clients[life] = Client(life, plan, task, self._folder.logs / "clients.log")
        if wait:
            try:
                client.wait_ready()
            except SuiteError:  # told here, and not once more at the end
                self._clients.pop(life).end()
                raise
        return client

    def guest(self, name: str, facts: dict[str, Any]) -> tuple[LedgerWriter, int]:
        """Ledger and first value of a producer that a scenario drives itself. Its facts go into the manifest as they are
        when the run ends."""
        life = self._new_life(name)
        self._producers += 1
        self._guests[life] = facts
        return LedgerWriter(self._folder.ledger, self._run_id, life), self._producers * VALUES_EACH

    def _new_life(self, name: str) -> str:
        if not re.fullmatch(r"[\w-]+", name):
            raise UsageError(f"client {name!r} cannot be: its files bear its name, so use letters, digits, - and _.")
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}.{self._names[name]}"

    def client(self, name: str) -> Client:
        """By the name of one life, or by the name it was first started under: then the latest life."""
        latest = [life for life in self._clients if life == name or life.startswith(f"{name}.")]
        if not latest:
            raise UsageError(f"client {name!r} does not exist: there are {', '.join(sorted(self._clients)) or 'none'}.")
        return self._clients[latest[-1]]

    def revive(self, name: str) -> Client:
        """Another life for a client that ended, with the same plan and the same connections."""
        ended = self.client(name)
        return self.start(ended.name.partition(".")[0], ended.plan, config=ended.config)

    def close(self, name: str) -> None:
        """Have it finish and close as it should."""
        self.stop([self.client(name)])

    def kill(self, name: str) -> None:
        client = self.client(name)
        invoked = time.monotonic_ns()
        client.kill()
        self._crashes.row(
            client=client.name, op=CRASH_OP, ix=0, kind=Kind.CRASH, invoked_ns=invoked, completed_ns=time.monotonic_ns(),
            outcome=Outcome.OK,
        )  # fmt: skip
        self._crashes.sync()

    def pause(self, name: str) -> None:
        self.client(name).pause()

    def resume(self, name: str) -> None:
        self.client(name).resume()

    def pid(self, name: str) -> int:
        return self.client(name).pid

    @property
    def clients(self) -> tuple[Client, ...]:
        return tuple(self._clients.values())

    def facts(self) -> dict[str, dict[str, Any]]:
        """For the manifest."""
        return {name: client.plan.facts() for name, client in self._clients.items()} | self._guests

    # ---- counts -----------------------------------------------------------------------------------------------

    def acked(self) -> dict[Where, int]:
        return self._sum("acked")

    def read(self) -> dict[Where, int]:
        return self._sum("read")

    def count(self, what: str) -> int:
        """`sent`, `ok`, `fail`, `info` or `open`, over all producers."""
        return sum(int(client.status.get(what, 0)) for client in self._of(ProducerPlan))

    def errors(self) -> dict[str, int]:
        """What reached the applications: errors of sends, of polls and of commits."""
        seen: Counter[str] = Counter()
        for client in self._clients.values():
            seen.update(client.status.get("errors", {}))
        return dict(seen)

    def wait_for(self, *, acks: int = 0, reads: int = 0, on: Iterable[Where] | None = None, timeout: float = 60) -> None:
        """So many more acknowledgements and reads on each of these partitions (of all that are written)."""
        partitions = list(on) if on is not None else sorted(self._partitions())
        first_acked, first_read = self.acked(), self.read()

        def missing() -> dict[str, int]:
            now_acked, now_read = self.acked(), self.read()
            behind = {}
            for where in partitions:
                short = max(
                    first_acked.get(where, 0) + acks - now_acked.get(where, 0),
                    first_read.get(where, 0) + reads - now_read.get(where, 0),
                )
                if short > 0:
                    behind[f"{where[0]}-{where[1]}"] = short
            return behind

        what = (
            f"{acks} more acknowledgements and {reads} more reads on each of {len(partitions)} partitions (missing is shown)"
        )
        wait_until(missing, lambda behind: not behind, what=what, timeout=timeout, every=0.05)

    def wait_caught_up(self, timeout: float = 60) -> None:
        """Until readers have read as much as was acknowledged, on every partition."""
        wait_until(
            self.lag, lambda lag: not any(behind > 0 for behind in lag.values()),
            what="all that was acknowledged is read (lag is shown)", timeout=timeout,
        )  # fmt: skip

    def wait_read_out(self, *, quiet_s: float = 3.0, timeout: float = 60) -> bool:
        """Until readers have caught up, or get no more: what was lost will never come. Whether they caught up."""
        seen: list[tuple[int, float]] = []

        def look() -> bool:
            total = sum(self.read().values())
            if not seen or seen[-1][0] != total:
                seen.append((total, time.monotonic()))
            return not any(behind > 0 for behind in self.lag().values()) or time.monotonic() - seen[-1][1] > quiet_s

        wait_until(look, bool, what="readers at the end of what there is", timeout=timeout)
        return not any(behind > 0 for behind in self.lag().values())

    def lag(self) -> dict[Where, int]:
        """How far the slowest audience is behind: a group reads every record once, and so does each reader of its own."""
        audiences: dict[str, list[Client]] = defaultdict(list)
        for client in (*self._of(ConsumerPlan), *self._of(PipelinePlan)):
            audiences[_audience(client)].append(client)
        alive = [some for some in audiences.values() if any(client.running for client in some)] or list(audiences.values())
        read = [(some[0].plan.topics, self._sum("read", some)) for some in alive]
        return {
            where: max((count - done.get(where, 0) for topics, done in read if where[0] in topics), default=count)
            for where, count in self.acked().items()
        }

    # ---- the end ----------------------------------------------------------------------------------------------

    def stop(self, clients: Iterable[Client] | None = None, *, timeout: float = 120) -> None:
        """Let clients finish: first told all, then waited for."""
        some = [c for c in (self._clients.values() if clients is None else clients) if not c.killed]
        for client in some:
            client.stop()
        for client in some:  # also for those that ended by themselves: such a one should not have, and is told
            client.wait_closed(timeout)

    def stop_producers(self, timeout: float = 120) -> None:
        self.stop(self._of(ProducerPlan), timeout=timeout)

    def stop_consumers(self, timeout: float = 120) -> None:
        self.stop([*self._of(PipelinePlan), *self._of(ConsumerPlan)], timeout=timeout)

    def drain(self, plan: DrainPlan, config: Mapping[str, Any]) -> dict[str, Any]:
        """Read everything back, over a connection that no fault touches."""
        task = {"run_id": self._run_id, "ledger": str(self._folder.ledger.resolve()), "config": dict(config)}
        life = self._new_life("drain")
        client = self._clients[life] = Client(life, plan, task, self._folder.logs / "clients.log")
        client.wait_closed(plan.timeout + 30)
        return client.status

    def seal(self) -> None:
        self._crashes.close()
        seal(self._folder.path)

    def end(self) -> None:
        for client in self._clients.values():
            client.end()

    def _of(self, kind: type[Plan]) -> list[Client]:
        return [client for client in self._clients.values() if isinstance(client.plan, kind)]

    def _partitions(self) -> set[Where]:
        return {(t, p) for client in self._of(ProducerPlan) for t, n in client.plan.topics.items() for p in range(n)}

    def _sum(self, what: str, clients: Iterable[Client] | None = None) -> dict[Where, int]:
        total: Counter[Where] = Counter()
        for client in self._clients.values() if clients is None else clients:
            counts = client.status.get(what)
            if isinstance(counts, dict):
                for topic, partitions in counts.items():
                    for partition, count in partitions.items():
                        total[topic, int(partition)] += count
        return dict(total)


def _audience(client: Client) -> str:
    plan = client.plan
    if isinstance(plan, PipelinePlan):
        return plan.group
    return plan.group if isinstance(plan, ConsumerPlan) and plan.mode == "subscribe" else f".{client.name}"
