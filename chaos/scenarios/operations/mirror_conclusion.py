"""What a fail-over to a mirror cost, said exactly: from the source's ledger, the copy's own, and what was seen between."""

from typing import Any

from chaos.evidence import copied
from chaos.evidence.account import Account, Read
from chaos.evidence.folder import RunFolder
from chaos.trial import Trial
from compose.mirror import mirrored

TARGET = "target"  # the folder of the copy's own evidence


def conclude(trial: Trial, account: Account) -> None:
    told = {event["event"]: event for event in trial.folder.events()}
    folder = RunFolder(trial.folder.path / TARGET)
    copy = Account.of(folder)
    killed, plan, moved = told["mirror-killed"], told["fail-over-plan"], told["failed-over"]
    _duplicates(trial, account, copy, killed)
    before = {read.value for read in account.read_by({"consumer-1"})}
    _missed_and_read_again(trial, account, copy, before, plan, _offsets(moved["starts"]))
    _in_time(trial, copy.reads, moved["t_ns"], told["fail-over-bound"])
    _judge_the_copy(trial, account, copy, folder)


def _offsets(told: dict[str, int]) -> dict[int, int]:
    return {int(partition): offset for partition, offset in told.items()}  # JSON knows no numbers for keys


def _duplicates(trial: Trial, account: Account, copy: Account, killed: dict[str, Any]) -> None:
    wanted = copied.copied_again(copy.final, account.sends, _offsets(killed["ends"]), _offsets(killed["flushed"]))
    there = copied.twice(copy.final)
    if trial.options["exactly_once"] == "enabled":
        words = f"With exactly-once support a killed MirrorMaker copies nothing twice; {len(there)} records are there twice"
        trial.expect("duplicates", not there and not wanted, f"{words}.")
        return
    words = f"On the target twice are exactly the {len(wanted)} records that the killed MirrorMaker had not written down"
    trial.expect("duplicates", there == wanted, f"{words}; {len(there)} are, {len(there & wanted)} of them those.")


def _missed_and_read_again(
    trial: Trial, account: Account, copy: Account, before: set[int], plan: dict[str, Any], starts: dict[int, int]
) -> None:
    missed, exposed = account.acked - copy.drained, set(trial.exposed)
    words = f"Everything that the source acknowledged is on the target; {len(missed)} records are not"
    trial.expect("nothing missed", not missed, f"{words}.")
    if exposed:
        words = f"Missed are exactly the {len(exposed)} records that nobody was there to copy"
        trial.expect("exact miss", missed == exposed, f"{words}; {len(missed & exposed)} of them are.")
    after, again = {read.value for read in copy.reads}, set(plan["again"])
    words = f"The group reads on the target exactly what stands at its translated offsets {starts} and beyond"
    trial.expect("offsets", after == copied.from_there_on(copy.final, starts), f"{words}; it read {len(after)} records.")
    words = f"Read again are exactly the {len(again)} records that it had read beyond its last checkpoint"
    trial.expect("read again", before & after == again, f"{words}; {len(before & after)} are.")
    skipped = account.acked - before - after - missed
    trial.expect("none skipped", not skipped, f"What is on the target and was not read before is read; {len(skipped)} not.")


def _in_time(trial: Trial, reads: list[Read], began_ns: int, bound: dict[str, Any]) -> None:
    lost_ns = max(begin for begin, _ in trial.windows.values())
    first: dict[int, int] = {}
    for read in reads:
        first[read.partition] = min(read.completed_ns, first.get(read.partition, read.completed_ns))
    took = (max(first.values(), default=began_ns) - began_ns) / 1e9
    dark = (max(first.values(), default=lost_ns) - lost_ns) / 1e9
    words = f"Once started, the group reads every partition within {bound['seconds']:.1f} s ({bound['why']})"
    told = f"it took {took:.1f} s, and {dark:.1f} s from the loss of the source"
    trial.expect("fail-over time", bool(first) and took <= bound["seconds"], f"{words}; {told}.")


def _judge_the_copy(trial: Trial, account: Account, copy: Account, folder: RunFolder) -> None:
    """The copy by the rules that hold for every log, from its own evidence."""
    from chaos.judge import judge

    run = trial.folder.manifest()
    names = {topic: mirrored(topic) for topic in trial.topics}
    once = trial.options["exactly_once"] == "enabled"
    kept = {key: run[key] for key in ("run_id", "scenario", "seed", "options", "kafka", "provider", "finished")}
    clients = {name: {"mode": "subscribe"} for name in {read.client for read in copy.reads}}
    manifest = kept | {"permitted": [] if once else ["duplicate"], "clients": clients}
    copied.write_beside(folder, manifest, copied.restated(account.sends, names, run["run_id"]), _loss(trial))
    verdict = judge(folder)
    folder.write_verdict(verdict)
    found = {name: count for name, count in verdict["counts"].items() if count}
    missed, there = len(account.acked - copy.drained), len(copied.twice(copy.final))
    wanted = {name: count for name, count in (("duplicate", there), ("unseen-write", missed)) if count}
    words = f"Judged as a log of its own, the copy has exactly {wanted or 'no anomalies'}"
    trial.expect("checkers agree", found == wanted, f"{words}; found are {found or 'none'}.")


def _loss(trial: Trial) -> list[dict[str, Any]]:
    """The fault that the copy's readers had to answer: its begin, its bite and its end, as the run has them."""
    events = trial.folder.events()
    (loss,) = [event for event in events if event["event"] == "fault" and event["fault"] == "lose-cluster"]
    return [event for event in events if event["event"] in ("fault", "bite", "heal") and event["id"] == loss["id"]]
