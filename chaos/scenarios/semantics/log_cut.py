"""The log is cut below a consumer that is there: an unclean election took the records it had read, others took their place.

By its offset alone the consumer could not tell: the log has grown past it again. It carries the leader epoch of what it
read last, asks the new leader where that epoch ended (KIP-320), and so finds out.
"""

from itertools import pairwise

from chaos import bounds
from chaos.evidence.account import Account, Read
from chaos.faults.stop_broker import StopBroker
from chaos.scenarios.semantics.resetting import AT_THE_END, RESET, errors_of, expect_told, wait_told
from chaos.scenarios.unclean_election import wait_alone, wait_behind_leads
from chaos.traffic.client import Client
from chaos.trial import Trial

READER = "reader-1"


def act(trial: Trial) -> None:
    leader, behind, third = trial.cluster.brokers[:3]
    config = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    orders = trial.topic("orders", assignment=[[leader, behind, third]], config=config)
    producer = trial.producer("producer-1", orders)
    reader = _reader(trial, orders, trial.options["reset"])
    trial.settle()
    producer.rest()
    trial.traffic.wait_caught_up()
    with trial.inject(StopBroker(behind)) as _, trial.inject(StopBroker(third)) as _:
        wait_alone(trial, orders, leader)
        trial.exposed = producer.burst(int(trial.options["records"]))
        producer.rest()
        trial.traffic.wait_caught_up()
        reader.rest()
        with trial.inject(StopBroker(leader), role=f"the only one that has the last {len(trial.exposed)} records"):
            trial.cluster.start(behind)
            bound = bounds.unclean_election(trial.given(), enabled="before")
            wait_behind_leads(trial, orders, behind, timeout=(bound.seconds if bound else 60.0) + 30)
    trial.healthy("healthy-again", canary=False)
    _overwritten(trial, orders)
    _goes_on(trial, orders, reader)
    trial.traffic.client("producer-2").order("resume")
    trial.steady("sending on with everybody back")


def _reader(trial: Trial, orders: str, reset: str) -> Client:
    return trial.consumer(READER, orders, mode="assign", config={"auto.offset.reset": reset, "enable.partition.eof": True})


def _overwritten(trial: Trial, orders: str) -> None:
    """By a new producer: librdkafka's idempotent ones fail for good when the log is cut below their sequence numbers."""
    position, (_, cut) = trial.traffic.read()[orders, 0], trial.cluster.log_offsets(orders)[0]
    producer = trial.producer("producer-2", orders)
    producer.wait_ready()
    producer.order("pause")
    producer.burst(2 * len(trial.exposed))
    producer.rest()
    end = trial.cluster.log_offsets(orders)[0][1]
    trial.events.write("offsets", position=position, cut=cut, end=end)
    trial.say(f"{READER} is at offset {position}; the log was cut at {cut} and ends at {end} again")


def _goes_on(trial: Trial, orders: str, reader: Client) -> None:
    ends = errors_of(reader).get(AT_THE_END, 0)
    reader.order("resume")
    if trial.options["reset"] != "error":
        return wait_told(trial, reader, AT_THE_END, ends + 1)
    wait_told(trial, reader, RESET)
    before = trial.traffic.read()[orders, 0]
    trial.stays(
        "waits", lambda: trial.traffic.read()[orders, 0] == before, seconds=trial.settings.steady_s,
        words="With auto.offset.reset=error it reads nothing until somebody decides",
    )  # fmt: skip
    trial.traffic.close(READER)
    return wait_told(trial, _reader(trial, orders, "earliest"), AT_THE_END)  # what its operator decides


def conclude(trial: Trial, account: Account) -> None:
    known = next(event for event in trial.folder.events() if event["event"] == "offsets")
    lives = {client.name for client in trial.traffic.clients if client.name.startswith(READER)}
    reads, exposed = account.read_by(lives), set(trial.exposed)
    words = f"Exactly the {len(exposed)} records that only the old leader had are gone, each of them read before"
    trial.expect("exact truncation", account.gone == exposed and not account.lost, f"{words}; {len(account.gone)} are gone.")
    missed = account.drained & account.acked - {read.value for read in reads}
    trial.expect("none missed", not missed, f"No record that is still in the log is missed; {len(missed)} are.")
    expect_told(trial, lives)
    _taken_back(trial, account, reads, known["cut"])


def _taken_back(trial: Trial, account: Account, reads: list[Read], cut: int) -> None:
    twice = account.read_twice({read.client for read in reads})
    if trial.options["reset"] == "error":
        first = {read.value for read in reads if read.client == READER} & account.drained
        words = f"Who begins anew reads again exactly the {len(first)} records it had read that are still there"
        trial.expect("read again", twice == first, f"{words}; {len(twice)} are.")
        return
    back = [(a, b) for a, b in pairwise(reads) if b.offset != a.offset + 1]
    seen = [(b.offset, (b.epoch or 0) > (a.epoch or 0)) for a, b in back]
    words = f"Whatever its policy, it is taken back to offset {cut}, where the logs part, and sees a newer leader epoch"
    trial.expect("taken back", seen == [(cut, True)], f"{words}; it went to {[offset for offset, _ in seen]}.")
    trial.expect("none again", not twice, f"No record is read again; {len(twice)} are.")
