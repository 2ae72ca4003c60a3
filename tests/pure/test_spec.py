"""A cluster that cannot work is refused in one sentence, before anything starts."""

import pickle

import pytest

from compose.links import Link, links_between
from compose.providers import choose_provider
from compose.spec import ClusterSpec
from compose.toxics import Bandwidth, Blackhole, Latency
from kernel.errors import UsageError


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"brokers": 0}, "brokers 0 is out of range: choose 1 to 5."),
        ({"brokers": 6}, "brokers 6 is out of range: choose 1 to 5."),
        ({"controllers": 9}, "controllers 9 is out of range: choose 1 to 5."),
        ({"kafka": "latest"}, "Kafka version 'latest' is not known: give a released version like 4.3.1"),
        ({"kafka": "2.8.0"}, "Kafka version 2.8.0 is too old: 3.9.0 is the first that is supported"),
        ({"security": "kerberos"}, "security 'kerberos' is not known: choose one of plaintext, tls, sasl_ssl."),
        ({"certificate_days": 3}, "certificate_days is given, and security is plaintext: choose tls or sasl_ssl."),
        ({"certificate_days": 0, "security": "tls"}, "certificate_days 0 is out of range: choose more than 0"),
        ({"certificate_days": 1e9, "security": "tls"}, "certificate_days 1e+09 is out of range: choose more than 0"),
        ({"heap": "lots"}, "heap 'lots' is not a size: give a number and m or g, like 400m."),
        ({"port": 80}, "port 80 is out of range: choose 1024 to 65530."),
        ({"config": {"log.dirs": "/data"}}, "config 'log.dirs' cannot be set: the cluster plan decides it. Leave it out."),
    ],
)
def test_a_value_that_cannot_work_is_named(wish: dict[str, object], sentence: str):
    with pytest.raises(UsageError) as refused:
        ClusterSpec(**wish)  # type: ignore[arg-type]

    assert str(refused.value).startswith(sentence)
    assert refused.value.exit_code == 2


def test_an_unknown_provider_is_named():
    with pytest.raises(UsageError, match=r"provider 'podman' is not known: choose one of auto, processes, containers\."):
        choose_provider("podman", print)


@pytest.mark.parametrize(
    ("brokers", "controllers", "voters"),
    [(1, None, (1,)), (2, None, (1,)), (3, None, (1, 2, 3)), (5, None, (1, 2, 3)), (2, 3, (101, 102, 103))],
)
def test_who_votes(brokers: int, controllers: int | None, voters: tuple[int, ...]):
    assert ClusterSpec(brokers=brokers, controllers=controllers).controller_ids == voters


def test_a_spec_is_a_value():
    spec = ClusterSpec(brokers=2, config={"a": "b"})

    assert spec == ClusterSpec(brokers=2, config={"a": "b"})
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301
    with pytest.raises(TypeError):
        spec.config["a"] = "c"  # type: ignore[index]


def test_three_nodes_have_fifteen_links_and_each_its_own_name():
    links = links_between((1, 2, 3), (1, 2, 3))

    assert len(links) == len({link.name for link in links}) == 3 + 6 + 6
    assert Link(3, 1, "replication") in links
    assert Link(1, 3, "controller") in links


def test_dedicated_controllers_are_called_but_do_not_replicate():
    links = links_between((1, 2), (101,))

    assert Link(1, 101, "controller") in links
    assert not any(link.traffic == "replication" and 101 in (link.source, link.target) for link in links)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Link(1, 1, "replication"), "link 1 to 1 does not exist: a node does not call itself."),
        (lambda: Link("client", 1, "replication"), "link 'client' to 1 cannot carry replication traffic"),
        (lambda: Link(2, 1), "link 2 to 1 cannot carry client traffic"),
        (lambda: Latency(ms=-1), "latency latency -1 is negative: give 0 or more."),
        (lambda: Blackhole(direction="sideways"), "direction 'sideways' is not known: choose upstream or downstream."),
    ],
)
def test_a_link_or_fault_that_cannot_be_is_refused(make, sentence: str):
    with pytest.raises(UsageError) as refused:
        make()

    assert str(refused.value).startswith(sentence)


def test_a_toxic_speaks_toxiproxys_words():
    assert (Latency(ms=5, jitter=2).kind, Latency(ms=5, jitter=2).attributes()) == ("latency", {"latency": 5, "jitter": 2})
    assert Bandwidth(kbytes=7).attributes() == {"rate": 7}
