"""Breaking links for real: Toxiproxy servers, driven through toxiproxy-python.

That library keeps the server's address in a class attribute and passes over errors it does not know, so every call is
made under one lock with the address set, and every change is read back before it counts as made.
"""

import itertools
import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any

from compose.links import Link
from compose.toxics import Cut, Toxic
from kernel.errors import LinkFailed, UsageError
from kernel.waiting import wait_until

Server = tuple[str, int]  # host and port of a Toxiproxy API
Fault = Cut | Toxic

_one_at_a_time = threading.RLock()
_serial = itertools.count(1)


@dataclass
class Toxiproxies:
    """Every link of a cluster and the server that carries it. Processes share one server; containers have one each."""

    servers: dict[Link, Server]
    _cuts: Counter[Link] = field(default_factory=Counter)

    @contextmanager
    def broken(self, fault: Fault, *links: Link) -> Iterator[None]:
        """Apply one fault to some links, and take it off again whatever happens inside."""
        for link in links:
            self.server_of(link)  # a wrong name is refused before anything is touched
        with ExitStack() as healing:
            for link in links:
                healing.enter_context(self._cut(link) if isinstance(fault, Cut) else self._poisoned(link, fault))
            yield

    def server_of(self, link: Link) -> Server:
        if link not in self.servers:
            known = ", ".join(sorted(str(other) for other in self.servers if other.traffic == link.traffic)) or "none"
            raise UsageError(f"link {link} does not exist in this cluster: its {link.traffic} links are {known}.", link=link)
        return self.servers[link]

    def wait_ready(self) -> None:
        """Return once every server answers and carries its links."""
        for server in set(self.servers.values()):
            carried = wait_listening(server)
            for link in (link for link, where in self.servers.items() if where == server):
                if link.name not in carried:
                    raise LinkFailed(
                        f"link {link} could not be opened: Toxiproxy at {server[0]}:{server[1]} does not carry it.",
                        link=link,
                    )

    def add(self, link: Link, server: Server, *, listen: str, upstream: str) -> None:
        wait_listening(server)
        with _talking_to(server) as toxiproxy:
            toxiproxy.create(upstream=upstream, name=link.name, listen=listen)
        self.servers[link] = server
        self._proxy(link)

    def forget(self, links: Iterable[Link]) -> None:
        """Links that lead nowhere any more."""
        for link in links:
            proxy = self._proxy(link)
            with _talking_to(self.server_of(link)):
                proxy.destroy()
            del self.servers[link]

    def heal_all(self) -> None:
        for server in set(self.servers.values()):
            with _talking_to(server) as toxiproxy:
                toxiproxy.reset()
        self._cuts.clear()

    def faults_on(self, link: Link) -> list[str]:
        """What is wrong with a link right now, as Toxiproxy itself tells it."""
        proxy = self._proxy(link)
        with _talking_to(self.server_of(link)):
            toxics = [f"{toxic.type} {toxic.stream}" for toxic in proxy.toxics().values()]
        return ([] if proxy.enabled else ["cut"]) + toxics

    def addresses_of(self, link: Link) -> tuple[Server, Server]:
        """Where the link's proxy listens and what stands behind it, in the eyes of that proxy: for whoever wants to call."""
        proxy = self._proxy(link)
        return _host_and_port(proxy.listen), _host_and_port(proxy.upstream)

    @contextmanager
    def redirected(self, link: Link, upstream: Server) -> Iterator[None]:
        """Have a link lead to another address, and back to where it led whatever happens inside. Toxiproxy closes the
        link's connections each time; clients connect again."""
        before = self._proxy(link).upstream
        try:
            self._redirect(link, f"{upstream[0]}:{upstream[1]}")
            yield
        finally:
            self._redirect(link, before)

    def _redirect(self, link: Link, upstream: str) -> None:
        from toxiproxy.api import APIConsumer

        with _talking_to(self.server_of(link)):
            APIConsumer.post(f"/proxies/{link.name}", json={"upstream": upstream})
        if (now := self._proxy(link).upstream) != upstream:
            raise LinkFailed(f"link {link} could not be led to {upstream}: Toxiproxy still leads it to {now}.", link=link)

    @contextmanager
    def _cut(self, link: Link) -> Iterator[None]:
        # Counted, because two overlapping cuts must not heal each other.
        with _one_at_a_time:
            self._cuts[link] += 1
        try:
            self._enable(link, False)
            yield
        finally:
            with _one_at_a_time:
                self._cuts[link] -= 1
                healed = self._cuts[link] <= 0
            if healed:
                self._enable(link, True)

    def _enable(self, link: Link, enabled: bool) -> None:
        proxy = self._proxy(link)
        with _talking_to(self.server_of(link)):
            proxy.enable() if enabled else proxy.disable()
        if self._proxy(link).enabled != enabled:
            raise LinkFailed(
                f"link {link} could not be {'healed' if enabled else 'cut'}: Toxiproxy left it as it was.", link=link
            )

    @contextmanager
    def _poisoned(self, link: Link, toxic: Toxic) -> Iterator[None]:
        proxy, name = self._proxy(link), f"{toxic.kind}_{next(_serial)}"
        try:
            with _talking_to(self.server_of(link)):
                proxy.add_toxic(type=toxic.kind, name=name, stream=toxic.direction, attributes=toxic.attributes())
                if proxy.get_toxic(name) is None:
                    raise LinkFailed(f"{toxic.kind} did not take on link {link}: Toxiproxy does not list it.", link=link)
            yield
        finally:
            with _talking_to(self.server_of(link)):
                if proxy.get_toxic(name) is not None:  # heal_all may have come first
                    proxy.destroy_toxic(name)

    def _proxy(self, link: Link) -> Any:
        with _talking_to(self.server_of(link)) as toxiproxy:
            proxy = toxiproxy.get_proxy(link.name)
        if proxy is None:
            raise LinkFailed(
                f"link {link} is not known to its Toxiproxy: it was not created, or the server restarted.", link=link
            )
        return proxy


def wait_listening(server: Server) -> dict[str, Any]:
    """Wait for a server's first answer: the proxies it carries. Asked without the library, which takes longer to import
    than Toxiproxy takes to start; it is needed only once a link is to be broken."""

    def answer() -> dict[str, Any] | None:
        line = HTTPConnection(*server, timeout=5)
        try:
            line.request("GET", "/proxies")
            proxies: dict[str, Any] = json.loads(line.getresponse().read())
            return proxies
        except (OSError, HTTPException, ValueError):
            return None
        finally:
            line.close()

    what = f"Toxiproxy at {server[0]}:{server[1]} answers"
    return wait_until(answer, lambda seen: seen is not None, what=what, timeout=20, every=0.02) or {}


def server_config(proxies: Mapping[Link, tuple[str, str]]) -> list[dict[str, Any]]:
    """Toxiproxy's start-up file: all links at once, instead of two requests for each."""
    return [
        {"name": link.name, "listen": listen, "upstream": upstream, "enabled": True}
        for link, (listen, upstream) in proxies.items()
    ]


def _host_and_port(address: str) -> Server:
    host, _, port = address.rpartition(":")
    everywhere = host in ("", "0.0.0.0", "[::]")  # listening on every address, so on this one too
    return "127.0.0.1" if everywhere else host, int(port)


@contextmanager
def _talking_to(server: Server) -> Iterator[Any]:
    import requests
    from toxiproxy import Toxiproxy
    from toxiproxy.api import APIConsumer
    from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

    with _one_at_a_time:
        APIConsumer.host, APIConsumer.port = server
        try:
            yield Toxiproxy()
        except (requests.RequestException, InvalidToxic, NotFound, ProxyExists) as error:
            host, port = server
            raise LinkFailed(f"Toxiproxy at {host}:{port} did not do it: {str(error)[:200]}", server=server) from error
