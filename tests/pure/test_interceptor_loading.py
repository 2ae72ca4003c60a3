"""Whatever can be wrong with an interceptor is told when the client is made, in one sentence, and never with a secret."""

import functools
import sys
from pathlib import Path
from typing import Any

import pytest

import interceptors
from interceptors import BadInterceptor, Consumer, Producer
from interceptors.contract import CONSUMER_HOOKS, PRODUCER_HOOKS, Interceptor
from interceptors.loading import close_timeout, load, split
from kernel.errors import UsageError
from tests.pure.recording_interceptor import MOCK, Recording

HERE = __name__
SECRET = "hunter2-do-not-tell"
NEVER = "on_send, on_acknowledgement, on_event: a producer would never call it."


def loaded(told: Any, hooks: tuple[str, ...] = PRODUCER_HOOKS, client: str = "producer") -> list[Any]:
    return load({"sasl.password": SECRET, "interceptor.classes": told}, hooks, client)


def sentence(told: Any, hooks: tuple[str, ...] = PRODUCER_HOOKS, client: str = "producer") -> str:
    with pytest.raises(BadInterceptor) as failed:
        loaded(told, hooks, client)
    assert SECRET not in str(failed.value)
    return str(failed.value)


def with_hook(name: str, hook: Any) -> Any:
    return type("Odd", (), {"__module__": HERE, name: hook})()


# ---- what can be given --------------------------------------------------------------------------------------------


class Mine(Recording):
    made = 0

    def __init__(self) -> None:
        super().__init__()
        Mine.made += 1


class NotOne:
    """A class that has nothing to do with it."""


a_function = len
MINE = f"{HERE}.Mine"


@pytest.mark.parametrize(
    "told",
    [MINE, f" {MINE} , ", [MINE], (MINE,), [Mine], [f"  {MINE} "]],
    ids=["name", "text", "list", "tuple", "class", "spaces"],
)
def test_a_name_a_class_a_list_or_a_text_with_commas(told: Any):
    assert [type(each) for each in loaded(told)] == [Mine]


def test_ready_instances_are_taken_as_they_are_and_the_order_is_kept():
    one = Recording()

    found = loaded([MINE, one, Mine])

    assert found[1] is one and [type(each) for each in found] == [Mine, Recording, Mine]
    assert [type(each) for each in loaded(f"{MINE},{HERE}.Recording")] == [Mine, Recording]


@pytest.mark.parametrize("told", [None, "", " , ", [], ()])
def test_nothing_is_no_interceptor(told: Any):
    assert loaded(told) == []


def test_what_is_not_inherited_is_enough():
    class Duck:
        def on_send(self, record: Any) -> Any:
            return record

    assert len(loaded([Duck])) == 1


def test_keys_of_interceptors_are_kept_from_librdkafka():
    theirs, everything = split({"interceptor.classes": "x", "interceptor.mine.deep": 1, "client.id": "c", "interceptors": 5})

    assert theirs == {"client.id": "c", "interceptors": 5}
    assert everything.keys() == {"interceptor.classes", "interceptor.mine.deep", "client.id", "interceptors"}


# ---- of the wrong type --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("told", "words"), [
    (5, "5, of type int"),
    ({"a": 1}, "{'a': 1}, of type dict"),
    (b"a.B", "b'a.B', of type bytes"),
    (True, "True, of type bool"),
    ({"a.B"}, "{'a.B'}, of type set"),
])  # fmt: skip
def test_a_configuration_of_the_wrong_type(told: Any, words: str):
    assert sentence(told) == (
        f"interceptor.classes is {words}: give a list of classes or of their dotted names, "
        "or the names in one text with commas between them."
    )


@pytest.mark.parametrize(("told", "words"), [
    (None, "None, of type NoneType"), (5, "5, of type int"), (b"a.B", "b'a.B', of type bytes"), ([], "[], of type list"),
    ({}, "{}, of type dict"), ((), "(), of type tuple"), (1.5, "1.5, of type float"), (True, "True, of type bool"),
])  # fmt: skip
def test_a_list_that_holds_something_else(told: Any, words: str):
    assert sentence([MINE, told]) == (
        f"interceptor.classes holds {words}: give a class, its dotted name, or an interceptor."
    )


# ---- names --------------------------------------------------------------------------------------------------------


def test_a_name_without_a_module():
    assert sentence("Mine") == "interceptor 'Mine' has no module: give its whole name, such as my_app.tracing.Mine."
    assert sentence([""]) == "interceptor '' has no module: give its whole name, such as my_app.tracing.Mine."


def test_a_class_that_its_module_does_not_have():
    assert sentence(f"{HERE}.Nobody") == f"interceptor '{HERE}.Nobody' does not exist: module {HERE} has no Nobody."


def test_a_module_that_is_not_there():
    assert sentence("no_such_module.Mine") == (
        "interceptor 'no_such_module.Mine' cannot be imported: ModuleNotFoundError: No module named 'no_such_module'."
    )
    assert sentence("json.no_such_part.Mine") == (
        "interceptor 'json.no_such_part.Mine' cannot be imported: ModuleNotFoundError: No module named 'json.no_such_part'."
    )


@pytest.mark.parametrize(("line", "words"), [
    ("1 / 0", "ZeroDivisionError: division by zero"),
    ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
    ("None.nothing", "AttributeError: 'NoneType' object has no attribute 'nothing'"),
    ("raise SystemExit('as a script')", "SystemExit: as a script"),
    ("def broken(:", "SyntaxError: invalid syntax (broken_module.py, line 1)"),
])  # fmt: skip
def test_a_module_that_fails_when_it_is_imported(line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "broken_module.py").write_text(f"{line}\n")
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("broken_module", None)

    assert sentence("broken_module.Mine") == f"interceptor 'broken_module.Mine' cannot be imported: {words}."


def test_a_name_of_something_that_is_no_class():
    assert sentence(f"{HERE}.MINE") == f"interceptor '{HERE}.MINE' is no class but a str: name a class."
    assert sentence(f"{HERE}.a_function").endswith("is no class but a builtin_function_or_method: name a class.")
    assert sentence(f"{HERE}.HERE").startswith(f"interceptor '{HERE}.HERE' is no class but a str")


# ---- classes ------------------------------------------------------------------------------------------------------


def test_a_class_without_the_methods():
    assert sentence(f"{HERE}.NotOne") == f"interceptor {HERE}.NotOne has none of {NEVER}"
    assert sentence([object()]) == f"interceptor builtins.object has none of {NEVER}"
    assert sentence([Interceptor]) == f"interceptor interceptors.contract.Interceptor has none of {NEVER}"


def test_one_that_is_for_the_other_kind_of_client():
    class Reads(Interceptor):
        def on_consume(self, records: list[Any]) -> list[Any]:
            return records

    assert "has none of on_send, on_acknowledgement, on_event: a producer would never call it." in sentence([Reads])
    assert len(loaded([Reads], CONSUMER_HOOKS, "consumer")) == 1
    assert "has none of on_poll, on_consume, on_commit, on_event: a consumer would never call it." in sentence(
        [with_hook("on_send", lambda self, record: record)], CONSUMER_HOOKS, "consumer"
    )


def test_a_class_that_needs_arguments():
    class Needs(Recording):
        def __init__(self, what: str) -> None:
            super().__init__()

    assert sentence([Needs]) == (
        f"interceptor {Needs.__module__}.{Needs.__qualname__} cannot be made: "
        f"TypeError: {Needs.__qualname__}.__init__() missing 1 required positional argument: 'what'. "
        "It is made without arguments; what it needs to know comes by configure()."
    )


def test_a_class_that_cannot_be_made():
    class Fails(Recording):
        def __init__(self) -> None:
            raise OSError("no disk.")

    assert "Fails cannot be made: OSError: no disk. It is made without" in sentence([Fails])


# ---- hooks --------------------------------------------------------------------------------------------------------

ODD = f"interceptor {HERE}.Odd: "


@pytest.mark.parametrize(("hook", "odd", "words"), [
    ("on_send", lambda self: None, "on_send does not fit, too many positional arguments: it is called as on_send(record)."),
    ("on_send", lambda self, record, more: None,
     "on_send does not fit, missing a required argument: 'more': it is called as on_send(record)."),
    ("on_acknowledgement", lambda self, report: None,
     "on_acknowledgement does not fit, too many positional arguments: it is called as on_acknowledgement(report, error)."),
    ("on_send", 5, "on_send is an int and not a method: it is called as on_send(record)."),
    ("on_send", 0, "on_send is an int and not a method: it is called as on_send(record)."),
    ("on_send", "", "on_send is a str and not a method: it is called as on_send(record)."),
    ("on_event", [], "on_event is a list and not a method: it is called as on_event(event)."),
])  # fmt: skip
def test_a_hook_of_the_wrong_shape(hook: str, odd: Any, words: str):
    assert sentence([with_hook(hook, odd)]) == ODD + words


@pytest.mark.parametrize("hook", ["configure", "close"])
def test_the_hooks_of_both_ends_are_looked_at_too(hook: str):
    odd = type("Odd", (Recording,), {"__module__": HERE, hook: lambda self, one, two: None})()

    assert sentence([odd]).startswith(f"{ODD}{hook} does not fit, missing a required argument: ")


async def coroutine(self: Any, record: Any) -> Any:
    return record


async def async_generator(self: Any, record: Any) -> Any:
    yield record


def generator(self: Any, record: Any) -> Any:
    yield record


class CallsLater:
    async def __call__(self, record: Any) -> Any:
        return record


@pytest.mark.parametrize(("odd", "kind"), [
    (coroutine, "a coroutine"), (generator, "a generator"), (async_generator, "a generator"),
    (functools.partialmethod(coroutine), "a coroutine"), (CallsLater(), "a coroutine"),
], ids=["coroutine", "generator", "async generator", "partial", "object"])  # fmt: skip
def test_a_hook_that_would_never_run(odd: Any, kind: str):
    assert sentence([with_hook("on_send", odd)]) == (
        f"{ODD}on_send is {kind} and would never run: hooks are plain methods, of asyncio clients too."
    )


class CallsNow:
    def __call__(self, record: Any) -> Any:
        return record


@pytest.mark.parametrize("fine", [
    lambda self, record: record, lambda self, *what: what[0], lambda self, record, more=1: record,
    staticmethod(lambda record: record), classmethod(lambda cls, record: record), CallsNow(), None,
], ids=["plain", "any", "default", "static", "class", "object", "none"])  # fmt: skip
def test_a_hook_that_fits(fine: Any):
    one = with_hook("on_send", fine)
    type(one).on_event = lambda self, event: None

    assert loaded([one]) == [one]


# ---- configure ----------------------------------------------------------------------------------------------------


class Refuses(Recording):
    def configure(self, config: Any) -> None:
        raise LookupError("no such thing.")


class RefusesPolitely(Recording):
    def configure(self, config: Any) -> None:
        raise UsageError("interceptor.mine is 5: give a text.")


def test_configure_that_fails_is_told_and_those_made_before_are_closed_again():
    before, failing, after = Recording(), Refuses(), Recording()

    assert sentence([before, failing, after]) == (
        f"interceptor {HERE}.Refuses cannot be configured: LookupError: no such thing."
    )
    assert [each.closed for each in (before, failing, after)] == [1, 1, 0]


def test_configure_that_says_what_is_wrong_in_our_own_way_is_not_rewritten():
    before = Recording()
    with pytest.raises(UsageError, match=r"^interceptor\.mine is 5: give a text\.$"):
        loaded([before, RefusesPolitely])

    assert before.closed == 1


def test_any_trouble_closes_those_made_before_even_if_closing_fails():
    class Clings(Recording):
        def close(self) -> None:
            super().close()
            raise OSError("stuck")

    before = [Clings(), Recording()]

    assert "does not exist" in sentence([*before, f"{HERE}.Nobody"])
    assert [each.closed for each in before] == [1, 1]


@pytest.mark.parametrize("secret", ["sasl.password", "ssl.key.password", "sasl.oauthbearer.client.secret", "ssl.key.pem"])
def test_an_interceptor_that_tells_the_configuration_in_its_error_tells_no_secret(secret: str):
    class Blabs(Recording):
        def configure(self, config: Any) -> None:
            raise ValueError(f"cannot work with {dict(config)}")

    with pytest.raises(BadInterceptor) as failed:
        load({secret: SECRET, "client.id": "me", "interceptor.classes": [Blabs]}, PRODUCER_HOOKS, "producer")

    assert SECRET not in str(failed.value) and "'client.id': 'me'" in str(failed.value)
    assert failed.value.__cause__ is None and failed.value.__suppress_context__, "its traceback would tell it"


# ---- the limit on closing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("told", "seconds"), [(None, None), (0, 0), (1500, 1.5), ("250", 0.25), (0.5, 0.0005)])
def test_a_limit_on_closing(told: Any, seconds: Any):
    assert close_timeout({"interceptor.close.timeout.ms": told}) == seconds
    assert close_timeout({}) is None


@pytest.mark.parametrize("told", [-1, "soon", "", True, False, float("inf"), float("nan"), [], {}, b"x", 1j], ids=str)
@pytest.mark.parametrize("make", [Producer, Consumer])
def test_a_limit_on_closing_that_is_none(told: Any, make: Any):
    with pytest.raises(BadInterceptor) as failed:
        make(MOCK | {"group.id": "g", "interceptor.close.timeout.ms": told, "interceptor.classes": [Refuses]})

    assert str(failed.value) == f"interceptor.close.timeout.ms is {told!r}: give milliseconds, 0 or more."


# ---- by the clients -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [interceptors.Producer, interceptors.SerializingProducer])
def test_a_producer_that_cannot_load_them_is_not_made(make: Any):
    with pytest.raises(
        ValueError, match=r"^interceptor 'a\.B' cannot be imported: ModuleNotFoundError: No module named 'a'\.$"
    ):
        make(MOCK | {"interceptor.classes": "a.B"})


def test_a_consumer_says_what_a_consumer_calls():
    with pytest.raises(UsageError, match=r"a consumer would never call it\.$"):
        Consumer(MOCK | {"group.id": "g", "interceptor.classes": [NotOne]})
