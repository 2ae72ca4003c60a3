"""Start three brokers, kill the one that leads, and account for every record: the first thing a newcomer runs."""

import time

import typer

from chaos.first_look import PARTITIONS, TOPIC, kill_the_leader
from compose.cluster import Cluster
from kafka_trial.cli.options import Provider
from kafka_trial.cli.screen import out


def demo(provider: Provider = "auto") -> None:
    began = time.monotonic()

    def say(words: str) -> None:
        out.print(f"{time.monotonic() - began:5.1f} s  {words}", markup=False)

    with Cluster(brokers=3, provider=provider, say=say) as cluster:
        say(f"three brokers are up, every link through Toxiproxy: {cluster.address.bootstrap}")
        found = kill_the_leader(cluster, say)
    say("everything is stopped and removed")
    verdict, colour = ("FAIL", "red") if found.lost else ("PASS", "green")
    out.print(f"\n[bold {colour}]{verdict}[/]  {found.acknowledged} acknowledged, {len(found.lost)} lost")
    out.print(f"      broker {found.new_leader} led {TOPIC}-0 {found.elected_after:.1f} s after the kill")
    for partition in range(PARTITIONS):
        out.print(f"      {TOPIC}-{partition}: longest time without an acknowledgement {found.longest_gap[partition]:.1f} s")
    raise typer.Exit(1 if found.lost else 0)
