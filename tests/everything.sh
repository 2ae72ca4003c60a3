#!/usr/bin/env bash
# All tests there are, in three lanes. Trials and whatever else is judged by the clock (`chaos`, `punctual`) come one after the
# other and have the machine first; they mostly wait. Beside them, and giving way, go the clusters on which nothing is timed,
# and, giving way to both, what needs no cluster: promtool's cases and Spark. Two cores are busy then from beginning to end,
# and a third of the time is saved.
#
#   tests/everything.sh PYTHON
set -uo pipefail
cd "$(dirname "$0")/.."
python=$1
timed="chaos or punctual"
places=(tests/cluster tests/browser examples)
said=$(mktemp -d)
lanes=()

# pytest at a priority: the higher the number, the more it gives way. Nobody is held to the time of a machine that is shared.
tests() { nice -n "$1" "$python" -m pytest --trial-runs runs "${@:2}"; }

untimed() { tests 5 --durations 15 -o timeout=600 -m "not ($timed or nightly)" "${places[@]}"; }

clusterless() {
  local failed=0
  tests 19 -q -o timeout=1500 -m slow tests/pure || failed=1
  tests 19 -q -o timeout=1500 --ignore tests/spark/test_real_runs.py tests/spark || failed=1
  return $failed
}

for lane in untimed clusterless; do
  "$lane" >"$said/$lane" 2>&1 &
  lanes+=($!)
done
trap 'for lane in "${lanes[@]}"; do kill "$lane" $(pgrep -P "$lane") 2>/dev/null; done; rm -rf "$said"' EXIT  # a lane first, or it would go on with its next

tests 0 --durations 15 -m "($timed) and not nightly" "${places[@]}"
failed=$?
for lane in "${lanes[@]}"; do
  wait "$lane" || failed=1
done
cat "$said"/*
# Last, for it judges every run that the others left.
tests 0 -q tests/spark/test_real_runs.py || failed=1
[ "$failed" -eq 0 ]
