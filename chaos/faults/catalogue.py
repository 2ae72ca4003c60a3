"""Every fault by name, and its way into JSON and back: what a schedule is written in.

`{"fault": "kill-broker", "node": 2}`; where a node stands, a role may stand instead until it is resolved. The fields are
those of the dataclass, so a new fault needs one line here and nothing else.
"""

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, get_type_hints

from chaos.faults import target
from chaos.faults.bridge import Bridge
from chaos.faults.damage_segment import DamageSegment
from chaos.faults.drop_client_connection import DropClientConnection
from chaos.faults.fail_disk import FailDisk
from chaos.faults.fault import Fault
from chaos.faults.fill_disk import FillDisk
from chaos.faults.freeze_client import FreezeClient
from chaos.faults.isolate import Isolate
from chaos.faults.kill_broker import KillBroker
from chaos.faults.kill_client import KillClient
from chaos.faults.link_fault import LinkFault
from chaos.faults.links_seen import TOXICS
from chaos.faults.lose_tail import LoseTail
from chaos.faults.on_request import CutRequest, DelayRequest, DropRequest, HoldRequest
from chaos.faults.one_way import OneWay
from chaos.faults.pause_broker import PauseBroker
from chaos.faults.restart_broker import RestartBroker
from chaos.faults.ring import Ring
from chaos.faults.set_clock import SetClock
from chaos.faults.split import Split
from chaos.faults.stall_disk import StallDisk
from chaos.faults.stop_broker import StopBroker
from chaos.faults.stop_client import StopClient
from compose.links import CLIENT, Link
from compose.toxics import Direction
from kernel.errors import UsageError

Json = Mapping[str, Any]


def _on_links(toxic: type[Any]) -> Callable[..., Fault]:
    return lambda links, **numbers: LinkFault(links, toxic(**numbers))


FAULTS: dict[str, Callable[..., Fault]] = {
    "kill-broker": KillBroker,
    "stop-broker": StopBroker,
    "pause-broker": PauseBroker,
    "restart-broker": RestartBroker,
    "lose-tail": LoseTail,
    "fill-disk": FillDisk,
    "fail-disk": FailDisk,
    "stall-disk": StallDisk,
    "damage-segment": DamageSegment,
    "set-clock": SetClock,
    "isolate": Isolate,
    "split": Split,
    "ring": Ring,
    "bridge": Bridge,
    "one-way": OneWay,
    **{kind: _on_links(toxic) for kind, toxic in TOXICS.items()},
    "stop-client": StopClient,
    "kill-client": KillClient,
    "freeze-client": FreezeClient,
    "drop-client-connection": DropClientConnection,
    "hold-request": HoldRequest,
    "drop-request": DropRequest,
    "delay-request": DelayRequest,
    "cut-request": CutRequest,
}
NODE_FIELDS = ("node", "source", "target")  # each may hold a role
LINK_FIELDS = ("source", "target", "traffic")


def to_json(fault: Fault) -> dict[str, Any]:
    if isinstance(fault, LinkFault):
        links = [{name: getattr(link, name) for name in LINK_FIELDS} for link in fault.links]
        return {"fault": fault.kind, "links": links, **_values(fault.toxic)}
    return {"fault": fault.kind, **_values(fault)}


def from_json(plan: Json) -> Fault:
    """The fault that a plan describes, every node in it by its id."""
    check(plan, roles=False)
    return _made(plan)


def resolved(plan: Json, cluster: target.CanBeAsked, chance: random.Random | None = None) -> dict[str, Any]:
    """The same plan with the node that holds each role at this moment."""
    check(plan)

    def fill(name: str, value: Any) -> Any:
        if name == "links":
            return [{key: fill(key, part) for key, part in link.items()} for link in value]
        if name == "nodes":
            return [target.resolve(node, cluster, chance) for node in value]
        return target.resolve(value, cluster, chance) if name in NODE_FIELDS and value != CLIENT else value

    return {name: fill(name, value) for name, value in plan.items()}


def check(plan: Any, *, nodes: Collection[int] = (), roles: bool = True) -> None:
    """Raise the sentence that says what is wrong with a plan. `nodes`, if given, are all that exist."""
    if not isinstance(plan, Mapping):
        raise UsageError(f"a fault is an object with a field 'fault', not {plan!r}.")
    kind = plan.get("fault")
    if kind not in FAULTS:
        raise UsageError(f"fault {kind!r} is not known: choose one of {', '.join(FAULTS)}.", field="fault", value=kind)
    known = {field.name: (hint, field) for hint, field in _fields(kind)}
    for name in plan:
        if name != "fault" and name not in known:
            raise UsageError(f"{kind} has no field {name!r}: it has {', '.join(known) or 'none'}.", field=name)
    for name, (hint, field) in known.items():
        if name in plan:
            _check_value(kind, name, plan[name], hint, _Allowed(frozenset(nodes), roles))
        elif field.default is MISSING:
            raise UsageError(f"{kind} lacks its field {name!r}: it has {', '.join(known)}.", field=name)
    _made(plan)  # the fault itself may know better, and a role does for a node there


def _made(plan: Json) -> Fault:
    values = {name: _VALUES.get(name, lambda value: value)(value) for name, value in plan.items() if name != "fault"}
    return FAULTS[plan["fault"]](**values)


class _Allowed:
    """What may stand where a node is meant."""

    def __init__(self, nodes: frozenset[int], roles: bool) -> None:
        self.nodes, self.roles = nodes, roles

    def node(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | str):
            return False
        if isinstance(value, str) and not self.roles:
            return False
        wanted = target.parse(value)
        if wanted.role == "broker" and self.nodes and wanted.node not in self.nodes:
            known = ", ".join(map(str, sorted(self.nodes)))
            raise UsageError(f"broker {wanted.node} does not exist: the cluster has {known}.", value=value)
        return wanted.role != "client"


def _check_value(kind: str, name: str, value: Any, hint: Any, allowed: _Allowed) -> None:
    def must(good: bool, be: str) -> None:
        if not good:
            raise UsageError(f"{kind}: {name} is {value!r}, not {be}.", field=name, value=value)

    if name in NODE_FIELDS:
        must(allowed.node(value), f"a node: say {target.KNOWN}" if allowed.roles else "the id of a node")
    elif name == "nodes":
        must(isinstance(value, list) and bool(value) and all(map(allowed.node, value)), "a list of nodes")
    elif name == "links":
        must(isinstance(value, list) and bool(value), "a list of links like {source, target, traffic}")
        for link in value:
            _check_link(kind, link, allowed)
    elif hint is Direction:
        must(value in ("upstream", "downstream"), "upstream or downstream")
    elif hint is int:
        must(type(value) is int and value >= 0, "a whole number, 0 or more")
    else:
        must(isinstance(value, hint) and value != "", "true or false" if hint is bool else "a name")


def _check_link(kind: str, link: Any, allowed: _Allowed) -> None:
    if not isinstance(link, Mapping) or not {"source", "target"} <= set(link) <= set(LINK_FIELDS):
        raise UsageError(
            f"{kind}: link {link!r} is not an object with source, target and traffic.", field="links", value=link
        )
    if link["source"] != CLIENT:
        _check_value(kind, "source", link["source"], int, allowed)
    _check_value(kind, "target", link["target"], int, allowed)
    traffic = link.get("traffic", CLIENT)
    if traffic not in ("client", "replication", "controller") or (traffic == CLIENT) != (link["source"] == CLIENT):
        raise UsageError(
            f"{kind}: link {link!r} cannot carry {traffic!r} traffic: clients send client traffic, nodes send replication "
            "or controller traffic to each other.",
            field="traffic",
            value=traffic,
        )


def _fields(kind: str) -> list[tuple[Any, "Field[Any]"]]:
    """Type and field of everything a plan of this kind may say."""
    if kind in TOXICS:
        return [(tuple[Link, ...], fields(LinkFault)[0]), *_given(TOXICS[kind])]
    return _given(FAULTS[kind])


def _given(maker: Any) -> list[tuple[Any, "Field[Any]"]]:
    hints = get_type_hints(maker)
    return [(hints[field.name], field) for field in fields(maker) if field.init]


def _values(value: Any) -> dict[str, Any]:
    plain = {field.name: getattr(value, field.name) for _, field in _given(type(value))}
    return {name: list(part) if isinstance(part, tuple) else part for name, part in plain.items()}


_VALUES: dict[str, Callable[[Any], Any]] = {
    "links": lambda links: tuple(Link(**link) for link in links),
    "nodes": tuple,
}
