"""Did anybody notice? What brokers that are restarted one by one must not cost, whyever they are restarted."""

from chaos.evidence.account import Account
from chaos.trial import Trial

# What a group's new coordinator answers until it has read all that it takes over. librdkafka asks twice more, within half a
# second, and then hands it to the application (the Java client asks for a minute): an application that commits again is
# served, so it is one that noticed only if it never was.
TRY_AGAIN = frozenset({"COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"})


def expect_unnoticed(trial: Trial, account: Account) -> None:
    refused = {sent.error for sent in account.sends if sent.outcome != "ok" and sent.error}
    again = committed_again(account)
    seen = sorted((trial.traffic.errors().keys() | refused) - again)
    words = f"No error reaches an application; {', '.join(seen) if seen else 'none did'}."
    if again:
        words += f" Commits that were answered {', '.join(sorted(again))} were made again, and accepted."
    trial.expect("no error", not seen, words)
    short = trial.below_min_isr()
    words = "No partition falls below its min ISR or is without a leader"
    trial.expect("min ISR", not short, f"{words}; {', '.join(sorted(short)) if short else 'none did'}.")


def committed_again(account: Account) -> frozenset[str]:
    """Answers of a coordinator that has just moved, if all that got them were commits, and each was accepted later."""
    got = {answer: [refused for refused in account.refused if refused.error == answer] for answer in TRY_AGAIN}
    return frozenset(answer for answer, all_of in got.items() if all_of and all(map(account.made_good, all_of)))
