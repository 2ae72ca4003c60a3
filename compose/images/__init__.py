"""Which image a container runs: one that is already here, or the official one from its registry."""

from collections.abc import Callable

from compose.spec import TRIED_VERSIONS, check_version
from compose.toxiproxy_binary import VERSION as TOXIPROXY
from kernel.errors import FetchFailed

Say = Callable[[str], None]
_found: dict[str, str] = {}


def kafka_image(version: str, say: Say) -> str:
    check_version(version)
    return _image(
        f"Kafka {version}",
        [f"kafka-trial/kafka:{version}", f"apache/kafka:{version}"],
        say,
        f"check the version (tried here: {', '.join(TRIED_VERSIONS)}), let Docker reach a registry, or build it with "
        f"`compose/images/build.sh {version}`",
    )


def toxiproxy_image(say: Say) -> str:
    return _image(
        f"Toxiproxy {TOXIPROXY}",
        [f"kafka-trial/toxiproxy:{TOXIPROXY}", f"ghcr.io/shopify/toxiproxy:{TOXIPROXY}"],
        say,
        "let Docker reach a registry, or build it with `compose/images/build.sh`",
    )


def _image(what: str, names: list[str], say: Say, advice: str) -> str:
    """The first of `names` that is here, else the last one pulled: the official image."""
    if what in _found:
        return _found[what]
    import docker
    from docker.errors import APIError, ImageNotFound

    client = docker.from_env(timeout=600)
    try:
        for name in names:
            try:
                client.images.get(name)
                return _found.setdefault(what, name)
            except ImageNotFound:
                continue
        say(f"pulling {names[-1]}")
        client.images.pull(names[-1])
        return _found.setdefault(what, names[-1])
    except APIError as error:
        raise FetchFailed(
            f"no image for {what}: {names[-1]} could not be pulled. To mend this, {advice}.", what=what
        ) from error
    finally:
        client.close()
