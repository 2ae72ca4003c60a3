#!/usr/bin/env bash
# All tests there are, in two lanes. Trials and whatever else is judged by the clock (`chaos`, `punctual`) come one after the
# other and have the machine first; they mostly wait. Beside them, and giving way, runs what takes as long as it takes:
# promtool's cases, Spark, and clusters on which nothing is timed. On two cores a quarter of the time is saved.
#
#   tests/everything.sh PYTHON
set -uo pipefail
cd "$(dirname "$0")/.."
python=$1
timed="chaos or punctual"
places=(tests/cluster tests/browser examples)
said=$(mktemp)

# pytest at a priority: the higher the number, the more it gives way. Nobody is held to the time of a machine that is shared.
tests() { nice -n "$1" "$python" -m pytest --trial-runs runs "${@:2}"; }

beside() {
  local failed=0
  tests 19 -q -o timeout=1500 -m slow tests/pure || failed=1
  tests 19 -q -o timeout=1500 --ignore tests/spark/test_real_runs.py tests/spark || failed=1
  tests 5 --durations 15 -o timeout=600 -m "not ($timed or nightly)" "${places[@]}" || failed=1
  return $failed
}

beside >"$said" 2>&1 &
lane=$!
trap 'kill "$lane" $(pgrep -P "$lane") 2>/dev/null; rm -f "$said"' EXIT  # the lane first, or it would go on with its next

tests 0 --durations 15 -m "($timed) and not nightly" "${places[@]}"
clusters=$?
wait "$lane"
others=$?
cat "$said"
# Last, for it judges every run that the others left.
tests 0 -q tests/spark/test_real_runs.py
real=$?
[ $((clusters + others + real)) -eq 0 ]
