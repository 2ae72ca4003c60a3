"""From a storm that failed to the fewest of its faults that still fail: each try is a run of its own."""

from pathlib import Path
from typing import Annotated

import typer

from kafka_trial.cli.options import Provider, Runs
from kafka_trial.cli.screen import live, out
from kernel.errors import UsageError


def shrink(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a storm that failed.")],
    tries: Annotated[int, typer.Option("--tries", help="How many runs at most.")] = 30,
    confirm: Annotated[int, typer.Option("--confirm", help="How often steps must pass to count as harmless.")] = 1,
    provider: Provider = "auto",
    runs: Runs = Path("runs"),
) -> None:
    from chaos.evidence.folder import RunFolder
    from chaos.run import Wishes
    from chaos.run import run as run_scenario
    from chaos.schedule import Schedule, Step
    from chaos.shrink import shrink as shrink_steps

    folder = RunFolder(run)
    manifest, verdict = folder.manifest(), folder.verdict()
    if manifest.get("scenario") != "storm":
        raise UsageError(f"{run} is a run of {manifest.get('scenario')!r}: only a storm has a schedule to shrink.")
    if verdict.get("verdict") != "FAIL":
        raise UsageError(f"{run} ended in {verdict.get('verdict')}, not in FAIL: there is nothing to shrink.")
    saved = Schedule.load(run / "schedule.json")
    with live() as (say, watch):

        def fails(steps: list[Step]) -> bool:
            say(f"trying {len(steps)} of {len(saved.steps)} faults")
            wishes = Wishes(
                scenario="storm",
                options=manifest["options"],
                settings=manifest["settings"],
                seed=manifest["seed"],
                brokers=manifest["brokers"],
                kafka=manifest["kafka"],
                provider=provider,
                runs=runs,
                permitted=manifest["permitted"],
                schedule=Schedule(saved.seed, tuple(steps)),
            )
            tried, found = run_scenario(wishes, watch=watch)
            say(f"{found['verdict']}  {tried.path}")
            return bool(found["verdict"] == "FAIL")

        result = shrink_steps(saved.steps, fails, say, tries=tries, confirm=confirm)
    file = run / "schedule-shrunk.json"
    Schedule(saved.seed, tuple(result.steps)).save(file)
    out.print(f"{len(result.steps)} of {len(saved.steps)} faults are left after {result.tries} runs", markup=False)
    out.print(f"repeat it with: kafka-trial run storm --replay {file}", markup=False)
