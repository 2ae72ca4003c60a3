"""Which provider a cluster runs on."""

from compose.provider import Provider, Say
from compose.spec import PROVIDERS
from compose.toolchain import docker_trouble, processes_possible
from kernel.errors import UsageError


def choose_provider(wanted: str | Provider, say: Say) -> Provider:
    """By name, or the best there is: processes where there is a JDK (they start faster), else containers."""
    if not isinstance(wanted, str):
        return wanted
    if provider_named(wanted) == "containers":
        if trouble := docker_trouble():
            raise trouble
        from compose.containers import Containers

        return Containers(say)
    from compose.processes import Processes

    return Processes(say)


def provider_named(wanted: str) -> str:
    """The name of the one that it comes to, before it is there."""
    if wanted not in PROVIDERS:
        raise UsageError(f"provider {wanted!r} is not known: choose one of {', '.join(PROVIDERS)}.", value=wanted)
    if wanted != "auto":
        return wanted
    return "containers" if not processes_possible() and docker_trouble() is None else "processes"
