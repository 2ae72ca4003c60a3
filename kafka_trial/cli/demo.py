"""Start three brokers, kill the one that leads, and account for every record: the first thing a newcomer runs."""

from kafka_trial.cli.options import Provider


def demo(provider: Provider = "auto") -> None:
    pass
