"""Start three brokers, kill the one that leads, and judge what became of every record: the first thing a newcomer runs."""

from pathlib import Path

from kafka_trial.cli.options import Provider, Runs
from kafka_trial.cli.run import run


def demo(provider: Provider = "auto", runs: Runs = Path("runs")) -> None:
    # Kafka's own timeouts: what a newcomer sees here is what happens in production.
    run(["leader-election"], settings="default", provider=provider, runs=runs)
