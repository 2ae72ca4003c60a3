"""Wishes are checked whole before anything is started, and refused in a sentence that says what to do."""

import re
from pathlib import Path
from typing import Any

import pytest

from chaos.run import Wishes, check_here, plan
from chaos.scenarios import SCENARIOS
from chaos.scenarios.scenario import Option, Scenario
from chaos.schedule import Schedule
from chaos.settings import QUICK, SETTINGS
from kernel.errors import UsageError
from kernel.verdict import ANOMALIES

BAD: list[tuple[dict[str, Any], str]] = [
    ({"scenario": "kill-all"}, r"^scenario 'kill-all' is not known: choose one of leader-election, .*, storm\b.*\.$"),
    ({"settings": "slow"}, r"^settings 'slow' are not known: choose one of quick, default\.$"),
    ({"options": {"speed": "1"}}, r"^option 'speed' is not one of leader-election: it has how, acks, rate, size\.$"),
    ({"options": {"how": "ask"}}, r"^how 'ask' is not known: choose one of kill, stop, pause, isolate\.$"),
    ({"options": {"acks": "2"}}, r"^acks '2' is not known: choose one of all, 1, 0\.$"),
    ({"brokers": 2}, r"^leader-election needs at least 3 brokers, not 2: every partition has three replicas\.$"),
    ({"permitted": ["lost-write", "bad-luck"]}, r"^anomaly 'bad-luck' cannot be permitted: it is not one of inconsistent-"),
    (
        {"scenario": "acks-exposure", "options": {"records": "many"}},
        r"^records 'many' is not a number from 1 on: give one\.$",
    ),
    ({"scenario": "acks-exposure", "options": {"records": "0"}}, r"^records '0' is not a number from 1 on: give one\.$"),
    ({"scenario": "storm", "options": {"replication": "9"}}, r"^replication 9 is more than the \d brokers: use fewer"),
    ({"schedule": Schedule(())}, r"^leader-election takes no schedule: its steps are its own"),
    ({"scenario": "storm", "replay": Path("no-such.json")}, r"no-such\.json"),
    ({"kafka": "newest"}, r"newest"),
    (
        {"scenario": "consumer-rolling-restart", "options": {"protocol": "consumer"}, "kafka": "3.9.1"},
        r"^protocol 'consumer' needs Kafka 4\.0 or newer, not 3\.9\.1",
    ),
    ({"options": {"size": "15"}}, r"^size '15' is not a number from 16 on: give one\.$"),
    ({"security": "open"}, r"open"),
    (
        {"scenario": "exactly-once", "options": {"kills": "98"}},
        r"^kills '98' is not a number from 1 to 97: give one\.$",
    ),
    (
        {"scenario": "retry-topics", "options": {"attempts": "9"}},
        r"^attempts '9' is not a number from 2 to 8: give one\.$",
    ),
    ({"scenario": "transactions", "options": {"rate": "99"}}, r"^rate '99' is not a number from 100 on: give one\.$"),
    (
        {"scenario": "sequence-gap", "options": {"rate": "300"}},
        r"^option 'rate' is not one of sequence-gap: it has client, in_flight, records\.$",
    ),
    (
        {"scenario": "rolling-upgrade", "kafka": "4.1.0"},
        r"^--kafka 4\.1\.0 cannot be: rolling-upgrade itself decides on 3\.9\.1; say -o from=4\.1\.0\.$",
    ),
    (
        {"scenario": "acl-revoked", "security": "tls"},
        r"^--security tls cannot be: acl-revoked itself decides on sasl_ssl; say -o security=tls\.$",
    ),
    (
        {"scenario": "password-change", "security": "tls"},
        r"^--security tls cannot be: password-change itself decides on sasl_ssl; leave it out\.$",
    ),
    (
        {"scenario": "late-end-transaction", "security": "sasl_ssl"},
        r"^late-end-transaction tells single requests apart, .* encrypted: leave out --security sasl_ssl\.$",
    ),
    (
        {"scenario": "last-replica", "kafka": "3.9.1"},
        r"^last-replica needs Kafka 4\.0\.0 or newer, not 3\.9\.1: use another version\.$",
    ),
]


@pytest.mark.parametrize(("wish", "sentence"), BAD)
def test_a_wish_that_cannot_be_is_refused_in_a_sentence(wish: dict[str, Any], sentence: str):
    with pytest.raises(UsageError, match=sentence) as refused:
        plan(Wishes(**{"scenario": "leader-election", **wish}))

    assert refused.value.exit_code == 2
    assert refused.value.message.endswith(".")
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_can_be_run_as_it_is(name: str):
    wanted = plan(Wishes(name))

    assert wanted.subject.options == {name: option.default for name, option in SCENARIOS[name].all_options.items()}
    assert wanted.subject.permitted == ()
    assert wanted.cluster.brokers >= SCENARIOS[name].least_brokers


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_choice_of_every_option_is_taken(name: str):
    for option, kind in SCENARIOS[name].all_options.items():
        for choice in kind.choices or (str(kind.least),):
            assert plan(Wishes(name, options={option: choice})).subject.options[option] == choice


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_twin_that_must_fail_can_be_asked_for_and_is_another(name: str):
    scenario = SCENARIOS[name]

    assert bool(scenario.twin) == bool(scenario.twin_finds)
    if scenario.twin:
        assert plan(Wishes(name, options=scenario.twin)).subject.options != plan(Wishes(name)).subject.options


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_promise_is_one_line_and_goes_on_record(name: str):
    promise = plan(Wishes(name)).subject.promise

    assert promise == SCENARIOS[name].promise
    assert re.fullmatch(r"[^\n]{20,140}", promise)


def test_settings_reach_the_brokers_and_a_scenarios_own_configuration_wins():
    quick, patient = (plan(Wishes("acks-exposure", settings=name)).cluster.config for name in SETTINGS)

    assert quick["broker.session.timeout.ms"] == QUICK.brokers["broker.session.timeout.ms"]
    assert "broker.session.timeout.ms" not in patient
    assert quick["replica.lag.time.max.ms"] == patient["replica.lag.time.max.ms"] != QUICK.brokers["replica.lag.time.max.ms"]


def test_what_is_permitted_goes_on_record():
    assert plan(Wishes("storm", permitted=list(ANOMALIES))).subject.permitted == tuple(ANOMALIES)


def test_a_seed_is_kept_and_drawn_where_none_is_given():
    assert plan(Wishes("storm", seed=7)).subject.seed == 7
    assert len({plan(Wishes("storm")).subject.seed for _ in range(5)}) > 1


@pytest.mark.parametrize("name", ["late-end-transaction", "sequence-gap", "last-replica", "segment-damage", "disk-full"])
def test_what_reaches_into_brokers_is_refused_in_containers_before_anything_is_started(name: str):
    with pytest.raises(UsageError, match=r"use --provider processes\.$"):
        check_here(plan(Wishes(name)), "containers")


def test_who_has_no_root_and_who_has_no_libfaketime_is_told_before_anything_is_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("compose.clocks.faketime", lambda: None)

    with pytest.raises(UsageError, match=r"^disks of their own need root"):
        check_here(plan(Wishes("disk-full")), "processes")
    with pytest.raises(UsageError, match=r"install libfaketime\.$"):
        check_here(plan(Wishes("clock-skew")), "processes")
    check_here(plan(Wishes("rolling-restart")), "processes")


def test_a_scenario_says_what_it_needs():
    needs = {name: scenario.needs for name, scenario in SCENARIOS.items() if scenario.needs}

    assert needs["slow-disk"] == ("root (it mounts disks)", "brokers as processes")
    assert needs["clock-skew"] == ("libfaketime", "brokers as processes")
    assert needs["late-end-transaction"] == ("brokers as processes", "no encryption", "Kafka 4.0.0 or newer")
    assert "rolling-restart" not in needs


def test_an_option_that_is_a_number_has_a_least_one():
    some = Scenario("some", "a promise", lambda _: None, options={"n": Option("5", least=3)})

    assert some.chosen({})["n"] == "5"
    assert some.chosen({"n": "3"})["n"] == "3"
    for bad in ("2", "-4", "3.5", ""):
        with pytest.raises(UsageError, match=f"^n '{bad}' is not a number from 3 on"):
            some.chosen({"n": bad})


def test_a_scenario_without_options_of_its_own_still_has_those_of_all():
    with pytest.raises(UsageError, match=r"option 'x' is not one of bare: it has rate, size\."):
        Scenario("bare", "a promise", lambda _: None).chosen({"x": "1"})
