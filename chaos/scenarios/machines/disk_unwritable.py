"""The disk of one broker turns read-only under it. What does it do, and what is gone with what was never flushed?

Kafka does not flush: an acknowledgement says that replicas have the record in memory, and that is enough while there are
others. The broker ends itself as on a full disk, costs what a kill costs, and fetches again what its disk had not kept.
The twin has one replica: exactly what was acknowledged and not flushed is lost, though the broker comes back.
"""

from chaos.evidence.account import Account
from chaos.faults.fail_disk import FailDisk
from chaos.scenarios.machines.lost_disk import REPLICAS, lose_the_disk, nothing_lost
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.trial import Trial
from compose.disks import Disk

VICTIM = 3


def act(trial: Trial) -> None:
    lose_the_disk(trial, FailDisk(VICTIM), before=_expose)


def _expose(trial: Trial, producer: Client) -> None:
    """Everything is flushed but the last records."""
    producer.rest()
    trial.cluster.flush_disk(VICTIM)
    trial.exposed = producer.burst(int(trial.options["records"]))
    producer.rest()


def conclude(trial: Trial, account: Account) -> None:
    if trial.options["replication"] != "1":
        nothing_lost(trial, account)
        return
    burst = set(trial.exposed)
    exposed = {sent.value for sent in account.sends if sent.value in burst and sent.partition == 0}
    words = f"Exactly the {len(exposed)} records that broker {VICTIM} alone had and had not flushed are lost"
    found = f"{len(account.lost)} are, {len(account.lost & exposed)} of them those"
    trial.expect("exact loss", account.lost == exposed, f"{words}; {found}.")


SCENARIO = Scenario(
    name="disk-unwritable",
    promise="a broker's disk turns read-only: it goes, others lead, nothing acknowledged is lost though nothing is flushed",
    act=act,
    conclude=conclude,
    options={
        "replication": REPLICAS,
        "records": Option("60", help="not yet flushed when the disk fails, in three partitions", least=3),
    },
    spec=lambda _options: {"disks": (Disk(VICTIM, kind="ext4", mb=96),)},
    spoils=True,
    twin={"replication": "1"},
    twin_finds="exactly what one broker alone had and had not flushed is lost",
    question="What becomes of a broker whose disk turns read-only, and of what it had not flushed?",
    steps="Broker 3 has its log directory on an ext4 disk, which finds an error under traffic and turns read-only, as ext4 "
    "does. When others lead, the disk is checked and mounted again, and the broker started.",
    expectation="The broker ends itself; its partitions are led elsewhere within the bound of a kill and nothing "
    "acknowledged is lost. With one replica exactly the acknowledged records that were not flushed are lost.",
)
