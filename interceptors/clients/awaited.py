"""confluent-kafka's serialising asyncio clients are made by `await`: their class is called and answers with a coroutine."""

from typing import Any

from interceptors.clients.wrapped import Wrapped


class Awaited(Wrapped):
    def __new__(cls, conf: dict[str, Any], **kwargs: Any) -> Any:
        return cls._made(conf, kwargs)

    @classmethod
    async def _made(cls, conf: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        made = object.__new__(cls)
        theirs = made._load(conf)
        with made._making():
            made._adopt(await cls._original(theirs, **kwargs))
        return made
