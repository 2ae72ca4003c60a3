"""A real Kafka cluster: started, watched, broken and removed.

The one class everything else uses. It plans (spec, ports, configuration), asks its provider to run what was planned,
and waits for states. `with` starts it and always cleans up.
"""

import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from compose.administered import Administered
from compose.broker_config import Ports
from compose.clocks import check_clocks
from compose.credentials import Credentials
from compose.disks import check_disks, thaw_under
from compose.frames.beside import Beside
from compose.frames.proxy import FrameProxy
from compose.handout import write_client_properties
from compose.links import Link, links_between
from compose.on_machines import OnMachines
from compose.plan import ClusterPlan
from compose.ports import TOXIPROXY, PortReservations
from compose.provider import Provider, Say
from compose.providers import choose_provider
from compose.spec import ClusterSpec, check_config, check_version
from compose.state import ClusterState, demolish, new_state, sweep
from compose.storage import new_uuid
from compose.toxiproxies import Fault, Toxiproxies
from compose.view import ClusterView
from compose.warden import DONE
from kernel.cluster import ClusterAddress
from kernel.errors import NotReady, SuiteError, UsageError
from kernel.waiting import wait_until

STARTED = "Kafka Server started"
START_TIMEOUT = 60.0
STOP_TIMEOUT = 60.0


class Cluster(Administered, OnMachines):
    """`Cluster(brokers=3)` and everything a `ClusterSpec` takes; or a spec as it is."""

    def __init__(
        self,
        spec: ClusterSpec | None = None,
        *,
        provider: str | Provider = "auto",
        say: Say = lambda _: None,
        **wishes: Any,
    ) -> None:
        self.spec = replace(spec, **wishes) if spec else ClusterSpec(**wishes)
        self._say = say
        self._wanted_provider = provider
        self._reserved = PortReservations()
        self._state: ClusterState | None = None
        self._warden: subprocess.Popen[bytes] | None = None
        self.view = ClusterView(self._direct_addresses)
        self._beside = Beside()

    # ---- life -------------------------------------------------------------------------------------------------

    def __enter__(self) -> "Cluster":
        return self.boot()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def boot(self) -> "Cluster":
        """Start everything and return when every broker is registered. Whatever goes wrong, nothing stays behind."""
        try:
            self._boot()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End and remove everything this cluster ever made. May be called at any time, more than once."""
        self.view.close()
        if self._state is not None and self._state.owner is not None:
            try:
                thaw_under(self._state.folder)  # whoever waits for a disk cannot even be killed
                self._provider.close()
            finally:
                demolish(self._state)
        if self._warden is not None and self._warden.stdin is not None:
            with suppress(BrokenPipeError):  # it is gone already, and so is what it guarded
                self._warden.stdin.write(DONE)
                self._warden.stdin.close()
            self._warden.wait(timeout=10)
        self._state = self._warden = None
        self._reserved.release()

    def detach(self) -> ClusterState:
        """Let the cluster live on after this process; `kafka-trial down` removes it."""
        state = self._running_state()
        state.owner = None
        state.save()
        self._provider.detach()
        return state

    def _boot(self) -> None:
        sweep()
        self._provider: Provider = choose_provider(self._wanted_provider, self._say)
        check_disks(self.spec.disks, self._provider.name)
        check_clocks(self.spec.clocks, self._provider.name)
        self._provider.prepare(self.spec)
        ports = self._reserve_ports()
        self.id = new_uuid()
        self._state = new_state(_folder_name(self.id), self._provider.name)
        self._start_warden(self._state.cluster)
        self._provider.open(self._state.cluster)
        credentials = None
        if self.spec.security != "plaintext":
            credentials = Credentials(self.folder / "client", self.spec.security, self.spec.certificate_days)
        storage = self._provider.storage(self.spec, credentials.first_user if credentials else None)
        self._plan = ClusterPlan(self.spec, self.id, ports, storage, credentials, list(self.spec.broker_ids))
        self._say(f"starting {self._brokers_in_words()} ({self._provider.name}, Kafka {self.spec.kafka})")
        self._launch()
        self._remember()

    def _launch(self) -> None:
        links = links_between(self.spec.broker_ids, self.spec.controller_ids)
        self.links = Toxiproxies(self._provider.connect(links, self._plan.ports))
        for node in self.nodes:
            self._run(node)
        self.links.wait_ready()
        for node in self.nodes:
            self._wait_started(node)
        self._wait_registered(frozenset(self.brokers))

    def _reserve_ports(self) -> dict[int, Ports]:
        first = self.spec.port
        wanted = {broker: first + broker - 1 for broker in self.spec.broker_ids} if first is not None else {}
        return {node: self._reserved.for_node(wanted.get(node)) for node in (TOXIPROXY, *self.spec.node_ids)}

    def _run(self, node: int) -> None:
        self._provider.run(self._plan.node(node, self._provider.place(node)))

    def _remember(self) -> None:
        """For `kafka-trial status`, and for whoever has to clean up after us."""
        state = self._running_state()
        state.facts = self.facts()
        state.save()

    def _start_warden(self, cluster: str) -> None:
        self._warden = subprocess.Popen(
            [sys.executable, "-m", "compose.warden", cluster],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=Path(__file__).parent.parent,
        )

    # ---- one node ---------------------------------------------------------------------------------------------

    def start(self, broker: int, *, wait: bool = True) -> None:
        """Start a broker that was stopped or killed. Harmless if it runs."""
        self._known(broker)
        if self._provider.running(broker):
            return
        self._run(broker)
        if wait:
            self._wait_started(broker)
            self._wait_registered(frozenset({broker}) & frozenset(self.brokers))

    def stop(self, broker: int) -> None:
        """SIGTERM: a controlled shutdown, leadership handed over first."""
        self._end(broker, "SIGTERM")

    def kill(self, broker: int) -> None:
        """SIGKILL: the full price of an election."""
        self._end(broker, "SIGKILL")

    def pause(self, broker: int) -> None:
        """SIGSTOP: alive to TCP, dead to everybody who waits for an answer."""
        self._known(broker)
        self._provider.signal(broker, "SIGSTOP")

    def resume(self, broker: int) -> None:
        self._known(broker)
        self._provider.signal(broker, "SIGCONT")

    def restart(
        self,
        broker: int,
        *,
        version: str | None = None,
        config: Mapping[str, str] | None = None,
        hard: bool = False,
        wait: bool = True,
    ) -> None:
        """Stop and start, with another version or more configuration if wanted."""
        self._known(broker)
        check_config(config or {})
        if version is not None:
            check_version(version)
            self._provider.prepare_version(version)  # before anything is stopped: it may not exist
        (self.kill if hard else self.stop)(broker)
        self._plan.change(broker, version, config or {})
        self.start(broker, wait=wait)

    def add_broker(self) -> int:
        """One more broker, with links of its own to and from everybody. Returns its id."""
        new = max(self.brokers) + 1
        self._plan.ports[new] = self._reserved.for_node(None)
        self._provider.make_room(new, self._plan.ports)
        self._plan.brokers.append(new)
        for link in links_between(self.brokers, self.spec.controller_ids):
            if link not in self.links.servers:
                listen, upstream = self._provider.route(link, self._plan.ports)
                self.links.add(link, self._provider.server_for(link), listen=listen, upstream=upstream)
        self.start(new)
        self._remember()
        return new

    def remove_broker(self, broker: int) -> None:
        """Stop a broker and have the controllers forget it; its links go with it. Whether it still had replicas is the
        business of whoever asked."""
        self._not_a_controller(broker, "removed")
        self.stop(broker)
        self._plan.brokers.remove(broker)
        self.unregister(broker)
        self.links.forget(link for link in tuple(self.links.servers) if broker in (link.source, link.target))
        self._remember()

    def unregister(self, broker: int) -> None:
        """Have the controllers forget a broker that is down."""
        from compose.asking import unregister

        if error := unregister(self.direct_address, broker):
            raise UsageError(f"broker {broker} could not be unregistered: {error}.", broker=broker)

    def replace_broker(self, broker: int) -> None:
        """A machine that died and was set up anew: the same id, an empty disk."""
        self.kill(broker)
        self.wipe(broker)
        self.start(broker)

    def wipe(self, broker: int) -> None:
        """Throw away the disk of a broker that is down. Its start formats it anew, with another directory.id."""
        self._not_a_controller(broker, "wiped")
        if self._provider.running(broker):
            raise UsageError(f"broker {broker} cannot be wiped: it runs. Kill it first.", broker=broker)
        self._provider.wipe(broker, self.spec.log_dirs)

    def running(self, broker: int) -> bool:
        self._known(broker)
        return self._provider.running(broker)

    def log(self, node: int) -> str:
        """Everything the node has logged in all its lives."""
        self._known(node)
        return self._provider.log(node)

    # ---- links ------------------------------------------------------------------------------------------------

    def broken(self, fault: Fault, *links: Link) -> AbstractContextManager[None]:
        """`with cluster.broken(Cut(), Link(3, 1, "replication")):` and healed after, whatever happens inside."""
        return self.links.broken(fault, *links)

    def frames(self) -> AbstractContextManager[FrameProxy]:
        """`with cluster.frames() as frames:` every client's requests cross a proxy that can hold, drop, delay or cut one."""
        return self._beside.opened(self)

    # ---- what it looks like -----------------------------------------------------------------------------------

    @property
    def brokers(self) -> tuple[int, ...]:
        return tuple(self._plan.brokers)

    @property
    def folder(self) -> Path:
        return self._running_state().folder

    @property
    def provider(self) -> str:
        return self._provider.name

    @property
    def address(self) -> ClusterAddress:
        """For clients: every connection crosses Toxiproxy."""
        return self._address_at(",".join(f"127.0.0.1:{self._plan.ports[broker].client}" for broker in self.brokers))

    @property
    def direct_address(self) -> ClusterAddress:
        """For observers: straight to the brokers, so that no fault on a link blinds whoever watches."""
        return self._address_at(",".join(address.bootstrap for address in self._direct_addresses().values()))

    def address_for(self, user: str, password: str | None = None) -> ClusterAddress:
        """The address for another principal than the administrator. It may do nothing until an ACL says so."""
        if self._plan.credentials is None:
            raise UsageError(f"user {user!r} cannot be told apart: this cluster is plaintext. Use security tls or sasl_ssl.")
        if self.spec.security == "sasl_ssl" and password is None:
            raise UsageError(f"user {user!r} needs a password here: call create_user({user!r}, password) first, or give it.")
        return self._plan.credentials.address(self.address.bootstrap, user, password)

    def observer(self) -> ClusterView:
        """Another pair of eyes, for a thread of its own; to be closed by whoever asked for it."""
        return ClusterView(self._direct_addresses)

    def new_certificate(self, broker: int, *, whose: str = "node", stranger: bool = False) -> Path:
        """A key and certificate for a broker, in a file beside those it has; `stranger`: of an authority nobody trusts."""
        credentials = self._plan.credentials
        if credentials is None or self.provider != "processes":
            raise UsageError(
                f"broker {broker} cannot get a new certificate here: it needs security tls or sasl_ssl, and brokers as "
                f"processes (this is {self.spec.security}, {self.provider})."
            )
        issuer = Credentials(self.folder / "stranger", self.spec.security) if stranger else credentials
        file = Path(self._provider.place(broker).home) / f"node-{new_uuid()}.pem"
        file.touch(mode=0o600)
        file.write_bytes(issuer.node_certificate(broker, whose))
        return file

    def load_keystore(self, broker: int, file: Path | None, listeners: tuple[str, ...]) -> str | None:
        """Have listeners of a running broker show another certificate; None: that of its start. Returns Kafka's refusal."""
        from compose.certificates import load_keystore

        return load_keystore(self.direct_address, broker, listeners, file)

    def jmx(self, node: int) -> str:
        self._known(node)
        return f"127.0.0.1:{self._plan.ports[node].jmx}"

    def ports_of(self, node: int) -> Ports:
        """Every port that was chosen for a node."""
        self._known(node)
        return self._plan.ports[node]

    def agent_url(self, node: int) -> str:
        if not self.spec.javaagent:
            raise UsageError("this cluster has no Java agent: start it with javaagent=True (--javaagent).")
        self._known(node)
        return f"http://127.0.0.1:{self._plan.ports[node].agent}/metrics"

    def jolokia_url(self, node: int) -> str:
        if not self.spec.jolokia:
            raise UsageError("this cluster has no Jolokia: start it with jolokia=True (--jolokia).")
        self._known(node)
        return f"http://127.0.0.1:{self._plan.ports[node].jolokia}/jolokia/"

    def container(self, node: int) -> str:
        """The name of the container that a node runs in; empty where nodes are processes."""
        self._known(node)
        return self._provider.container(node)

    def facts(self) -> dict[str, Any]:
        """What `up` prints and `status` reads again."""
        address = self.address
        return {
            "kafka": self.spec.kafka,
            "security": self.spec.security,
            "brokers": list(self.brokers),
            "controllers": list(self.spec.controller_ids),
            "bootstrap": address.bootstrap,
            "direct": self.direct_address.bootstrap,
            "jmx": {str(node): self.jmx(node) for node in self.nodes},
            "agent": {str(node): self.agent_url(node) for node in self.nodes} if self.spec.javaagent else {},
            "jolokia": {str(node): self.jolokia_url(node) for node in self.nodes} if self.spec.jolokia else {},
            "toxiproxy": sorted({f"{host}:{port}" for host, port in self.links.servers.values()}),
            "client_properties": write_client_properties(self.folder / "client", address),
        }

    @property
    def nodes(self) -> tuple[int, ...]:
        return self._plan.nodes

    # ---- inside -----------------------------------------------------------------------------------------------

    def _end(self, node: int, signal: str) -> None:
        self._known(node)
        self._provider.signal(node, signal)
        self._provider.signal(node, "SIGCONT")  # a paused process keeps SIGTERM for later
        wait_until(
            lambda: self._provider.running(node),
            lambda running: not running,
            what=f"node {node} ended by {signal}",
            timeout=STOP_TIMEOUT,
            every=0.02,
            hint=lambda: self._last_words(node),
        )

    def _wait_started(self, node: int) -> None:
        def look() -> str:
            if STARTED in self._provider.last_log(node):
                return "started"
            return "starting" if self._provider.running(node) else "ended"

        seen = wait_until(
            look,
            lambda state: state != "starting",
            what=f"node {node} started",
            timeout=START_TIMEOUT,
            every=0.02,
            hint=lambda: self._last_words(node),
        )
        if seen == "ended":
            raise NotReady(f"node {node} ended while starting. {self._last_words(node)}", node=node)

    def _wait_registered(self, brokers: frozenset[int]) -> None:
        from compose.admin import live_brokers

        wait_until(
            lambda: live_brokers(self.direct_address),
            lambda live: brokers <= live,
            what=f"brokers {sorted(brokers)} registered",
            timeout=START_TIMEOUT,
        )

    def _last_words(self, node: int) -> str:
        lines = [
            line for line in self._provider.last_log(node).splitlines() if line.strip() and not line.startswith("\tat ")
        ]
        telling = [line for line in lines if " ERROR " in line or " FATAL " in line or "Exception" in line]
        last = (telling or lines or ["nothing"])[-1]
        return f'Its log ends in "{last.strip()[:300]}".'

    def _known(self, node: int) -> None:
        if node not in self.nodes:
            raise UsageError(f"broker {node} does not exist: this cluster has {', '.join(map(str, self.nodes))}.", node=node)

    def _not_a_controller(self, broker: int, what: str) -> None:
        self._known(broker)
        if broker in self.spec.controller_ids:
            raise UsageError(f"broker {broker} cannot be {what}: it is a controller too. Use controllers of their own.")

    def _direct_addresses(self) -> dict[int, ClusterAddress]:
        return {broker: self._address_at(f"127.0.0.1:{self._plan.ports[broker].direct}") for broker in self.brokers}

    def _address_at(self, bootstrap: str) -> ClusterAddress:
        credentials = self._plan.credentials
        return credentials.address(bootstrap) if credentials else ClusterAddress(bootstrap)

    def _running_state(self) -> ClusterState:
        if self._state is None:
            raise SuiteError("this cluster is not running: use it inside its `with` block, or call boot() first.")
        return self._state

    def _brokers_in_words(self) -> str:
        count = len(self.brokers)
        return f"{count} broker{'s' * (count != 1)}"


def _folder_name(cluster_id: str) -> str:
    return cluster_id.replace("_", "x").replace("-", "y")[:10].lower()
