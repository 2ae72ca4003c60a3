"""Feature levels of a cluster: what its binaries can do, and what was finalised, which is where an upgrade ends."""

import re
from dataclasses import dataclass
from typing import Any

from compose.asking import ask
from kernel.cluster import ClusterAddress
from kernel.errors import NotReady


@dataclass(frozen=True, slots=True)
class Level:
    finalised: int  # in force, 0 where it is not
    highest: int  # that the binaries support


def levels(address: ClusterAddress, broker: int) -> dict[str, Level]:
    """Every feature, as the broker at this address has it."""
    answer = ask(address, lambda admin: admin.describe_features(), broker=broker)
    return {
        name: Level(facts.get("finalized", (0, 0))[1], facts.get("supported", (0, 0))[1]) for name, facts in answer.items()
    }


def set_level(address: ClusterAddress, feature: str, level: int, *, down: bool = False) -> str | None:
    """Finalise a feature at a level. Returns what Kafka said if it refused."""
    way = "SAFE_DOWNGRADE" if down else "UPGRADE"
    try:
        said = ask(address, lambda admin: admin.update_features({feature: (way, level)}))[feature]
    except NotReady:
        raise
    except Exception as error:  # newer versions of the call answer for all features at once, and kafka-python raises that
        return _words(error)
    return None if said == "OK" else str(said)


def _words(error: Any) -> str:
    """Kafka's own sentence; kafka-python wraps it in request and response."""
    found = re.search(r"error_message='(.*)'\)", str(error))
    return found[1] if found else f"{type(error).__name__}: {error}"
