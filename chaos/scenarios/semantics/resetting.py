"""What a consumer without a valid offset is told, and how it is seen to have found its place."""

from collections import Counter

from chaos.traffic.client import Client
from chaos.trial import Trial

AT_THE_END = "_PARTITION_EOF"  # told where enable.partition.eof is on: then it has a position, and nothing more to read
RESET = "_AUTO_OFFSET_RESET"


def errors_of(client: Client) -> dict[str, int]:
    return dict(client.status.get("errors", {}))


def wait_told(trial: Trial, client: Client, error: str, times: int = 1) -> None:
    trial.wait(
        error, lambda: errors_of(client), lambda told: told.get(error, 0) >= times, what=f"{client.name} told {error}",
        timeout=60,
    )  # fmt: skip


def expect_told(trial: Trial, clients: set[str]) -> None:
    """Only with auto.offset.reset=error does an application hear of it, and from every partition once."""
    told: Counter[str] = sum((Counter(errors_of(c)) for c in trial.traffic.clients if c.name in clients), Counter())
    told.pop(AT_THE_END, None)
    wanted = {RESET: 1} if trial.options["reset"] == "error" else {}
    words = f"The application is told {RESET} once" if wanted else "The application is told nothing"
    trial.expect("told", told == wanted, f"{words}; it was told {dict(told) or 'nothing'}.")
