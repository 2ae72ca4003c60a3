"""The plan of a node, as text: who listens where, who is known under which address, who may do what."""

from compose.broker_config import Place, Ports, as_properties, hosts_file, server_properties
from compose.jvm import broker_command
from compose.spec import ClusterSpec

PLACE = Place("/home/one", node_host="127.77.1.1", local_host="127.0.0.1")


def ports(base: int) -> Ports:
    return Ports(*range(base, base + 8))


def settings(node: int = 1, **wishes) -> dict[str, str]:
    extra = wishes.pop("extra", {})
    spec = ClusterSpec(**wishes)
    return server_properties(node, spec, {n: ports(1000 * (n % 100)) for n in spec.node_ids}, PLACE, extra)


def test_clients_are_sent_to_the_proxy_and_observers_to_the_broker():
    found = settings(2)

    assert "CLIENT://127.0.0.1:2000" in found["advertised.listeners"]
    assert "CLIENT://127.0.0.1:2001" in found["listeners"]
    assert "DIRECT://127.0.0.1:2002" in found["listeners"]
    assert "DIRECT://127.0.0.1:2002" in found["advertised.listeners"]


def test_peers_are_known_by_name_so_that_each_can_resolve_it_differently():
    assert settings(2)["advertised.listeners"].endswith("REPLICATION://node-2:2003,CONTROLLER://node-2:2004")
    assert settings(2)["controller.quorum.voters"] == "1@node-1:1004,2@node-2:2004,3@node-3:3004"
    assert "127.77.3.1 node-1\n" in hosts_file(3)
    assert "127.77.2.1 node-1\n" in hosts_file(2)


def test_a_dedicated_controller_has_no_client_listener():
    found = settings(101, controllers=1)

    assert found["process.roles"] == "controller"
    assert "CLIENT" not in found["listeners"]
    assert found["advertised.listeners"] == "CONTROLLER://node-101:1004"


def test_a_broker_beyond_the_spec_is_a_broker_only():
    spec = ClusterSpec(brokers=3)
    found = server_properties(4, spec, {n: ports(1000 * n) for n in (1, 2, 3, 4)}, PLACE, {})

    assert found["process.roles"] == "broker"


def test_the_users_configuration_wins_and_a_restarts_wins_over_it():
    found = settings(config={"num.io.threads": "2", "log.retention.ms": "1"}, extra={"log.retention.ms": "2"})

    assert (found["num.io.threads"], found["log.retention.ms"]) == ("2", "2")


def test_kafkas_timeouts_are_left_alone():
    assert not [key for key in settings() if "timeout" in key or "lag.time" in key or key == "min.insync.replicas"]


def test_secured_nodes_prove_themselves_and_clients_need_an_acl():
    found = settings(security="sasl_ssl")

    assert found["listener.security.protocol.map"] == "CLIENT:SASL_SSL,DIRECT:SASL_SSL,REPLICATION:SSL,CONTROLLER:SSL"
    assert found["ssl.client.auth"] == "required"
    assert found["listener.name.client.ssl.client.auth"] == "none"
    assert found["super.users"] == "User:node;User:admin"
    assert "StandardAuthorizer" in found["authorizer.class.name"]
    assert "authorizer.class.name" not in settings()


def test_properties_survive_backslashes_and_line_ends():
    assert as_properties({"rule": "a\\b\nc"}) == "rule=a\\\\b\\nc\n"


def test_jmx_is_told_to_callers_as_loopback():
    command = broker_command("java", ["a.jar", "b.jar"], PLACE, ports(1000), heap="100m")

    assert "-Djava.rmi.server.hostname=127.0.0.1" in command
    assert "-Dcom.sun.management.jmxremote.port=1005" in command
    assert "-Dcom.sun.management.jmxremote.host=127.0.0.1" in command
    assert command[-4:] == ["-cp", "a.jar:b.jar", "kafka.Kafka", "/home/one/server.properties"]
    assert not [part for part in command if "SharedArchive" in part or "javaagent" in part]
