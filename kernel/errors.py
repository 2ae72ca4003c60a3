"""Everything that can go wrong on our side, as one family.

Kafka at fault is a *finding*; an exception from here means that the tool, its input or its machine failed.

    SuiteError                4  our own failure
    ├── UsageError            2  a value that was given cannot be used
    ├── MissingTool           4  a program we need is not on this machine, or too old
    ├── DamagedCache          4  something we downloaded is no longer what we downloaded
    ├── FetchFailed           4  something could not be downloaded or built
    ├── NoSpace               4  a disk is full
    ├── NotReady              4  we waited for a state and it did not come
    ├── LinkFailed            4  Toxiproxy did not do what it was told
    └── CollectionFailed      4  a node's metrics could not be had; `reason` says why in a word

Each message is one sentence or two: what happened, with which value, what to do.
"""

from typing import Any, ClassVar


class SuiteError(Exception):
    """The facts of the message are attributes too, so that a program can read them."""

    exit_code: ClassVar[int] = 4

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["facts"][name]
        except KeyError:
            raise AttributeError(name) from None


class UsageError(SuiteError):
    exit_code = 2


class MissingTool(SuiteError):
    pass


class DamagedCache(SuiteError):
    pass


class FetchFailed(SuiteError):
    pass


class NoSpace(SuiteError):
    pass


class NotReady(SuiteError):
    pass


class LinkFailed(SuiteError):
    pass


class CollectionFailed(SuiteError):
    pass
