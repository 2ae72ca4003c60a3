"""A name that does not exist: the right one for it, or what became of it. Pure."""

import re
from difflib import get_close_matches

from dashboards.lint.known import Known

_HANDLERS = "kafka_server_kafkarequesthandlerpool_controllerrequesthandleravgidle_seconds_total"
_CONTROLLERS = "kafka_controller_kafkacontroller_activecontrollercount"
_ZOOKEEPER = f"it came from ZooKeeper, which Kafka 4 does not have: see {_CONTROLLERS} and kafka_server_raftmetrics_*"

# A name that Kafka 4 no longer has → what to use. The catalogue has more, in `until`.
GONE = {
    r"kafka_server_kafkarequesthandlerpool_controlplane": f"gone with Kafka 4, use rate({_HANDLERS}[…])",
    r"kafka_network_\w*controlplane": f"gone with Kafka 4, use rate({_HANDLERS}[…])",
    r"kafka_controller_controllerstats_leaderelection": "gone with Kafka 4.0",
    r"kafka_server_(sessionexpirelistener|zookeeperclientmetrics)": _ZOOKEEPER,
    r"zookeeper_": _ZOOKEEPER,
    r"kafka_controller_controllerchannelmanager": "gone with Kafka 4, as controllers no longer push to brokers: see "
    "kafka_controller_kafkacontroller_timesincelastheartbeatreceivedms",
    r"kafka_controller_kafkacontroller_(topics|replicas)(ineligible)?todelete": "gone with Kafka 4, in favour of nothing",
    r"kafka_controller_kafkacontroller_controllerstate": f"gone with Kafka 4: see {_CONTROLLERS}",
}
# jmx_exporter 1.0 and the client libraries behind it renamed these; many dashboards still ask for the old ones.
RENAMED = (
    (r"^jvm_memory_bytes_(\w+)$", r"jvm_memory_\1_bytes"),
    (r"^jvm_memory_pool_bytes_(\w+)$", r"jvm_memory_pool_\1_bytes"),
    (r"^jvm_memory_pool_collection_(\w+)_bytes$", r"jvm_memory_pool_collection_\1_bytes"),
    (r"^jvm_classes_loaded$", r"jvm_classes_currently_loaded"),
    (r"^jvm_classes_(un)?loaded_total$", r"jvm_classes_\1loaded_total"),
)
_ENDINGS = ("_total", "_value", "_count", "_bytes", "_seconds")
_CLOSE = 0.8


def gone(name: str, known: Known) -> str:
    """What became of a name that Kafka no longer has; empty if it has, or never had."""
    fact = known.fact(name)
    if fact.until:
        return fact.note.rstrip(".") or f"gone with Kafka {fact.until}"
    return next((words for pattern, words in GONE.items() if re.match(pattern, name)), "")


def renamed(name: str) -> str:
    for pattern, new in RENAMED:
        if re.match(pattern, name) and re.sub(pattern, new, name) != name:
            return re.sub(pattern, new, name)
    return ""


def instead(name: str, known: Known) -> str:
    """The name under which the same may be had; empty if none is near."""
    here = known.names if known.names is not None else frozenset(known.facts)
    new = renamed(name)
    if new and (new in here or known.names is None):
        return new
    if ours := known.fact(name).metric:
        same = [one for one in known.families.get(ours, ()) if one in here and one != name]
        if same:
            return same[0]
    bare = name.lower()
    for ending in _ENDINGS:
        bare = bare.removesuffix(ending)
    for candidate in (bare, *(bare + ending for ending in _ENDINGS)):
        if candidate in here and candidate != name:
            return candidate
    return next(iter(get_close_matches(name, here, 1, _CLOSE)), new)
