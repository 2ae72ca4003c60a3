"""The same scenario, version, configuration and seed, and another verdict: chance decides what should not be chance."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from spark_reports.contents import Flaky, Run

MOST_RUNS = 20


def flaky(runs: Iterable[Run]) -> list[Flaky]:
    """Those with the most runs first. A run without a seed cannot be repeated and is left out."""
    alike: dict[tuple[str, str, str, int], list[Run]] = defaultdict(list)
    for run in runs:
        if run.seed is not None:
            alike[run.scenario, run.kafka, run.config, run.seed].append(run)
    found = []
    for (scenario, kafka, config, seed), same in sorted(alike.items()):
        verdicts = Counter(run.verdict for run in same)
        if len(verdicts) > 1:
            newest = sorted(same, key=lambda run: (run.started, run.key), reverse=True)
            found.append(
                Flaky(
                    scenario=scenario,
                    kafka=kafka,
                    config=config,
                    seed=seed,
                    verdicts=dict(sorted(verdicts.items())),
                    runs=[run.key for run in newest[:MOST_RUNS]],
                )
            )
    return sorted(found, key=lambda one: -sum(one.verdicts.values()))
