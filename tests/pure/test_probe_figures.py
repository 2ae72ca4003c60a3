"""What Prometheus is told of what the probe has seen, and what it is not told while nothing is known."""

from collections import Counter

from exporters.histogram import Histogram
from exporters.probe.figures import families
from exporters.probe.seen import ProbePlan, Seen
from exporters.probe.tallying import Tally
from kernel.metric_tables.probe import ROWS

PLAN = ProbePlan(ack_within=5.0)
Figures = dict[tuple[str, ...], float]


def figures(seen: Seen, now: float = 100.0) -> Figures:
    """By name and the values of its labels; of histograms the counts alone."""
    return {
        (family.metric.name.removeprefix("kafka_probe_"), *(value for _, value in labels)): value
        for family in families(seen, now)
        for suffix, labels, value in family.samples
        if suffix in ("", "_total", "_count")
    }


def tally(*answers: bool) -> Tally:
    found = Tally(PLAN.patience)
    for number, acknowledged in enumerate(answers):
        found.send(number, 90.0)
        found.ack(number, number, 90.1) if acknowledged else found.fail(number, "_TIMED_OUT")
    return found


def two_brokers() -> Seen:
    return Seen(
        up=True,
        brokers=frozenset({1, 2}),
        homes={0: 1, 1: 2},
        leaders={0: 1, 1: 2},
        tallies={0: tally(True, True), 1: tally(True, True)},
    )


def named(found: Figures, name: str) -> dict[tuple[str, ...], float]:
    return {key[1:]: value for key, value in found.items() if key[0] == name}


def test_a_healthy_cluster():
    found = figures(two_brokers())

    assert named(found, "up") == {(): 1.0}
    assert named(found, "broker_available") == {("1",): 1.0, ("2",): 1.0}
    assert named(found, "partition_available") == {("1", "0"): 1.0, ("2", "1"): 1.0}
    assert named(found, "availability_ratio") == {("1", "0"): 1.0, ("2", "1"): 1.0}
    assert (found["partitions",], found["misplaced_partitions",], found["brokers_without_partition",]) == (2.0, 0.0, 0.0)


def test_before_the_first_look_nothing_is_said_of_brokers():
    found = figures(Seen())

    assert found["up",] == 0.0
    assert not named(found, "broker_available")
    assert not named(found, "partition_available")


def test_a_broker_is_not_available_while_somebody_else_leads_its_partition_though_that_takes_records():
    seen = two_brokers()
    seen.leaders[1] = 1

    found = figures(seen)

    assert named(found, "broker_available") == {("1",): 1.0, ("2",): 0.0}
    assert named(found, "partition_available") == {("1", "0"): 1.0, ("2", "1"): 1.0}
    assert found["misplaced_partitions",] == 1.0


def test_nor_is_one_that_leads_it_and_does_not_answer():
    seen = two_brokers()
    seen.tallies[1] = tally(True, False)

    found = figures(seen)

    assert named(found, "broker_available") == {("1",): 1.0, ("2",): 0.0}
    assert named(found, "availability_ratio") == {("1", "0"): 1.0, ("2", "1"): 0.5}
    assert named(found, "failed_total") == {("2", "1", "_TIMED_OUT"): 1.0}


def test_of_two_partitions_at_home_with_a_broker_one_is_enough():
    seen = two_brokers()
    seen.homes[1] = seen.leaders[1] = 1
    seen.tallies[1] = tally(False)

    assert named(figures(seen), "broker_available") == {("1",): 1.0}
    assert figures(seen)["brokers_without_partition",] == 1.0


def test_of_what_was_not_asked_for_yet_nothing_is_said():
    seen = two_brokers()
    del seen.tallies[1]

    found = figures(seen)

    assert named(found, "broker_available") == {("1",): 1.0}
    assert named(found, "partition_available") == {("1", "0"): 1.0}


def test_a_partition_without_a_leader_is_not_available_though_it_was_never_written_to():
    seen = two_brokers()
    del seen.tallies[1]
    seen.leaders[1] = None

    found = figures(seen)

    assert named(found, "broker_available") == {("1",): 1.0, ("2",): 0.0}
    assert named(found, "partition_available") == {("1", "0"): 1.0, ("2", "1"): 0.0}


def test_of_a_topic_that_is_gone_no_partition_is_told():
    seen = two_brokers()
    seen.homes, seen.leaders = {}, {}

    found = figures(seen)

    assert found["partitions",] == 0.0
    assert found["brokers_without_partition",] == 2.0
    assert not named(found, "sent_total")


def test_times_are_told_by_broker_and_errors_by_name():
    seen = two_brokers()
    seen.acks = {1: Histogram()}
    seen.acks[1].add(0.1)
    seen.commit_errors = Counter(_TIMED_OUT=2)

    found = figures(seen)

    assert found["ack_seconds", "1"] == 1
    assert found["commit_seconds",] == 0
    assert found["commit_errors_total", "_TIMED_OUT"] == 2


def test_every_row_of_the_catalogue_is_told_with_its_own_labels():
    seen = two_brokers()
    seen.tallies[1] = tally(False)
    seen.acks, seen.roundtrips = {1: Histogram()}, {1: Histogram()}
    seen.commit_errors["_TIMED_OUT"] += 1
    seen.certificates, seen.client_certificate = {1: 2e9}, 2e9

    told = {
        family.metric.name: {label for _, labels, _ in family.samples for label, _ in labels if label != "le"}
        for family in families(seen, 100.0)
    }

    assert told == {row.name: set(row.labels) for row in ROWS}
