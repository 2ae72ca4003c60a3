"""A producer's class whose every delivery report is counted, also where produce() is given a callback of its own.

A callback in produce() takes the place of the one in the configuration, so the configuration alone never sees it.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

Callback = Callable[[Any, Any], None]
Counted = Callable[[Callback], Callback]
C = TypeVar("C")

ON_DELIVERY = 4  # where it stands in produce(topic, value, key, partition, on_delivery), and in a SerializingProducer's


def counting(base: type[C], configured: Callable[[Mapping[str, Any]], Any], counted: Counted) -> type[C]:
    """`base` as it was, but for the callbacks; a class that cannot produce has only its configuration changed."""
    client = cast(Any, base)

    def __init__(self: Any, config: Mapping[str, Any], *args: Any, **options: Any) -> None:  # noqa: N807
        client.__init__(self, configured(config), *args, **options)

    def produce(self: Any, *args: Any, **options: Any) -> Any:
        if len(args) > ON_DELIVERY and args[ON_DELIVERY] is not None:
            args = (*args[:ON_DELIVERY], counted(args[ON_DELIVERY]), *args[ON_DELIVERY + 1 :])
        _count(options, counted)
        return client.produce(self, *args, **options)

    def produce_batch(self: Any, topic: str, messages: list[dict[str, Any]], *args: Any, **options: Any) -> Any:
        _count(options, counted)
        own = [(message, message["callback"]) for message in messages if message.get("callback") is not None]
        for message, callback in own:
            message["callback"] = counted(callback)
        try:
            return client.produce_batch(self, topic, messages, *args, **options)
        finally:
            for message, callback in own:  # they are the application's, which may send them again
                message["callback"] = callback

    methods: dict[str, Any] = {"__init__": __init__, "__doc__": base.__doc__, "__module__": base.__module__}
    if hasattr(base, "produce"):
        methods |= {"produce": produce, "produce_batch": produce_batch}
    return cast(type[C], type(base.__name__, (base,), methods))


def _count(options: dict[str, Any], counted: Counted) -> None:
    for name in ("on_delivery", "callback"):  # the same, by either name
        if options.get(name) is not None:
            options[name] = counted(options[name])
