"""Whatever confluent-kafka's clients can do, ours can do: the same names, called in the same way, with the same end.

The walk is over what the installed confluent-kafka has, not over a list of ours; a method that a new version brings is
named here, so that somebody decides whether interceptors should hear of it.
"""

import ast
import asyncio
import gc
import inspect
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import GenericAlias
from typing import Any

import confluent_kafka
import confluent_kafka.aio
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.serialization import IntegerSerializer, StringDeserializer, StringSerializer

import interceptors
from interceptors.clients.serving import serves
from interceptors.clients.wrapped import Wrapped
from tests.pure.recording_interceptor import MOCK, Recording, noting, outcome

PRODUCING = {
    "abort_transaction", "begin_transaction", "close", "cluster_id", "commit_transaction", "flush", "init_transactions",
    "list_topics", "poll", "produce", "produce_batch", "purge", "send_offsets_to_transaction", "set_sasl_credentials",
}  # fmt: skip
CONSUMING = {
    "assign", "assignment", "close", "cluster_id", "commit", "committed", "consume", "consumer_group_metadata",
    "get_watermark_offsets", "incremental_assign", "incremental_unassign", "list_topics", "memberid", "offsets_for_times",
    "pause", "poll", "position", "resume", "seek", "set_sasl_credentials", "store_offsets", "subscribe", "unassign",
    "unsubscribe",
}  # fmt: skip
DUNDERS = ("__len__", "__bool__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__iter__", "__class_getitem__")
# Every name that somebody has looked at and decided about: intercepted, or handed on as it is.
DECIDED = {
    "Producer": PRODUCING,
    "SerializingProducer": PRODUCING,
    "Consumer": CONSUMING,
    "DeserializingConsumer": CONSUMING,
    "AIOProducer": PRODUCING - {"produce_batch"},
    "AsyncSerializingProducer": PRODUCING - {"produce_batch"},
    "AIOConsumer": CONSUMING - {"memberid"},
    "AsyncDeserializingConsumer": CONSUMING - {"memberid"},
}
ORIGINALS: dict[str, type] = {
    name: getattr(confluent_kafka.aio if name.startswith(("AIO", "Async")) else confluent_kafka, name) for name in DECIDED
}
NAMES = list(ORIGINALS)
ASYNC = [name for name in NAMES if name.startswith(("AIO", "Async"))]
SYNC = [name for name in NAMES if name not in ASYNC]
STUB = Path(confluent_kafka.__file__).parent / "cimpl.pyi"


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def unserved(ours: type, original: type) -> list[str]:
    """What of the original ours cannot be asked for; and what ours has, but nobody has decided about."""
    dunders = {name for name in DUNDERS if hasattr(original, name)}
    missing = [name for name in sorted(public(original) | dunders) if not hasattr(ours, name)]
    return missing + sorted(public(original) - DECIDED[original.__name__])


# ---- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_method_and_property_is_served(name: str):
    assert unserved(getattr(interceptors, name), ORIGINALS[name]) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_method_that_a_later_version_adds_is_noticed(name: str):
    tomorrow = type(name, (ORIGINALS[name],), {"produce_many": lambda self: None})

    assert set(unserved(getattr(interceptors, name), tomorrow)) == {"produce_many"}


def test_until_somebody_decides_it_is_handed_on():
    class Tomorrow:
        limit = 5

        def produce_many(self, count: int) -> int:
            """Many."""
            return count * 2

    @serves(Tomorrow)
    class Ours(Wrapped):
        _limit = None

        def _untouched(self) -> set[str]:
            return set()

    ours = Ours()
    ours._client = Tomorrow()

    assert (ours.produce_many(4), ours.limit) == (8, 5)  # type: ignore[attr-defined]
    assert Ours.produce_many.__doc__ == "Many."  # type: ignore[attr-defined]


def test_there_is_no_client_of_confluent_kafka_that_was_forgotten():
    """Its share consumers (KIP-932) are another kind: they have no interceptors in Java either."""
    known = {*NAMES, "ShareConsumer", "DeserializingShareConsumer"}
    found = {name for home in (confluent_kafka, confluent_kafka.aio) for name in vars(home) if name[0] != "_"}

    assert {name for name in found if name.endswith(("Producer", "Consumer"))} == known


# ---- signatures ---------------------------------------------------------------------------------------------------


def told_by_stub(cls: str) -> dict[str, list[str]]:
    """What C methods take, by confluent-kafka's own stub: they do not tell it themselves."""
    tree = ast.parse(STUB.read_text())
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls)
    methods = [node for node in body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return {method.name: [argument.arg for argument in method.args.args[1:]] for method in methods}


def arguments_of(original: type, method: str) -> list[str]:
    try:
        told = inspect.signature(getattr(original, method))
    except ValueError:
        return told_by_stub("Producer" if "Producer" in original.__name__ else "Consumer").get(method, [])
    if all(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) or name == "self" for name, each in told.parameters.items()):
        return arguments_of(ORIGINALS["Producer" if "Producer" in original.__name__ else "Consumer"], method)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [name for name, parameter in told.parameters.items() if parameter.kind in kinds and name != "self"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_method_can_be_called_as_the_originals_by_position_and_by_name(name: str):
    ours, original = getattr(interceptors, name), ORIGINALS[name]
    for method in sorted(public(original)):
        arguments = arguments_of(original, method)
        try:
            signature = inspect.signature(getattr(ours, method))
        except ValueError:  # handed on to a C method: whatever that takes
            continue
        signature.bind("self", *arguments)
        signature.bind("self", **dict.fromkeys(arguments))
        positional = [each for each in signature.parameters if each in arguments]
        assert positional == arguments or not positional, f"{name}.{method} takes them in another order"


def test_the_stub_tells_of_the_methods_that_matter():
    told = told_by_stub("Producer")

    assert told["produce"][:3] == ["topic", "value", "key"] and "headers" in told["produce"]
    assert {"on_assign", "on_revoke", "on_lost"} <= set(told_by_stub("Consumer")["subscribe"])


# ---- reaching the original ----------------------------------------------------------------------------------------

HERE = TopicPartition("t", 0, 5)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "produce": ("t", "one", "two"),
    "produce_batch": ("t", [{"value": "one"}]),
    "send_offsets_to_transaction": ([HERE], "metadata"),
    "set_sasl_credentials": ("user", "secret"),
    "subscribe": (["t"],),
    **dict.fromkeys(("assign", "incremental_assign", "incremental_unassign", "pause", "resume"), ([HERE],)),
    **dict.fromkeys(("committed", "position", "offsets_for_times"), ([HERE],)),
    **dict.fromkeys(("seek", "get_watermark_offsets"), (HERE,)),
    "consume": (5, 0.5),
    **dict.fromkeys(("poll", "flush", "list_topics"), ()),
}
QUIET = {"poll": None, "consume": []}  # answers of the original in which there is no record


class OnlyAcknowledgements:
    def on_acknowledgement(self, report: Any, error: Any) -> None:
        pass


class AsksForTimestamps:
    def on_acknowledgement(self, report: Any, error: Any, *, created: int = 0) -> None:
        pass


class OnlySends:
    def on_send(self, record: Any) -> Any:
        return record


class AddsHeaders:
    def on_send(self, record: Any) -> Any:
        return record.with_headers(("added", b"1"))


class OnlyPolls:
    def on_poll(self) -> None:
        pass


CHAINS: dict[str, Callable[[str], list[Any]]] = {
    "empty": lambda _: [],
    "full": lambda _: [Recording(), Recording()],
    "one hook": lambda name: [OnlyAcknowledgements() if "Producer" in name else OnlyPolls()],
}


def substitute(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """In the place of the original that ours would make: one that notes."""
    log: list[Any] = []
    double = noting(ORIGINALS[name], log)
    for method, answer in QUIET.items():
        if "Consumer" in name:
            _answering(double, method, answer, log)
    made = awaited(double) if name.startswith("Async") else double
    monkeypatch.setattr(getattr(interceptors, name), "_original", made)
    return log


def _answering(double: type, method: str, answer: Any, log: list[Any]) -> None:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        log.append((method, args, kwargs))
        return answer

    async def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(self, *args, **kwargs)

    setattr(double, method, wait if inspect.iscoroutinefunction(getattr(double, method)) else call)


def awaited(double: type) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def made(*args: Any, **kwargs: Any) -> Any:
        return double(*args, **kwargs)

    return made


async def ours_of(name: str, chain: list[Any]) -> Any:
    made = getattr(interceptors, name)({"group.id": "g", "interceptor.classes": chain})
    return await made if inspect.isawaitable(made) else made


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("name", NAMES)
def test_every_call_reaches_the_original_with_what_was_given(name: str, chain: str, monkeypatch: pytest.MonkeyPatch):
    log = substitute(monkeypatch, name)

    async def walk() -> dict[str, Any]:
        client = await ours_of(name, CHAINS[chain](name))
        reached: dict[str, Any] = {}
        for method in [*sorted(public(ORIGINALS[name]) - {"close"}), "close"]:
            log.clear()
            answer = getattr(client, method)(*ARGUMENTS.get(method, ()))
            reached[method] = (await answer if inspect.isawaitable(answer) else answer, list(log))
        return reached

    _answer_produce_with_a_future(monkeypatch, name)
    reached = asyncio.run(walk())

    assert reached.keys() == public(ORIGINALS[name])
    for method, (answer, calls) in reached.items():
        assert [called for called, _, _ in calls] == [method], f"{name}.{method} reached {calls}"
        given = ARGUMENTS.get(method, ())
        assert all(_within(value, calls[0][1:]) for value in given), f"{name}.{method}{given} arrived as {calls}"
        if method not in ("produce", "produce_batch", "commit", "close", *QUIET):
            assert answer == method
        if method in QUIET and "Consumer" in name:
            assert answer == QUIET[method]


def _answer_produce_with_a_future(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """An asyncio producer's produce() answers with a future, to which ours listens."""
    if name not in ASYNC or "Producer" not in name:
        return
    ours = getattr(interceptors, name)
    inner = ours._original

    def with_future(*args: Any, **kwargs: Any) -> Any:
        made = inner(*args, **kwargs)
        return _later(made) if inspect.isawaitable(made) else _patched(made)

    monkeypatch.setattr(ours, "_original", staticmethod(with_future))


async def _later(made: Any) -> Any:
    return _patched(await made)


def _patched(double: Any) -> Any:
    noted = type(double).produce

    async def produce(self: Any, *args: Any, **kwargs: Any) -> Any:
        await noted(self, *args, **kwargs)
        return asyncio.get_running_loop().create_future()

    type(double).produce = produce
    return double


def _within(value: Any, call: Any) -> bool:
    """Whether a value is somewhere among the arguments of a call; ours may put them into another form."""
    if type(value) is type(call) and value == call:  # a TopicPartition compares with nothing but its like
        return True
    if isinstance(value, list) and isinstance(call, list):
        return all(any(_within(each, other) for other in call) for each in value)
    if isinstance(value, dict) and isinstance(call, dict):
        return all(call.get(key) == each for key, each in value.items())
    if isinstance(call, dict):
        call = list(call.values())
    return isinstance(call, (list, tuple)) and any(_within(value, each) for each in call)


@pytest.mark.parametrize("name", SYNC)
def test_with_no_interceptor_what_is_called_is_the_originals_own_method(name: str, monkeypatch: pytest.MonkeyPatch):
    """An empty chain costs nothing. Only subscribe() is ours even then: callbacks get the consumer that they know."""
    substitute(monkeypatch, name)
    client = getattr(interceptors, name)({"group.id": "g"})

    ours = {method for method in public(ORIGINALS[name]) if getattr(client, method).__self__ is not client._client}

    assert ours == ({"subscribe"} if "Consumer" in name else set())


def test_length_truth_and_with_are_the_originals(monkeypatch: pytest.MonkeyPatch):
    for name in ("Producer", "SerializingProducer"):
        log = substitute(monkeypatch, name)
        with getattr(interceptors, name)({"interceptor.classes": [Recording()]}) as client:
            assert (len(client), bool(client)) == (7, True)
        assert log[-1][0] == "close"


def test_with_closes_what_it_opened_once_and_hands_exceptions_on():
    for chain in ([], [Recording()]):
        with pytest.raises(LookupError), interceptors.Producer(MOCK | {"interceptor.classes": chain}) as producer:
            assert isinstance(producer, interceptors.Producer)
            raise LookupError
        assert [each.closed for each in chain] == [1] * len(chain)
        with pytest.raises(RuntimeError, match="Producer has been closed"):
            producer.flush()


def test_types_can_be_given_in_brackets_as_to_the_originals():
    for name in ("SerializingProducer", "DeserializingConsumer", "AsyncSerializingProducer", "AsyncDeserializingConsumer"):
        assert isinstance(getattr(interceptors, name)[str, int], GenericAlias)
    with interceptors.SerializingProducer[str, int](MOCK) as producer:
        assert isinstance(producer, interceptors.SerializingProducer)


def test_an_attribute_that_the_original_gives_to_its_instances_is_there_too():
    async def executors() -> tuple[Any, Any]:
        async with interceptors.AIOProducer(dict(MOCK)) as ours, confluent_kafka.aio.AIOProducer(dict(MOCK)) as theirs:
            return ours.executor, theirs.executor

    ours, theirs = asyncio.run(executors())

    assert type(ours) is type(theirs)
    with interceptors.Producer(MOCK) as producer, pytest.raises(AttributeError, match="no attribute 'nothing_such'"):
        producer.nothing_such  # noqa: B018


# ---- subclasses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chain", ["empty", "full"])
def test_a_subclass_is_not_hidden_by_the_direct_way(chain: str):
    class Mine(interceptors.Producer):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.produced = self.polled = self.flushed = 0

        def produce(self, *args: Any, **kwargs: Any) -> Any:
            self.produced += 1
            return super().produce(*args, **kwargs)

        def poll(self, *args: Any) -> int:
            self.polled += 1
            return int(super().poll(*args))  # type: ignore[misc]

        def flush(self, *args: Any) -> int:
            self.flushed += 1
            return int(super().flush(*args))  # type: ignore[misc]

    with Mine(MOCK, **{"interceptor.classes": CHAINS[chain]("Producer")}) as mine:
        mine.produce("t", b"v")
        mine.poll(0)
        left = mine.flush(10)

    assert (mine.produced, mine.polled, mine.flushed, left) == (1, 1, 1, 0)


def test_a_subclass_of_a_subclass_and_a_mixin_are_not_hidden_either():
    class Counting:
        def poll(self, *args: Any) -> str:
            return "counted"

    class Mine(Counting, interceptors.Consumer):
        pass

    class Mine2(Mine):
        pass

    client = Mine2(MOCK | {"group.id": "g"})
    assert client.poll(0) == "counted"
    client.close()


# ---- construction -------------------------------------------------------------------------------------------------


def test_a_client_is_made_from_a_dict_from_keywords_with_dots_or_from_both():
    for args, kwargs in (
        ((MOCK,), {}),
        ((), MOCK),
        (({"log_level": 0},), MOCK),
        ((MOCK,), {"logger": logging.getLogger("x")}),
    ):
        with interceptors.Producer(*args, **kwargs, **{"interceptor.classes": [Recording()]}) as producer:
            producer.produce("t", b"v")
            assert producer.flush(10) == 0  # type: ignore[attr-defined]
    consumer = interceptors.Consumer(MOCK, **{"group.id": "g", "interceptor.classes": []})
    consumer.close()


def test_keywords_override_the_dict_as_the_originals_do():
    kept = Recording()
    with interceptors.Producer(MOCK | {"client.id": "a"}, **{"client.id": "b", "interceptor.classes": [kept]}):
        pass

    assert kept.config["client.id"] == "b"


def test_serialising_clients_take_their_configuration_by_its_name_too():
    with interceptors.SerializingProducer(conf=MOCK | {"interceptor.classes": [Recording()]}) as producer:
        assert len(producer) == 0
    interceptors.DeserializingConsumer(conf=MOCK | {"group.id": "g"}).close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "args", [(None,), ("x",), (5,), ([],), ([("a", "b")],), ({}, 5), (), ({"no.such.key": 1},)], ids=str
)
@pytest.mark.parametrize("name", SYNC)
def test_a_wrong_configuration_fails_in_the_originals_words(name: str, args: tuple[Any, ...]):
    args = tuple(MOCK | {"group.id": "g"} | each if each and isinstance(each, dict) else each for each in args)
    theirs = outcome(lambda: ORIGINALS[name](*args))
    ours = outcome(lambda: getattr(interceptors, name)(*args))
    if isinstance(theirs, tuple):
        assert _anonymous(ours) == _anonymous(theirs)
    else:
        assert type(ours).__name__ == type(theirs).__name__


def _anonymous(told: Any) -> Any:
    """The words of `missing argument 'conf'` name a class by its whole name or not, as it is written."""
    return tuple(word.rpartition("(")[2] if "__init__" in word else word for word in told)


@pytest.mark.parametrize("args", [(None,), ("x",), (5,), ([],), ({"no.such.key": 1},)], ids=str)
@pytest.mark.parametrize("name", ASYNC)
def test_a_wrong_configuration_of_an_asyncio_client_fails_in_the_originals_words(name: str, args: tuple[Any, ...]):
    async def made(of: Any) -> Any:
        try:
            client = of(*(dict(each) if isinstance(each, dict) else each for each in args))
            return await client if inspect.isawaitable(client) else client
        except Exception as error:
            return type(error).__name__, str(error)

    async def both() -> tuple[Any, Any]:
        return await made(getattr(interceptors, name)), await made(ORIGINALS[name])

    ours, theirs = asyncio.run(both())

    assert ours == theirs


@pytest.mark.parametrize("name", NAMES)
def test_the_configuration_that_was_given_is_not_changed(name: str):
    async def make() -> None:
        client = getattr(interceptors, name)(given)
        client = await client if inspect.isawaitable(client) else client
        answer = client.close()
        if inspect.isawaitable(answer):
            await answer

    def on_commit(*_: Any) -> None: ...

    kept = Recording()
    own = {"group.id": "g", "on_commit": on_commit} if "Consumer" in name else {"delivery.report.only.error": True}
    given = MOCK | own | {"error_cb": print, "interceptor.classes": [kept], "interceptor.mine": 1}
    before = dict(given)

    asyncio.run(make())

    assert given == before and kept.config == before


# ---- the same behaviour, on librdkafka's own mock cluster ---------------------------------------------------------


def no_chain() -> dict[str, Any]:
    return {}


def full_chain() -> dict[str, Any]:
    return {"interceptor.classes": [Recording(), Recording()]}


def only_acknowledgements() -> dict[str, Any]:
    return {"interceptor.classes": [OnlyAcknowledgements()]}


def asks_for_timestamps() -> dict[str, Any]:
    return {"interceptor.classes": [AsksForTimestamps()]}


def only_sends() -> dict[str, Any]:
    return {"interceptor.classes": [OnlySends()]}


def with_headers() -> dict[str, Any]:
    return {"interceptor.classes": [Recording(), AddsHeaders()]}


EVERY_CHAIN = [no_chain, full_chain, only_acknowledgements, asks_for_timestamps, only_sends, with_headers]
WRONG_PRODUCE: list[dict[str, Any]] = [
    {"headers": ()}, {"headers": b"x"}, {"headers": ""}, {"headers": 0}, {"headers": [("a", 5)]}, {"headers": ["a"]},
    {"headers": [("a", b"b", "c")]}, {"headers": [["a", b"b"]]}, {"headers": {5: b"x"}}, {"headers": {"a": object}},
    {"value": 5}, {"key": 5}, {"partition": "x"}, {"timestamp": "x"}, {"topic": 5}, {"topic": None}, {"nonsense": 1},
    {"partition": 99}, {"value": b"x" * 2_000_000},
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("chain", EVERY_CHAIN)
@pytest.mark.parametrize("wrong", WRONG_PRODUCE, ids=lambda wrong: f"{next(iter(wrong.items()))}"[:30])
def test_what_the_original_refuses_is_refused_in_its_words(wrong: dict[str, Any], chain: Callable[[], dict[str, Any]]):
    arguments = {"topic": "t", "value": b"v"} | wrong
    with confluent_kafka.Producer(MOCK) as theirs, interceptors.Producer(MOCK | chain()) as ours:
        for producer in (theirs, ours):  # who does not know a topic yet refuses none of its partitions
            producer.produce("t", b"the first")
            assert producer.flush(30) == 0
        expected, found = outcome(lambda: theirs.produce(**arguments)), outcome(lambda: ours.produce(**arguments))

    if "nonsense" in wrong:  # Python's words for it differ from C's
        expected, found = expected[0], found[0]
    if isinstance(expected, tuple) and "object at" in expected[1]:
        expected, found = expected[0], found[0]
    assert _names(found) == _names(expected)


def _names(told: Any) -> Any:
    """A C function tells no name of its own, or the one by which it was called."""
    return tuple(word.replace("produce() ", "") for word in told) if isinstance(told, tuple) else told


@pytest.mark.parametrize("chain", EVERY_CHAIN[:-1])
@pytest.mark.parametrize(
    "messages",
    [(), None, [], [5], [{"value": b"a"}, {"value": 5}], [{"value": b"a", "partition": "x"}], [{"value": b"a", "key": 5}]],
    ids=str,
)
def test_a_batch_that_the_original_refuses_is_refused_whole(messages: Any, chain: Callable[[], dict[str, Any]]):
    with confluent_kafka.Producer(MOCK) as theirs, interceptors.Producer(MOCK | chain()) as ours:
        expected = outcome(lambda: theirs.produce_batch("t", messages))
        assert outcome(lambda: ours.produce_batch("t", messages)) == expected
        assert len(ours) == len(theirs) == 0


@pytest.mark.parametrize("chain", EVERY_CHAIN)
def test_callbacks_of_a_batch_are_called_as_the_original_does(chain: Callable[[], dict[str, Any]]):
    """One of a message before one of the batch before the configured one; `on_delivery` of a message is no such word."""

    def called(make: Any, config: dict[str, Any]) -> list[str]:
        calls: list[str] = []

        def note(name: str) -> Any:
            return lambda error, message: calls.append(name)

        messages = [{"value": b"a", "on_delivery": note("message")}, {"value": b"b", "callback": note("message")}]
        with make(MOCK | config | {"on_delivery": note("client")}) as producer:
            assert producer.produce_batch("t", messages, on_delivery=note("batch")) == 2
            producer.produce_batch("t", [{"value": b"c"}])
            producer.produce("t", b"d", callback=note("first"), on_delivery=note("second"))
            producer.produce("t", b"e", on_delivery=note("second"))
            producer.produce("t", b"f")
            producer.flush(10)
        return sorted(calls)

    assert called(interceptors.Producer, chain()) == called(confluent_kafka.Producer, {})


@pytest.mark.parametrize("chain", EVERY_CHAIN)
def test_a_full_queue_is_a_buffer_error_and_the_rest_of_a_batch_bears_its_error(chain: Callable[[], dict[str, Any]]):
    def full(make: Any, config: dict[str, Any]) -> Any:
        producer = make({"bootstrap.servers": "localhost:1", "log_level": 0, "queue.buffering.max.messages": 3} | config)
        messages = [{"value": b"a"} for _ in range(5)]
        queued = producer.produce_batch("t", messages)
        errors = [message["_error"].name() if "_error" in message else None for message in messages]
        one = outcome(lambda: producer.produce("t", b"b"))
        producer.purge()
        producer.flush(10)
        return queued, errors, one

    assert full(interceptors.Producer, chain()) == full(confluent_kafka.Producer, {})
    assert full(interceptors.Producer, chain())[2][0] == "BufferError"


def test_of_a_batch_that_is_sent_one_by_one_every_record_is_told_of_once_whatever_is_wrong_with_one():
    """With headers there is no batch: what stood before the wrong one is sent."""
    kept = Recording()
    producer = interceptors.Producer(MOCK | {"interceptor.classes": [kept, AddsHeaders()]})
    with producer, pytest.raises(TypeError):
        producer.produce_batch("t", [{"value": b"a"}, {"value": 5}, {"value": b"c"}])

    assert sorted(kept.heard("on_acknowledgement"), key=str) == [(5, "_INVALID_ARG"), (b"a", None), (b"c", "_INVALID_ARG")]


def test_of_a_batch_that_is_refused_whole_every_record_is_told_of():
    kept = Recording()
    with interceptors.Producer(MOCK | {"interceptor.classes": [kept]}) as producer, pytest.raises(TypeError):
        producer.produce_batch("t", [{"value": b"a"}, {"value": 5}])

    assert kept.heard("on_acknowledgement") == [(b"a", "_INVALID_ARG"), (5, "_INVALID_ARG")]


def test_a_batch_that_is_tried_again_is_not_judged_by_its_first_failure():
    messages = [{"value": b"a", "_error": "of the first time"}]
    kept = Recording()
    with interceptors.Producer(MOCK | {"interceptor.classes": [kept]}) as producer:
        assert producer.produce_batch("t", messages) == 1

    assert kept.heard("on_acknowledgement") == [(b"a", None)]


@pytest.mark.parametrize("chain", EVERY_CHAIN)
def test_an_application_that_wants_failures_alone_hears_of_failures_alone(chain: Callable[[], dict[str, Any]]):
    def called(make: Any, config: dict[str, Any]) -> list[Any]:
        calls: list[Any] = []

        def report(error: Any, message: Any) -> None:
            calls.append((message.value(), error and error.name()))

        with make(MOCK | config | {"delivery.report.only.error": True, "on_delivery": report}) as producer:
            producer.produce("t", b"a")
            producer.produce("t", b"b", on_delivery=report)
            producer.flush(10)
            producer.produce("t", b"c")
            producer.produce("t", b"d", callback=report)
            producer.purge()
            producer.flush(10)
        return sorted(calls)

    assert called(interceptors.Producer, chain()) == called(confluent_kafka.Producer, {})
    assert [value for value, _ in called(interceptors.Producer, chain())] == [b"c", b"d"]


def test_and_interceptors_hear_of_every_record_all_the_same():
    kept = Recording()
    with interceptors.Producer(MOCK | {"delivery.report.only.error": True, "interceptor.classes": [kept]}) as producer:
        producer.produce("t", b"a")
        producer.flush(10)  # type: ignore[attr-defined]
        producer.produce("t", b"b")
        producer.purge()  # type: ignore[attr-defined]

    assert sorted(kept.heard("on_acknowledgement")) == [(b"a", None), (b"b", "_PURGE_QUEUE")]


@pytest.mark.parametrize("name", SYNC)
@pytest.mark.parametrize("chain", [no_chain, full_chain])
def test_after_close_every_call_fails_as_the_originals(name: str, chain: Callable[[], dict[str, Any]]):
    config = MOCK | ({"group.id": "g"} if "Consumer" in name else {})
    theirs, ours = ORIGINALS[name](config), getattr(interceptors, name)(config | chain())
    theirs.close()
    ours.close()

    for method in sorted(public(ORIGINALS[name])):
        arguments = ARGUMENTS.get(method, ())
        expected = outcome(lambda m=method, a=arguments: getattr(theirs, m)(*a))
        assert outcome(lambda m=method, a=arguments: getattr(ours, m)(*a)) == expected, method


@pytest.mark.parametrize("chain", [no_chain, full_chain])
def test_transactions_out_of_place_fail_as_the_originals(chain: Callable[[], dict[str, Any]]):
    calls = ("begin_transaction", "commit_transaction", "abort_transaction")
    with confluent_kafka.Producer(MOCK) as theirs, interceptors.Producer(MOCK | chain()) as ours:
        for name in calls:
            expected = outcome(getattr(theirs, name))
            assert expected[0] == "KafkaException" and outcome(getattr(ours, name)) == expected
        wrong = outcome(lambda: theirs.send_offsets_to_transaction(None, 5))
        assert wrong[0] == "TypeError" and outcome(lambda: ours.send_offsets_to_transaction(None, 5)) == wrong


def test_an_exception_of_the_applications_callback_comes_out_of_poll_as_ever():
    def report(error: Any, message: Any) -> None:
        raise LookupError("the application's own")

    kept = Recording()
    with interceptors.Producer(MOCK | {"interceptor.classes": [kept]}) as producer:
        producer.produce("t", b"v", on_delivery=report)
        with pytest.raises(LookupError, match="the application's own"):
            producer.flush(10)  # type: ignore[attr-defined]

    assert kept.heard("on_acknowledgement") == [(b"v", None)]


def test_serialisers_work_and_their_failures_come_out_as_ever_and_are_heard():
    def outcomes(make: Any, chain: dict[str, Any]) -> list[Any]:
        serialisers = {"key.serializer": StringSerializer(), "value.serializer": IntegerSerializer()}
        values: list[Any] = []
        with make(MOCK | serialisers | chain) as producer:
            for key, value in (("a", 1), (5, 1), ("a", "x"), ("a", None)):
                done = lambda error, message: values.append((message.key(), message.value()))  # noqa: E731
                values.append(outcome(lambda k=key, v=value, d=done: producer.produce("t", k, v, on_delivery=d)))
            producer.flush(10)
        return values

    kept = Recording()
    found = outcomes(interceptors.SerializingProducer, {"interceptor.classes": [kept]})

    assert found == outcomes(confluent_kafka.SerializingProducer, {})
    assert found[1][0] == "KeySerializationError" and found[2][0] == "ValueSerializationError"
    assert kept.heard("on_send") == [(1,), (1,), ("x",), (None,)]
    assert [error for _, error in kept.heard("on_acknowledgement")] == [
        "_KEY_SERIALIZATION",
        "_VALUE_SERIALIZATION",
        None,
        None,
    ]


def test_a_consumer_reads_the_same_with_and_without_a_chain():
    config = MOCK | {"group.id": "g", "auto.offset.reset": "earliest", "value.deserializer": StringDeserializer()}
    for make, chain in ((confluent_kafka.DeserializingConsumer, {}), (interceptors.DeserializingConsumer, full_chain())):
        consumer = make(config | chain)
        assert consumer.poll(0) is None
        assert (consumer.assignment(), consumer.memberid()) == ([], None)
        expected = ("RuntimeError", "Consumer closed")
        consumer.close()
        assert outcome(lambda c=consumer: c.poll(0)) == expected


@pytest.mark.slow
def test_a_client_that_is_dropped_without_close_lets_its_interceptors_go_once():
    kept = Recording()
    producer = interceptors.Producer(MOCK | {"interceptor.classes": [kept]})
    assert kept.closed == 0

    del producer
    gc.collect()

    assert kept.closed == 1


def test_if_the_original_cannot_be_made_the_interceptors_are_closed_again():
    kept = Recording()
    with pytest.raises(KafkaException) as failed:
        interceptors.Producer({"no.such": 1, "interceptor.classes": [kept]})

    assert failed.value.args[0].code() == KafkaError._INVALID_ARG
    assert kept.closed == 1


# ---- asyncio --------------------------------------------------------------------------------------------------------


def test_an_asyncio_producer_sends_with_headers_and_its_futures_and_hooks_agree():
    kept = Recording()

    async def send() -> list[Any]:
        async with interceptors.AIOProducer(MOCK | {"interceptor.classes": [kept]}, batch_size=2) as producer:
            futures = [
                await producer.produce("t", f"{n}".encode(), headers=[("h", b"1")] if n % 2 else None) for n in range(4)
            ]
            assert len(producer) > 0
            await producer.flush()  # type: ignore[attr-defined]
            return [(await future).value() for future in futures]

    assert asyncio.run(send()) == [b"0", b"1", b"2", b"3"]
    assert sorted(kept.heard("on_acknowledgement")) == [(f"{n}".encode(), None) for n in range(4)]
    assert kept.closed == 1


@pytest.mark.parametrize("headers", [(), b"x", "", 0, 5])
@pytest.mark.parametrize("name", ["AIOProducer", "AsyncSerializingProducer"])
def test_headers_of_a_wrong_kind_are_refused_by_asyncio_producers_in_the_words_of_the_plain_one(name: str, headers: Any):
    with confluent_kafka.Producer(MOCK) as plain:
        words = outcome(lambda: plain.produce("t", b"v", headers=headers))

    async def send() -> Any:
        producer = getattr(interceptors, name)(MOCK | full_chain())
        producer = await producer if inspect.isawaitable(producer) else producer
        try:
            await producer.produce("t", b"v", headers=headers)
        except TypeError as error:
            return "TypeError", str(error)
        finally:
            await producer.close()

    assert asyncio.run(send()) == words


def test_who_stops_waiting_for_a_record_is_not_told_that_it_was_not_sent():
    """`_PURGE_INFLIGHT`: it may be in the log. `_INVALID_ARG` would mean that it certainly is not."""
    kept = Recording()
    nowhere = {"bootstrap.servers": "localhost:1", "log_level": 0, "interceptor.classes": [kept]}

    async def give_up() -> None:
        producer = interceptors.AIOProducer(nowhere | {"interceptor.close.timeout.ms": 0})
        future = await producer.produce("t", b"v")
        future.cancel()
        await producer.close()

    asyncio.run(give_up())

    assert kept.heard("on_acknowledgement") == [(b"v", "_PURGE_INFLIGHT")]


@pytest.mark.slow
def test_a_limit_on_closing_is_kept_by_all_producers_and_what_was_left_is_said(caplog: pytest.LogCaptureFixture):
    nowhere = {"bootstrap.servers": "localhost:1", "log_level": 0, "client.id": "mine", "interceptor.close.timeout.ms": 50}
    kept = Recording()
    for chain in ([], [kept]):
        producer = interceptors.Producer(nowhere | {"interceptor.classes": chain})
        producer.produce("t", b"v")
        producer.close()

    async def send() -> Any:
        producer = interceptors.AIOProducer(nowhere | {"interceptor.classes": [kept]})
        future = await producer.produce("t", b"w")
        await producer.close()
        return outcome(future.result)

    assert asyncio.run(send())[0] == "KafkaException"
    assert kept.heard("on_acknowledgement") == [(b"v", "_PURGE_QUEUE"), (b"w", "_PURGE_QUEUE")]
    left = "a producer (mine) was closed with 1 records that had no answer after 0.05 s"
    words = f"{left}: whether they are in the log is not known"
    assert [record.getMessage() for record in caplog.records] == [words] * 3
