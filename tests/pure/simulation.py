"""A small Kafka in memory, and clients that behave: what they write down is a history without an anomaly.

Several partitions, plain and transactional producers, a client that reads and writes in transactions, a group that
rebalances and commits, a reader that was assigned, one that reads what is not committed, and the closing drain.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

Row = dict[str, Any]
MARKER = None


@dataclass
class Entry:
    value: int | None  # None: a marker
    txn: str | None
    aborted: bool = False


@dataclass
class Simulation:
    random: Random
    partitions: int = 3
    rows: list[Row] = field(default_factory=list)
    log: dict[tuple[str, int], list[Entry]] = field(default_factory=dict)
    open_txns: set[str] = field(default_factory=set)
    clock: int = 0
    values: int = 0

    def write(self, client: "Client", kind: str, outcome: str = "ok", *, ix: int = 0, **cells: Any) -> None:
        self.clock += 1000
        times = {"invoked_ns": self.clock, "completed_ns": None if outcome == "info" else self.clock + 500}
        basics = {"run_id": "simulated", "client": client.name, "op": client.op, "ix": ix, "kind": kind, "outcome": outcome}
        self.rows.append({**basics, **times, "final": client.name == "drain", **cells})

    def append(self, place: tuple[str, int], entry: Entry) -> int:
        entries = self.log.setdefault(place, [])
        entries.append(entry)
        return len(entries) - 1

    def stable_end(self, place: tuple[str, int]) -> int:
        entries = self.log.get(place, [])
        return next((at for at, entry in enumerate(entries) if entry.txn in self.open_txns), len(entries))

    def end_transaction(self, txn: str, *, commit: bool) -> None:
        self.open_txns.discard(txn)
        for entries in self.log.values():
            mine = [entry for entry in entries if entry.txn == txn and entry.value is not None]
            for entry in mine:
                entry.aborted = not commit
            if mine:
                entries.append(Entry(MARKER, None))


@dataclass
class Client:
    world: Simulation
    name: str
    committed: bool = True
    op: int = 0
    positions: dict[tuple[str, int], int] = field(default_factory=dict)

    def next_op(self) -> None:
        self.op += 1

    # ---- writing ------------------------------------------------------------------------------------------------

    def send(self, topic: str, txn: str | None = None) -> None:
        world, random = self.world, self.world.random
        self.next_op()
        place, value = (topic, random.randrange(world.partitions)), world.values
        world.values += 1
        world.log.setdefault(place, [])
        chance = random.random()
        cells = {"topic": place[0], "partition": place[1], "value": value, "txn": txn}
        if chance < 0.04:
            world.write(self, "send", "fail", error="MSG_SIZE_TOO_LARGE", **cells)
        elif chance < 0.10 and txn is None:  # it may be in the log, or not
            if random.random() < 0.5:
                world.append(place, Entry(value, txn))
            world.write(self, "send", "info", error="_MSG_TIMED_OUT", **cells)
        else:
            offset = world.append(place, Entry(value, txn))
            world.write(self, "send", offset=None if random.random() < 0.03 else offset, **cells)

    def begin(self, txn: str) -> None:
        self.next_op()
        self.world.open_txns.add(txn)
        self.world.write(self, "begin", txn=txn)

    def end(self, txn: str) -> None:
        self.next_op()
        commit = self.world.random.random() < 0.8
        self.world.end_transaction(txn, commit=commit)
        told = "info" if self.world.random.random() < 0.1 else "ok"
        self.world.write(self, "commit" if commit else "abort", told, txn=txn)

    # ---- reading ------------------------------------------------------------------------------------------------

    def assign(self, place: tuple[str, int], position: int) -> None:
        self.next_op()
        self.positions[place] = position
        self.world.write(self, "assign", topic=place[0], partition=place[1])

    def revoke(self, place: tuple[str, int]) -> int:
        self.next_op()
        self.world.write(self, "revoke", topic=place[0], partition=place[1])
        return self.positions.pop(place)

    def poll(self, most: int = 8, txn: str | None = None) -> list[tuple[str, int]]:
        """Records of all its partitions, in one op; returns the partitions that gave some."""
        self.next_op()
        ix, given = 0, []
        for place, position in sorted(self.positions.items()):
            entries = self.world.log.get(place, [])
            end = min(self.world.stable_end(place) if self.committed else len(entries), position + most)
            for offset in range(position, end):
                entry = entries[offset]
                if entry.value is not None and not (entry.aborted and self.committed):
                    cells = {"topic": place[0], "partition": place[1], "offset": offset, "value": entry.value, "txn": txn}
                    self.world.write(self, "poll", ix=ix, **cells)
                    ix += 1
                    given.append(place)
            self.positions[place] = max(position, end)
        if not ix:
            self.world.write(self, "poll")
        return given

    def commit_offsets(self, txn: str | None = None) -> None:
        self.next_op()
        for ix, (place, position) in enumerate(sorted(self.positions.items())):
            cells = {"topic": place[0], "partition": place[1], "offset": position, "txn": txn}
            self.world.write(self, "offsets", ix=ix, **cells)


MANIFEST = {
    "run_id": "simulated",
    "scenario": "simulated",
    "seed": 1,
    "permitted": [],
    "clients": {
        "plain": {"ordered": True},
        "teller": {"ordered": True},
        "etl": {"isolation": "read_committed", "mode": "subscribe"},
        "group-1": {"mode": "subscribe"},
        "group-2": {"mode": "subscribe"},
        "assigned": {"mode": "assign"},
        "dirty": {"isolation": "read_uncommitted", "mode": "assign"},
        "drain": {"isolation": "read_committed", "mode": "assign"},
    },
}


def simulate(seed: int, rounds: int, partitions: int = 3) -> list[Row]:
    """The rows of a run in which everybody did as they should. Whatever the seed, there is nothing to find."""
    world = Simulation(Random(seed), partitions)
    places = [("orders", number) for number in range(partitions)]
    clients = {
        name: Client(world, name, facts.get("isolation") != "read_uncommitted")
        for name, facts in MANIFEST["clients"].items()
    }
    for name in ("assigned", "dirty", "etl"):
        for place in places:
            clients[name].assign(place, 0)
    for place in places:
        clients["group-1"].assign(place, 0)
    for number in range(rounds):
        _act(world, clients, places, number)
    for txn in sorted(world.open_txns):
        clients[txn.partition("-")[0]].end(txn)
    _drain(clients["drain"])
    return world.rows


def _act(world: Simulation, clients: dict[str, Client], places: list[tuple[str, int]], number: int) -> None:
    random = world.random
    teller, etl = clients["teller"], clients["etl"]
    doing = random.choice(("plain", "plain", "teller", "etl", "group", "group", "rebalance", "assigned", "dirty", "own"))
    if doing == "plain":
        for _ in range(random.randint(1, 6)):
            clients["plain"].send("orders")
    elif doing == "teller":
        running = next((txn for txn in world.open_txns if txn.startswith("teller-")), None)
        if running is None:
            running = f"teller-{number}"
            teller.begin(running)
        for _ in range(random.randint(1, 4)):
            teller.send("orders", running)
        if random.random() < 0.7:
            teller.end(running)
    elif doing == "etl":
        txn = f"etl-{number}"
        etl.begin(txn)
        for _ in etl.poll(3, txn):
            etl.send("invoices", txn)
        etl.commit_offsets(txn)
        etl.end(txn)
    elif doing == "group":
        for name in ("group-1", "group-2"):
            clients[name].poll()
            clients[name].commit_offsets()
    elif doing == "rebalance":
        place = random.choice(places)
        giver, taker = ("group-1", "group-2") if place in clients["group-1"].positions else ("group-2", "group-1")
        clients[taker].assign(place, clients[giver].revoke(place))
    elif doing == "own":  # a teller that looks at what it wrote, once it is done with it
        if not any(txn.startswith("teller-") for txn in world.open_txns):
            place = random.choice(places)
            teller.assign(place, 0)
            teller.poll(1000)
            teller.revoke(place)
    else:
        clients[doing].poll()


def _drain(drain: Client) -> None:
    for place in sorted(drain.world.log):
        drain.assign(place, 0)
    while any(drain.positions[place] < len(entries) for place, entries in drain.world.log.items()):
        drain.poll(50)
    for place, entries in sorted(drain.world.log.items()):
        drain.next_op()
        drain.world.write(drain, "drained", topic=place[0], partition=place[1], offset=len(entries))
