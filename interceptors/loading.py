"""From `interceptor.classes` to interceptors that are ready, or one sentence that says which one is not and why.

Whatever can be wrong with an interceptor before the first record is told here: a client that would call nothing, or fail at
every record, is not made.
"""

import inspect
import re
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from types import MappingProxyType
from typing import Any

from interceptors.contract import Interceptor
from kernel.errors import SuiteError, UsageError

PREFIX = "interceptor."
CLASSES = "interceptor.classes"
CLOSE_TIMEOUT = "interceptor.close.timeout.ms"
SECRET = re.compile(r"password|secret|token|credential|user\.info|\.pem$", re.IGNORECASE)
HOOKS = {
    "on_send": ("record",),
    "on_acknowledgement": ("report", "error", "record"),
    "on_poll": (),
    "on_consume": ("records",),
    "on_commit": ("offsets",),
    "on_event": ("event",),
    "configure": ("config",),
    "close": (),
}


class BadInterceptor(UsageError, ValueError):
    """A ValueError too, which is what an application expects of a configuration that is wrong."""


def split(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is for librdkafka, which takes no key it does not know, and everything, for interceptors."""
    return {key: value for key, value in given.items() if not str(key).startswith(PREFIX)}, dict(given)


def load(config: Mapping[str, Any], hooks: tuple[str, ...], client: str) -> list[Any]:
    """The configured interceptors of a client that calls these hooks. Those made before one that fails are closed again."""
    ready: list[Any] = []
    try:
        for told in listed(config.get(CLASSES)):
            interceptor = _instance(told)
            _check(interceptor, hooks, client)
            ready.append(interceptor)
            _configure(interceptor, config)
    except BaseException:
        for interceptor in ready:
            _close_quietly(interceptor)
        raise
    return ready


def name_of(interceptor: object) -> str:
    return f"{type(interceptor).__module__}.{type(interceptor).__qualname__}"


def own(interceptor: object, hook: str) -> Any | None:
    """Its hook, unless it is merely inherited from `Interceptor`, where it does nothing."""
    found = getattr(interceptor, hook, None)
    if found is None or getattr(found, "__func__", None) is getattr(Interceptor, hook):
        return None
    return found


def wants_record(hook: Any) -> bool:
    """Whether an on_acknowledgement asks for the record too, or is written as Java's, with report and error."""
    try:
        inspect.signature(hook).bind("report", "error", "record")
    except TypeError:
        return False
    except ValueError:  # a builtin that does not tell what it takes
        pass
    return True


def wants_created(hook: Any) -> bool:
    """Whether an on_acknowledgement asks, by a keyword of that name, for the timestamp with which its record was sent."""
    try:
        asked = inspect.signature(hook).parameters.get("created")
    except (TypeError, ValueError):  # nothing that can be called, or a builtin that does not tell what it takes
        return False
    return asked is not None and asked.kind is inspect.Parameter.KEYWORD_ONLY


def close_timeout(config: Mapping[str, Any]) -> float | None:
    """Seconds that closing may wait for records in flight; None if nothing was said."""
    told = config.get(CLOSE_TIMEOUT)
    if told is None:
        return None
    try:
        milliseconds = float(told)
    except (TypeError, ValueError):
        milliseconds = -1
    if isinstance(told, bool) or not 0 <= milliseconds < float("inf"):
        raise BadInterceptor(f"{CLOSE_TIMEOUT} is {told!r}: give milliseconds, 0 or more.")
    return milliseconds / 1000


def listed(told: Any) -> list[Any]:
    if told is None:
        return []
    if isinstance(told, str):
        return [name.strip() for name in told.split(",") if name.strip()]
    if isinstance(told, (list, tuple)):
        return list(told)
    raise BadInterceptor(
        f"{CLASSES} is {told!r}, of type {type(told).__name__}: give a list of classes or of their dotted names, "
        "or the names in one text with commas between them."
    )


def _instance(told: Any) -> Any:
    if isinstance(told, str):
        told = _found(told)
    elif told is None or isinstance(told, (bytes, int, float, list, tuple, dict)):
        raise BadInterceptor(
            f"{CLASSES} holds {told!r}, of type {type(told).__name__}: give a class, its dotted name, or an interceptor."
        )
    if not isinstance(told, type):
        return told
    try:
        return told()
    except Exception as error:
        raise BadInterceptor(
            f"interceptor {told.__module__}.{told.__qualname__} cannot be made: {_words(error)}. "
            "It is made without arguments; what it needs to know comes by configure()."
        ) from error


def _found(name: str) -> type:
    module, _, last = name.strip().rpartition(".")
    if not module:
        raise BadInterceptor(
            f"interceptor {name!r} has no module: give its whole name, such as my_app.tracing.{name or 'Mine'}."
        )
    try:
        home = import_module(module)
    except (Exception, SystemExit) as error:  # a script without a guard ends the program when it is imported
        raise BadInterceptor(f"interceptor {name!r} cannot be imported: {_words(error)}.") from error
    found = getattr(home, last, None)
    if found is None:
        raise BadInterceptor(f"interceptor {name!r} does not exist: module {module} has no {last}.")
    if not isinstance(found, type):
        raise BadInterceptor(f"interceptor {name!r} is no class but {_article(type(found).__name__)}: name a class.")
    return found


def _check(interceptor: object, hooks: tuple[str, ...], client: str) -> None:
    name = name_of(interceptor)
    if all(own(interceptor, hook) is None for hook in hooks):
        raise BadInterceptor(f"interceptor {name} has none of {', '.join(hooks)}: a {client} would never call it.")
    for hook, arguments in HOOKS.items():
        if (found := own(interceptor, hook)) is not None:
            if hook == "on_acknowledgement" and callable(found) and not wants_record(found):
                arguments = arguments[:2]
            _check_hook(f"interceptor {name}: {hook}", found, arguments)


def _check_hook(what: str, hook: Any, arguments: tuple[str, ...]) -> None:
    wanted = f"it is called as {what.rpartition(' ')[2]}({', '.join(arguments)})"
    if not callable(hook):
        raise BadInterceptor(f"{what} is {_article(type(hook).__name__)} and not a method: {wanted}.")
    if kind := _suspended(hook) or _suspended(type(hook).__call__):
        raise BadInterceptor(f"{what} is {kind} and would never run: hooks are plain methods, of asyncio clients too.")
    try:
        inspect.signature(hook).bind(*arguments)
    except TypeError as error:
        raise BadInterceptor(f"{what} does not fit, {error}: {wanted}.") from None
    except ValueError:  # a builtin that does not tell what it takes
        pass


def _configure(interceptor: Any, config: Mapping[str, Any]) -> None:
    if configure := own(interceptor, "configure"):
        try:
            configure(MappingProxyType(dict(config)))
        except SuiteError:
            raise
        except Exception as error:
            words = _words(error)
            told = _without_secrets(words, config)
            cause = error if told == words else None  # its traceback would tell them
            raise BadInterceptor(f"interceptor {name_of(interceptor)} cannot be configured: {told}.") from cause


def _without_secrets(words: str, config: Mapping[str, Any]) -> str:
    for key, value in config.items():
        if SECRET.search(key) and isinstance(value, str) and value:
            words = words.replace(value, "***")
    return words


def _close_quietly(interceptor: object) -> None:
    if close := own(interceptor, "close"):
        with suppress(Exception):  # the reason why the client is not made is the one to be told
            close()


def _suspended(hook: Any) -> str:
    """What a call would only make and not run."""
    if inspect.iscoroutinefunction(hook):
        return "a coroutine"
    return "a generator" if inspect.isgeneratorfunction(hook) or inspect.isasyncgenfunction(hook) else ""


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(". ")


def _article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
