"""The `kafka-trial` command. Parses, wires and prints; decides nothing."""

from kafka_trial.cli.app import main

__all__ = ["main"]
