"""What becomes of wrapped clients when the interpreter ends, and in the child of a fork.

At the end, records that are still in flight get a bounded time, and what was left is said. After a fork librdkafka's threads
exist in the parent alone: in the child the client refuses to work, instead of waiting for ever.
"""

import atexit
import ctypes
import os
import weakref
from typing import Any

from interceptors.clients.serving import public

_alive: "weakref.WeakSet[Any]" = weakref.WeakSet()
_parent = 0  # the process in which there are clients


def watch(client: Any) -> None:
    global _parent
    if not _parent:
        # Now and not when imported: what was registered last is called first, and exporters of traces, which the
        # application sets up before its clients, must still be there when the last records are acknowledged.
        atexit.register(_at_exit)
        os.register_at_fork(after_in_child=_in_child)
    _parent = os.getpid()
    _alive.add(client)


def forget(client: Any) -> None:
    _alive.discard(client)


def _at_exit() -> None:
    for client in list(_alive):
        client._at_exit()


def _in_child() -> None:
    for client in list(_alive):
        refusal = _refusal(type(client).__name__, _parent)
        for name in public(type(client)):
            vars(client)[name] = refusal
        _alive.discard(client)
        client._forget()
        # librdkafka would wait for threads that are not there, and bring the child down (SIGSEGV).
        never_freed(client._client)


def never_freed(original: Any) -> None:
    """The process ends without librdkafka's farewell, which has no bound: it waits for all of its threads."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(original))


def _refusal(what: str, parent: int) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"this {what} was made by process {parent}, and its threads did not come along with the fork: "
            "make a new one in this process."
        )

    return refuse
