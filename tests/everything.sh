#!/usr/bin/env bash
# All tests there are. What needs processors and no punctuality (promtool's cases, Spark) runs beside what waits for Kafka, and
# gives way to it: a third of the time is saved, and no broker waits for a processor.
#
#   tests/everything.sh PYTHON
set -uo pipefail
cd "$(dirname "$0")/.."
python=$1
kept=(--trial-runs runs)
said=$(mktemp)
patient=(nice -n 19 "$python" -m pytest -q -o timeout=1500)
{ "${patient[@]}" -m slow tests/pure; slow=$?; "${patient[@]}" --ignore tests/spark/test_real_runs.py tests/spark && exit "$slow"; } >"$said" 2>&1 &
beside=$!
trap 'pkill -P "$beside" 2>/dev/null; kill "$beside" 2>/dev/null; rm -f "$said"' EXIT

"$python" -m pytest "${kept[@]}" tests/cluster tests/browser examples
clusters=$?
wait "$beside"
others=$?
cat "$said"
# Last, for it judges every run that the others left.
"$python" -m pytest "${kept[@]}" -q tests/spark/test_real_runs.py
real=$?
[ $((clusters + others + real)) -eq 0 ]
