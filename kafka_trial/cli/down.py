"""End a cluster and remove everything of it. Without a name: the only one, or all with --all."""

from typing import Annotated

import typer

from compose.state import clusters, demolish
from kafka_trial.cli.screen import out, progress
from kernel.errors import UsageError


def down(
    cluster: Annotated[str, typer.Argument(metavar="[CLUSTER]", help="Its name, as `up` and `status` print it.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Every cluster on this machine that is not owned by a running program.")
    ] = False,
) -> None:
    known = {state.cluster: state for state in clusters()}
    free = [name for name, state in known.items() if state.owner is None or state.orphaned]
    if everything:
        chosen = free
    elif cluster:
        if cluster not in known:
            raise UsageError(f"cluster {cluster!r} does not exist: known are {', '.join(known) or 'none'}.", value=cluster)
        if cluster not in free:
            owner = known[cluster].owner
            raise UsageError(
                f"cluster {cluster} belongs to process {owner[0] if owner else 0}, which still runs: end that instead."
            )
        chosen = [cluster]
    elif len(free) > 1:
        raise UsageError(f"there are {len(free)} clusters ({', '.join(free)}): name one, or use --all.")
    else:
        chosen = free
    with progress() as say:
        for name in chosen:
            say(f"removing {name}")
            demolish(known[name])
    out.print(f"Removed {', '.join(chosen)}." if chosen else "No cluster to remove.")
