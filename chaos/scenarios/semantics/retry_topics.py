"""Some records cannot be processed, a few of them ever: what becomes of them, and of the healthy ones behind them?

With a retry topic and a dead-letter topic every record ends once, as a result or as a dead letter, and nobody waits for
a failing one. Who skips loses exactly the failing ones; who tries again on the spot holds up all that come behind.
"""

from collections.abc import Mapping

from chaos import bounds
from chaos.evidence.account import Account
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.traffic.failing import DEAD, DONE, FLAKY_EVERY, HOP, MOST_ATTEMPTS, POISON_EVERY, Failing, hop, original, sent_on
from chaos.traffic.plans import WAYS, RetryPlan
from chaos.traffic.traffic import VALUES_EACH
from chaos.trial import Trial

APPLICATION = "application-1"
GIVEN_UP = 3  # records, until it is shown what becomes of them
ENDS = ("done", "dead", "skipped")
WORDS = {"done": "are processed", "retried": "tries were put off", "dead": "are dead letters", "skipped": "were skipped"}


def act(trial: Trial) -> None:
    orders, retry, results, dead = (trial.topic(name) for name in ("orders", "retry", "results", "dead-letters"))
    producer = trial.producer("producer-1", orders)
    delay_ms = int(trial.options["delay"])
    app = trial.consumer(
        APPLICATION, orders, retry, kind=RetryPlan, retry=retry, results=results, dead_letters=dead, batch=50,
        way=trial.options["mode"], attempts=_attempts(trial), delay_ms=delay_ms,
    )  # fmt: skip
    trial.settle()
    producer.rest()
    trial.traffic.wait_caught_up()
    first = VALUES_EACH + int(producer.status["sent"])
    bound = bounds.retry_due(trial.given(), delay_s=delay_ms / 1000)
    partitions = [(retry, partition) for partition in range(trial.topics[retry]["partitions"])]
    with trial.operation("failing-records", "some records begin to fail", affected=partitions, poll=bound) as work:
        app.order(f"fail-from {first}")
        trial.wait("failing", lambda: app.status.get("fails_from"), lambda now: now == first, what="told", timeout=30)
        trial.events.write("failing", first=first)
        producer.order("resume")
        _wait_failed(trial, app)
        work.seen(f"of the records so far {_in_words(app)}")
        trial.steady("going on with records that fail")
    trial.steady()
    producer.rest()
    _wait_ended(trial, app)


def _attempts(trial: Trial) -> int:
    return int(trial.options["attempts"])


def _wait_failed(trial: Trial, app: Client) -> None:
    given_up = "skipped" if trial.options["mode"] == "skip" else "dead"
    trial.wait(
        "given up", lambda: app.status["ended"], lambda ended: ended.get(given_up, 0) >= GIVEN_UP,
        what=f"{GIVEN_UP} records given up", timeout=patience_s(trial.options),
    )  # fmt: skip


def patience_s(options: Mapping[str, str]) -> float:
    """Until so many records were given up: they have to come, and each that fails waits for its tries; on the spot, one
    behind the other."""
    records = (GIVEN_UP + 1) * POISON_EVERY
    failing = records * (1 / POISON_EVERY + 2 / FLAKY_EVERY) if options["mode"] == "block" else 1
    return 90 + records / float(options["rate"]) + failing * int(options["attempts"]) * int(options["delay"]) / 1000


def _wait_ended(trial: Trial, app: Client) -> None:
    """Until every record that was acknowledged has come to an end, as what it may."""
    trial.wait(
        "all ended",
        lambda: sum(trial.traffic.acked().values()) - sum(app.status["ended"].get(end, 0) for end in ENDS),
        lambda open_: open_ == 0,
        what="every record processed, given up or skipped (how many are not is shown)",
        timeout=90 + patience_s(trial.options),
    )


def _in_words(app: Client) -> str:
    ended = app.status["ended"]
    return ", ".join(f"{ended[how]} {word}" for how, word in WORDS.items() if how in ended)


def conclude(trial: Trial, account: Account) -> None:
    first = next(event["first"] for event in trial.folder.events() if event["event"] == "failing")
    failing, inputs = Failing(first), {value for value in account.acked if value < HOP}
    done = {original(value) for value in account.drained if hop(value) == DONE}
    dead = {original(value) for value in account.drained if hop(value) == DEAD}
    failed = {value for value in inputs if failing.failures(value)}
    poison = {value for value in failed if failing.failures(value) >= _attempts(trial)}
    if trial.options["mode"] == "skip":
        never = inputs - done - dead
        words = f"Exactly the {len(failed)} records that failed are never processed"
        trial.expect("exact loss", never == failed, f"{words}; {len(never)} are not, {len(never & failed)} of them those.")
    else:
        words = f"Each of {len(inputs)} records ends once: {len(done)} are processed, {len(dead)} are dead letters"
        trial.expect("all ended", done | dead == inputs and not done & dead, f"{words}, {len(done & dead)} both.")
        words = f"Dead letters are exactly the {len(poison)} records that never succeed"
        trial.expect("dead letters", dead == poison, f"{words}; {len(dead)} are, {len(dead & poison)} of them those.")
    if trial.options["mode"] == "topics":
        _retries(trial, account, failing, failed)
    _held_up(trial, account, failing, inputs - failed)


def _retries(trial: Trial, account: Account, failing: Failing, failed: set[int]) -> None:
    most, delay_s = _attempts(trial) - 1, int(trial.options["delay"]) / 1000
    wanted = {sent_on(value, to) for value in failed for to in range(1, min(failing.failures(value), most) + 1)}
    sent = {s.value: s.invoked_ns or 0 for s in account.sends if 1 <= hop(s.value) < DONE and s.outcome == "ok"}
    words = f"Tried again are exactly those, as often as it takes: {len(wanted)} times"
    trial.expect("exact retries", sent.keys() == wanted, f"{words}; it was {len(sent)} times.")
    waited = [(read.completed_ns - sent[read.value]) / 1e9 for read in account.reads if read.value in sent]
    words = f"None is tried again before {delay_s:g} s are over"
    trial.expect(
        "delay kept", min(waited, default=delay_s) >= delay_s, f"{words}; the soonest {min(waited, default=0):.3f} s."
    )


def _held_up(trial: Trial, account: Account, failing: Failing, healthy: set[int]) -> None:
    acked = {sent.value: sent.completed_ns or 0 for sent in account.sends if sent.value in healthy}
    behind = [read for read in account.reads if read.value in acked and read.value >= (failing.first or 0)]
    waits = [(read.completed_ns - acked[read.value]) / 1e9 for read in behind]
    late, allowed = sum(wait > trial.settings.noise_s for wait in waits), trial.settings.noise_s
    words = f"No healthy record is held up for more than {allowed:g} s by one that fails"
    trial.expect(
        "none held up", not late, f"{words}; {late} of {len(waits)} are, the longest {max(waits, default=0):.1f} s."
    )


SCENARIO = Scenario(
    name="retry-topics",
    promise="some records fail: tried again from a retry topic, each ends once, as a result or as a dead letter; none waits",
    act=act,
    conclude=conclude,
    options={
        "mode": Option(
            "topics", WAYS, "a record that fails goes to a retry topic, is skipped, or is tried again on the spot"
        ),
        "attempts": Option("3", help="tries before a record is given up", least=2, most=MOST_ATTEMPTS),
        "delay": Option("300", help="milliseconds between two tries"),
    },
    twin={"mode": "skip"},
    twin_finds="exactly the records that failed are never processed",
    question="What becomes of records that an application cannot process, and of the healthy ones behind them?",
    steps=(
        "An application turns orders into results; from some record on, some fail once or twice and some always. Such a one "
        "goes to a retry topic, whose partition is paused until it is due; after the last try it is a dead letter."
    ),
    expectation=(
        "With mode=topics every record ends once: dead letters are exactly those that never succeed, all others are "
        "processed, no try comes before its time and no healthy record waits. With mode=skip exactly the failing ones are "
        "never processed; with mode=block everything arrives, but healthy records are held up, and it is measured how long."
    ),
)
