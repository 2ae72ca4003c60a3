"""The disk of one broker is full. What does it do, and what do its clients see?

A broker whose only log directory takes no more writes ends itself, without a goodbye: as far as others can tell it was
killed. So it costs what a kill costs, and nothing that was acknowledged is lost; with room again it is back in every ISR.
A partition that has no other replica is offline until then, which is what the twin finds.
"""

from chaos.evidence.account import Account
from chaos.faults.fill_disk import FillDisk
from chaos.scenarios.machines.lost_disk import REPLICAS, lose_the_disk, nothing_lost
from chaos.scenarios.scenario import Scenario
from chaos.trial import Trial
from compose.disks import Disk

VICTIM = 3


def act(trial: Trial) -> None:
    lose_the_disk(trial, FillDisk(VICTIM))


def conclude(trial: Trial, account: Account) -> None:
    nothing_lost(trial, account)


SCENARIO = Scenario(
    name="disk-full",
    promise="a broker's disk is full: it goes, others lead, nothing acknowledged is lost, and with room it is in every ISR",
    act=act,
    conclude=conclude,
    options={"replication": REPLICAS},
    spec=lambda _options: {"disks": (Disk(VICTIM, mb=64),)},
    spoils=True,
    twin={"replication": "1"},
    twin_finds="exactly the partitions whose only replica is there are offline until there is room",
    question="What becomes of a broker whose disk is full, and of what it had acknowledged?",
    steps="Broker 3 has its log directory on a disk of 64 MB, which is filled to the last byte under traffic. "
    "When others lead, room is made and the broker started again.",
    expectation="The broker ends itself; its partitions are led elsewhere within the bound of a kill, nothing acknowledged "
    "is lost, and once there is room it is back in every ISR. A partition with no other replica is offline until then.",
)
