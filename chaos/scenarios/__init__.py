"""Every scenario by its name. To add one: a file, a line here, a test that sees it pass and its twin fail."""

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
from chaos.scenarios.scenario import Scenario
from kernel.errors import UsageError

SCENARIOS: dict[str, Scenario] = {
    module.SCENARIO.name: module.SCENARIO
    for module in (
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
}


def scenario_named(name: str) -> Scenario:
    if name not in SCENARIOS:
        raise UsageError(f"scenario {name!r} is not known: choose one of {', '.join(SCENARIOS)}.", scenario=name)
    return SCENARIOS[name]
