"""`python -m chaos.mutators RUN`: the mutation score of the judge on a clean run folder, which is only read."""

import argparse
import sys
from pathlib import Path

from chaos.mutators.score import mutants, told
from kernel.errors import SuiteError


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m chaos.mutators", description=__doc__)
    options.add_argument("run", type=Path, metavar="RUN", help="a run folder without an anomaly")
    options.add_argument("--json", action="store_true", help="answer in JSON")
    chosen = options.parse_args()
    try:
        found = list(mutants(chosen.run))
    except SuiteError as error:
        print(error.message, file=sys.stderr)
        return error.exit_code
    print(told(chosen.run, found, as_json=chosen.json))
    if any(mutant.missed for mutant in found):
        return 1
    return 0 if all(mutant.caught for mutant in found) else 3  # too small a history to show that all can be found


if __name__ == "__main__":
    sys.exit(main())
