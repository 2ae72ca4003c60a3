"""Every scenario by its name, family by family. To add one: a file, a line, a test that sees it pass and its twin fail."""

from types import ModuleType

from chaos.scenarios import (
    acks_exposure,
    clients_disconnected,
    consumer_rolling_restart,
    controller_election,
    idempotence,
    leader_election,
    rolling_restart,
    storm,
    unclean_election,
)
from chaos.scenarios.machines import MACHINES
from chaos.scenarios.operations import OPERATIONS
from chaos.scenarios.scenario import Scenario
from chaos.scenarios.semantics import SEMANTICS
from kernel.errors import UsageError

RELIABILITY: tuple[ModuleType, ...] = (
    leader_election,
    controller_election,
    rolling_restart,
    unclean_election,
    consumer_rolling_restart,
    clients_disconnected,
    acks_exposure,
    idempotence,
    storm,
)
FAMILIES: dict[str, dict[str, Scenario]] = {
    family: {module.SCENARIO.name: module.SCENARIO for module in modules}
    for family, modules in (
        ("reliability", RELIABILITY),
        ("semantics", SEMANTICS),
        ("operations", OPERATIONS),
        ("machines", MACHINES),
    )
}
SCENARIOS: dict[str, Scenario] = {name: one for family in FAMILIES.values() for name, one in family.items()}


def scenario_named(name: str) -> Scenario:
    if name not in SCENARIOS:
        raise UsageError(f"scenario {name!r} is not known: choose one of {', '.join(SCENARIOS)}.", scenario=name)
    return SCENARIOS[name]
