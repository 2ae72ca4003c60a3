"""A pipeline that is killed before its commits while the brokers roll: every input is in the output once, in its order.

What it reads, what it writes and how far it has read stand and fall together, because the offsets are in the transaction.
The twin has the same schedule and no transactions: it flushes, then commits. Exactly what it had written and not committed
when it was killed is in the output twice.
"""

from collections import Counter, defaultdict

from chaos.evidence.account import Account
from chaos.faults.kill_client import KillClient
from chaos.faults.stop_broker import StopBroker
from chaos.scenarios.one_by_one import one_by_one
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.traffic.piping import LIVES, input_of
from chaos.traffic.traffic import Where
from chaos.trial import Trial
from kernel.errors import NotReady

PIPELINES = ("pipeline-1", "pipeline-2")
PARTITIONS = 4
MOST_KILLS = LIVES - len(PIPELINES) - 1  # each life writes values of its own, and there are so many
GROUP = "pipeline"
HELD = "held"  # the event that says what a pipeline had in hand when it was killed


def act(trial: Trial) -> None:
    orders = trial.topic("orders", partitions=PARTITIONS)
    invoices = trial.topic("invoices", partitions=PARTITIONS)
    producer = trial.producer("producer-1", orders, config=one_by_one(trial.settings.clients))
    for name in PIPELINES:
        _pipeline(trial, name, orders, invoices)
    trial.consumer("reader-1", invoices, mode="assign")
    trial.settle()
    controller = trial.cluster.controller()
    brokers = [*(broker for broker in trial.cluster.brokers if broker != controller), controller]
    for turn in range(int(trial.options["kills"])):
        _round(trial, brokers[turn % len(brokers)], PIPELINES[turn % len(PIPELINES)], orders, invoices)
    trial.steady("piping on with everybody back")
    producer.rest()
    _through(trial, orders)
    # librdkafka's own: see chaos/traffic/piping.py.
    stuck = {client.name: client.status.get("stuck", 0) for client in trial.traffic.clients if client.name.startswith(GROUP)}
    trial.events.write("stuck-producers", count=sum(stuck.values()), clients=stuck)
    if any(stuck.values()):
        trial.say(f"{sum(stuck.values())} producers hung in send_offsets_to_transaction and were given up for new ones")


def _pipeline(trial: Trial, name: str, orders: str, invoices: str) -> Client:
    return trial.pipeline(name, orders, invoices, group=GROUP, transactions=trial.options["transactions"] == "on")


def _round(trial: Trial, broker: int, victim: str, orders: str, invoices: str) -> None:
    """While one broker is down, a pipeline is killed with everything written and nothing committed, and started again.

    How long that takes is measured and not judged: rolling-restart and consumer-rolling-restart are about time."""
    with trial.inject(StopBroker(broker)):
        _killed_before_its_commit(trial, victim, orders, invoices)
    trial.healthy("healthy-again")


def _killed_before_its_commit(trial: Trial, victim: str, orders: str, invoices: str) -> None:
    held = trial.traffic.client(victim).hold()
    trial.events.write(HELD, client=victim, pairs=held)
    trial.exposed += [read for read, _ in held]
    with trial.inject(KillClient(victim), role=f"{len(held)} records written and not committed"):
        trial.groups[trial.group(GROUP)] -= 1
        _pipeline(trial, victim, orders, invoices)
        trial.traffic.wait_for(reads=5, timeout=90)


def _through(trial: Trial, orders: str) -> None:
    """The topic holds this traffic and nothing else, so as many records as were acknowledged are to be committed."""

    def lag() -> dict[Where, int]:
        committed, acked = trial.cluster.committed(trial.group(GROUP)), trial.traffic.acked()
        return {where: count - committed.get(where, 0) for where, count in acked.items() if where[0] == orders}

    def alive() -> bool:
        return any(client.running for client in trial.traffic.clients if client.name.startswith(GROUP))

    left = trial.wait(
        "through", lag, lambda left: not any(left.values()) or not alive(),
        what="the pipelines have committed everything (lag is shown)", timeout=90, every=0.3,
    )  # fmt: skip
    if any(left.values()):
        raise NotReady(f"every pipeline has ended by itself, {sum(left.values())} inputs before the end: see their logs.")


def conclude(trial: Trial, account: Account) -> None:
    read, written = _logs(trial, account, "orders"), _logs(trial, account, "invoices")
    asked = {number for numbers in read.values() for number in numbers}
    made = Counter(number for numbers in written.values() for number in numbers)
    missing, twice = asked - made.keys(), {number for number, times in made.items() if times > 1}
    words = f"Every one of {len(asked)} inputs is in the output, and nothing else"
    strange = made.keys() - asked
    trial.expect(
        "none missing", not missing and not strange, f"{words}; {len(missing)} are missing, {len(strange)} are not inputs."
    )
    trial.expect("none twice", not twice, f"No input is in the output twice; {len(twice)} are.")
    words = "Each partition of the output has the order of its input"
    wrong = [partition for partition, numbers in written.items() if list(dict.fromkeys(numbers)) != read.get(partition)]
    trial.expect("in order", not wrong, f"{words}; {wrong or 'none'} has not.")
    _what_was_held(trial, account, twice)


def _logs(trial: Trial, account: Account, topic: str) -> dict[int, list[int]]:
    """What each partition holds of committed records, as numbers of inputs, in the order of the log."""
    logs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for read in account.final:
        if read.topic == trial.group(topic):
            logs[read.partition].append((read.offset, input_of(read.value)))
    return {partition: [number for _, number in sorted(log)] for partition, log in logs.items()}


def _what_was_held(trial: Trial, account: Account, twice: set[int]) -> None:
    pairs = [pair for event in trial.folder.events() if event["event"] == HELD for pair in event["pairs"]]
    outputs = {output for _, output in pairs}
    if trial.options["transactions"] == "on":
        words = f"None of the {len(outputs)} records in the transactions that were cut off is ever seen"
        seen = outputs & (account.drained | {read.value for read in account.reads})
        trial.expect("cut off, unseen", not seen, f"{words}; {len(seen)} are.")
        return
    exposed = {input_of(read) for read in trial.exposed}
    words = f"Exactly the {len(exposed)} inputs written and not committed at a kill are in the output twice"
    trial.expect(
        "exactly those twice", twice == exposed, f"{words}; {len(twice)} are, {len(twice & exposed)} of them those."
    )


SCENARIO = Scenario(
    name="exactly-once",
    promise="pipelines are killed before their commits while brokers roll: output = f(input), each once and in order",
    act=act,
    conclude=conclude,
    options={
        "transactions": Option("on", ("on", "off"), "offsets in the transaction; or flushed, then committed"),
        "kills": Option("3", help="of pipelines, in turn, each while another broker is down", most=MOST_KILLS),
    },
    twin={"transactions": "off"},
    twin_finds="exactly the inputs that were written and not committed at a kill are in the output twice",
    question="Does a pipeline that reads, writes and commits in one transaction bring every input through exactly once, "
    "however often it dies?",
    steps="Two pipelines in one group copy four partitions. Broker by broker is stopped; while one is down, a pipeline that "
    "has written a batch and not committed it is killed and started again with the same transactional.id.",
    expectation="In each partition of the output stand the inputs of that partition, each once and in order, and nothing of "
    "a transaction that was cut off. Without transactions exactly the inputs of the batches cut off are there twice.",
)
