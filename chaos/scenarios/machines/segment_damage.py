"""A segment of one replica is damaged while its broker is down. Does the broker notice, and who pays if it does not?

After a crash a broker checks what it finds: it cuts its log before the first batch that is wrong and fetches the rest again
from the leader. After a clean shutdown it trusts its disk and does not look. Nobody notices either, until that replica
leads; then readers are handed the damaged record as if nothing were wrong, because librdkafka does not check checksums
unless it is told to (check.crcs). One that does gets stuck there: it begins at the beginning, again and again.
A segment that was cut off is another matter: its index points behind its end, so the broker takes its log for empty, fetches
everything once more, and stumbles over the index. It never comes back into the ISR until somebody deletes that replica.
"""

import shutil
from pathlib import Path

from chaos import bounds, segments
from chaos.evidence.account import Account
from chaos.faults.damage_segment import DamageSegment
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.trial import Trial
from kernel.errors import NotReady

BEYOND = 300  # records
FLIPPED = 8 * 10**15  # what the first of sixteen digits is worth more, once its bit is turned over


def act(trial: Trial) -> None:
    controller = trial.cluster.controller()
    victim = next(broker for broker in trial.cluster.brokers if broker != controller)
    others = [broker for broker in trial.cluster.brokers if broker != victim]
    orders = trial.topic("orders", assignment=[[victim, *others]])
    producer = trial.producer("producer-1", orders)
    reader = trial.consumer("reader-1", orders, mode="assign", config={"check.crcs": trial.options["crcs"] == "on"})
    trial.settle()
    producer.rest()
    trial.traffic.wait_caught_up()
    reader.rest()
    offset = _expose(trial, producer, trial.cluster.partition_folder(victim, orders))
    producer.order("resume")
    # Enough for index entries (one in 4 KB) behind the batch: only they tell a broker of what is no longer there.
    trial.traffic.wait_for(acks=BEYOND, timeout=90)
    hard = trial.options["shutdown"] == "crash"
    fault = DamageSegment(victim, orders, 0, offset, trial.options["how"], hard)
    bound = (
        bounds.kill_broker(trial.given(), leads_again=True) if hard else bounds.stop_broker(trial.given(), leads_again=True)
    )
    with trial.inject(fault, affected=[(orders, 0)], send=bound):
        pass  # it is damaged, and the broker is started again
    if fault.how == "truncate" and not hard:
        _stumbles(trial, orders, victim)
    trial.healthy("healthy-again", canary=False)
    _leads(trial, orders, victim)
    _looked_at(trial, orders, victim)
    reader.order("resume")
    trial.steady("sending on, and reading what the damaged replica has")


def _expose(trial: Trial, producer: Client, folder: Path) -> int:
    """A few records in one batch that nobody has read. Returns the offset of the one in the middle."""
    before = sum(trial.traffic.acked().values())  # one producer, one partition, nothing but records in it
    burst = producer.burst(int(trial.options["records"]))
    producer.rest()
    batch = segments.batch_with(max(folder.glob("*.log")).read_bytes(), before + len(burst) // 2)
    if batch is None:
        raise NotReady(f"offset {before + len(burst) // 2} is not in the segment: what is damaged would not be known.")
    trial.exposed = burst[batch.base_offset - before : batch.last_offset - before + 1]
    return batch.base_offset + len(trial.exposed) // 2


def _stumbles(trial: Trial, orders: str, victim: int) -> None:
    """It fetches what it has, gives up, and is out of the ISR for good. The way back is that of an operator."""
    failed = f"Partition {orders}-0 marked as failed"
    trial.wait(
        "gives up", lambda: trial.cluster.log(victim).count(failed), lambda times: times > 0,
        what=f"broker {victim} says: {failed}", timeout=60,
    )  # fmt: skip
    trial.stays(
        "out of the ISR", lambda: victim not in trial.partition(orders).isr, seconds=trial.settings.steady_s,
        words=f"Broker {victim} is out of the ISR of {orders}-0, alive as it is",
    )  # fmt: skip
    trial.expect(
        "comes back by itself", False, f"A broker finds its way back into the ISR; broker {victim} gave {orders}-0 up."
    )
    trial.say("an operator deletes the replica")
    trial.cluster.stop(victim)
    shutil.rmtree(trial.cluster.partition_folder(victim, orders))
    trial.cluster.start(victim)


def _leads(trial: Trial, orders: str, victim: int) -> None:
    """The preferred leader is elected, as a balanced cluster does by itself sooner or later."""
    trial.cluster.elect(orders)
    trial.wait(
        "leads again", lambda: trial.partition(orders).leader, lambda leader: leader == victim,
        what=f"{orders}-0 led by broker {victim} again", timeout=60,
    )  # fmt: skip


def _looked_at(trial: Trial, orders: str, victim: int) -> None:
    """Our own look into the files of the broker that was damaged."""
    folder = trial.cluster.partition_folder(victim, orders)
    wrong = [batch for file in sorted(folder.glob("*.log")) for batch in segments.broken(file.read_bytes())]
    told = ", ".join(f"{batch.base_offset}-{batch.last_offset}" for batch in wrong) or "none"
    trial.expect("repaired", not wrong, f"The replica is whole again; offsets whose checksum does not hold: {told}.")


def conclude(trial: Trial, account: Account) -> None:
    if trial.options["shutdown"] == "crash" or trial.options["how"] == "truncate":
        trial.expect(
            "nothing lost", not account.gone, f"Every acknowledged record is read back; {len(account.gone)} are not."
        )
        return
    middle = trial.exposed[len(trial.exposed) // 2]
    sent = {one.value for one in account.sends}
    wrong = sorted({*account.drained, *(read.value for read in account.reads)} - sent)
    words = "Exactly one record is returned wrong, by one bit, without an error"
    trial.expect("exact damage", wrong == [middle + FLIPPED], f"{words}; returned were {wrong} for {middle}.")
    trial.expect("exact loss", account.gone == {middle}, f"Exactly that record is gone; {len(account.gone)} are.")
    if trial.options["crcs"] == "on":
        _stuck(trial, account)


def _stuck(trial: Trial, account: Account) -> None:
    """librdkafka takes a checksum that does not hold for an offset that is not there, and does as auto.offset.reset says:
    it begins at the beginning, comes to the same batch, and begins again."""
    seen = {read.value for read in account.read_by(["reader-1"])}
    beyond = {value for value in account.acked if value >= trial.exposed[0]}
    words = "A reader that checks reads everything before the batch, again and again, and nothing from there on"
    trial.expect("stuck", account.acked - seen == beyond, f"{words}; it lacks {len(account.acked - seen)} of {len(beyond)}.")


SCENARIO = Scenario(
    name="segment-damage",
    promise="a segment of one replica is damaged while its broker is down: after a crash it is found, and nothing is lost",
    act=act,
    conclude=conclude,
    options={
        "how": Option("corrupt", ("corrupt", "truncate"), "a bit turned over in a batch, or the end cut off"),
        "shutdown": Option("crash", ("crash", "clean"), "how the broker went down: after a clean shutdown it does not look"),
        "crcs": Option("off", ("off", "on"), "check.crcs of the reader; off is librdkafka's default"),
        "records": Option("20", help="in the batch that is damaged"),
    },
    spoils=True,
    processes=True,
    twin={"shutdown": "clean"},
    twin_finds="exactly one record is returned wrong, without an error; cut off, the replica never comes back by itself",
    question="Is a damaged segment noticed, and what do readers get if it is not?",
    steps="A batch is acknowledged by all three replicas. The broker of one goes down, a bit of that batch is turned over "
    "in its segment (or the segment cut off there), the broker is started again, and made the leader.",
    expectation="After a crash the broker finds the damage, cuts its log there and fetches the rest again: nothing is lost. "
    "After a clean shutdown it does not look, and hands out the damaged record as it is; of a segment that was cut off it "
    "makes a replica that never comes back until it is deleted.",
)
