"""Options that several commands share, so that they are spelled and explained the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer

from compose.spec import MOST_BROKERS, PROVIDERS, SECURITY, TRIED_VERSIONS
from kernel.errors import UsageError

Kafka = Annotated[
    str, typer.Option("--kafka", metavar="VERSION", help=f"Kafka version ({', '.join(TRIED_VERSIONS)} are tried here).")
]
Brokers = Annotated[int, typer.Option("--brokers", help=f"How many brokers, 1 to {MOST_BROKERS}.")]
Provider = Annotated[str, typer.Option("--provider", metavar="NAME", help=f"Where brokers run: {', '.join(PROVIDERS)}.")]
Security = Annotated[str, typer.Option("--security", metavar="NAME", help=f"How clients get in: {', '.join(SECURITY)}.")]
Settings = Annotated[
    str,
    typer.Option("--settings", metavar="NAME", help="quick: short timeouts; default: Kafka's own."),
]
Runs = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where run folders are kept.")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]
ResultsTo = Annotated[
    str | None,
    typer.Option("--results-to", metavar="WHERE", help="Also publish the verdict to Kafka: HOST:PORT, or a TOML file."),
]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Where Spark runs: local[*], spark://HOST:PORT, yarn, k8s://..."),
]
SparkConf = Annotated[list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's own.")]


def spark_settings(words: list[str] | None) -> dict[str, str]:
    settings = {}
    for word in words or ():
        key, equals, value = word.partition("=")
        if not equals or not key.startswith("spark."):
            raise UsageError(f"--conf {word!r} is not of the form spark.KEY=VALUE: say for example spark.driver.memory=8g.")
        settings[key] = value
    return settings
