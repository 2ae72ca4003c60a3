"""docs/scenarios.md, from the scenarios themselves and from what their newest runs ended in. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from chaos.pages.told import Told
from chaos.report.words import longest_gap, lost, plural, seconds
from chaos.scenarios.scenario import Scenario

FAMILY_WORDS = {
    "reliability": "Reliability: brokers, controllers and clients fail",
    "semantics": "Semantics: what an acknowledgement, a commit and an offset are worth",
    "operations": "Operations: what a team does to a cluster while it serves",
    "machines": "Machines: disks and clocks fail",
}
WITHOUT = {"send": "without an acknowledgement", "poll": "without a read"}


def scenarios_page(families: Mapping[str, Mapping[str, Scenario]], runs: Sequence[Told]) -> str:
    """A section for each scenario. `runs` are newest first; a scenario that nobody ran says so. Empty if nobody ran any."""
    parts: list[str] = []
    if not any(run.scenario in scenarios for run in runs for scenarios in families.values()):
        return ""
    for family, scenarios in families.items():
        parts.append(f"## {FAMILY_WORDS[family]}\n")
        parts += [_section(scenario, [run for run in runs if run.scenario == name]) for name, scenario in scenarios.items()]
    return "\n".join(parts)


def _section(scenario: Scenario, runs: Sequence[Told]) -> str:
    lines = [f"### `{scenario.name}`", "", f"{_sentence(scenario.promise)}", ""]
    for label, words in (
        ("Question", scenario.question),
        ("Schedule", scenario.steps),
        ("Expectation", scenario.expectation),
        ("Twin", _twin(scenario)),
        ("Options", _options(scenario)),
        ("Needs", f"{', '.join(scenario.needs)}." if scenario.needs else ""),
        ("Last result", _last(scenario, runs)),
    ):
        if words:
            lines.append(f"- **{label}.** {words}")
    return "\n".join(lines) + "\n"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _twin(scenario: Scenario) -> str:
    if not scenario.twin:
        return ""
    options = " ".join(f"`{name}={value}`" for name, value in scenario.twin.items())
    return f"{options}: {scenario.twin_finds}."


def _options(scenario: Scenario) -> str:
    told = [
        f"`{name}={option.default}`" + (f" ({', '.join(option.choices)})" if option.choices else "")
        for name, option in scenario.options.items()
    ]
    return ", ".join(told) + "." if told else ""


def _last(scenario: Scenario, runs: Sequence[Told]) -> str:
    # Numbers say how much of it, not what it is; but for one that makes the twin.
    usual = {name: one.default for name, one in scenario.options.items() if one.choices or name in scenario.twin}
    twin = {**usual, **scenario.twin}
    found = [_result(label, _newest(runs, options)) for label, options in _asked(usual, twin, scenario)]
    return " ".join(filter(None, found)) or "It was not run yet."


def _asked(usual: dict[str, str], twin: dict[str, str], scenario: Scenario) -> list[tuple[str, dict[str, str]]]:
    return [("", usual), *([("Twin: ", twin)] if scenario.twin else [])]


def _newest(runs: Iterable[Told], options: Mapping[str, str]) -> Told | None:
    """Rather one in which nothing was permitted: it says what the scenario finds, not what somebody accepted."""
    same = [run for run in runs if options.items() <= run.options.items()]
    strict = (run for run in same if not run.manifest.get("permitted"))
    return next(strict, same[0] if same else None)


def _result(label: str, run: Told | None) -> str:
    if run is None:
        return ""
    verdict, counts = dict(run.verdict), {name: n for name, n in (run.verdict.get("counts") or {}).items() if n}
    facts = [f"{verdict.get('acknowledged', 0):,} acknowledged", f"{lost(verdict):,} lost"]
    facts += [f"{name} {count:,}" for name, count in counts.items() if name not in ("lost-write", "unseen-write")]
    if gap := longest_gap(verdict):
        facts.append(f"{seconds(gap['gap_s'], censored=bool(gap.get('censored')))} {WITHOUT[gap['kind']]}")
    held = [one for one in verdict.get("expectations") or () if one.get("holds") is True]
    missed = [run.plain(str(one.get("sentence"))) for one in verdict.get("expectations") or () if one.get("holds") is False]
    facts += [f"{plural(len(held), 'expectation')} held"] if held else []
    words = f"{label}{verdict['verdict']}, Kafka {run.kafka}, {run.day}: {', '.join(facts)}."
    return words + (f" Not held: {' '.join(missed)}" if missed else "")
