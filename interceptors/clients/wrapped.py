"""What all wrapped clients are: an original, a chain, and an end that the chain hears of whichever way it comes."""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import GenericAlias
from typing import Any, ClassVar

from interceptors import loading
from interceptors.chain import Chain
from interceptors.clients import lifetime
from interceptors.clients.serving import bind
from interceptors.metrics import chains


def refuse_as(original: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """What is no configuration is refused by the original, in its own words."""
    if args and not isinstance(args[0], dict):
        original(*args, **kwargs)
    elif not args and not kwargs:
        original()


class Wrapped(ABC):
    _original: ClassVar[Any]
    _client: Any
    _chain: Chain
    _hooks: ClassVar[tuple[str, ...]]
    _role: ClassVar[str]

    def _load(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make the chain; what is left of the configuration is for the original."""
        if not isinstance(given, dict):  # the original says what is wrong with it
            self._limit, self._chain = None, Chain([], "")
            return given  # type: ignore[return-value]
        theirs, config = loading.split(given)
        self._limit = loading.close_timeout(config)
        self._chain = Chain(loading.load(config, self._hooks, self._role), str(config.get("client.id", "")))
        return theirs

    @contextmanager
    def _making(self) -> Iterator[None]:
        """A client that its original refuses to make leaves no open interceptors behind."""
        try:
            yield
        except BaseException:
            self._chain.close()
            raise

    @abstractmethod
    def _untouched(self) -> set[str]:
        """What of the original's methods the chain has no interest in."""

    def _adopt(self, client: Any) -> None:
        self._client = client
        untouched = self._untouched()
        bind(self, client, untouched if self._limit is None else untouched - {"close"})
        if self._chain or self._limit is not None:
            chains.add(self._chain)
            lifetime.watch(self)
            # For a client that is dropped without being closed. Not when the interpreter ends: lifetime sees to that, after
            # the last acknowledgement.
            self._end = weakref.finalize(self, self._chain.close)
            self._end.atexit = False

    @property
    def interceptors(self) -> tuple[Any, ...]:
        return self._chain.interceptors

    def _over(self) -> None:
        self._chain.close()
        lifetime.forget(self)

    def _at_exit(self) -> None:
        self._over()

    def _forget(self) -> None:
        """In the child of a fork: the parent's chain is the parent's to close."""
        self._end.detach()

    def __class_getitem__(cls, item: Any) -> Any:
        return GenericAlias(cls, item)
