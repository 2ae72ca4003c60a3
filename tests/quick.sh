#!/usr/bin/env bash
# The pure tests that take moments, for `make check`. Two processes share the files, dealt out by size: each collects its own
# half alone, where pytest-xdist has every worker collect all of them and carries each result across; a quarter quicker.
#
#   tests/quick.sh PYTHON
set -uo pipefail
cd "$(dirname "$0")/.."
python=$1
mapfile -t files < <(ls -S tests/pure/test_*.py tests/test_house.py)
mine=() other=()
for number in "${!files[@]}"; do
  case $((number % 4)) in 0 | 3) mine+=("${files[number]}") ;; *) other+=("${files[number]}") ;; esac
done
said=$(mktemp)
trap 'kill "$beside" 2>/dev/null; rm -f "$said"' EXIT

quick() { exec "$python" -m pytest -q -m "not slow" "$@"; }

(quick "${other[@]}") >"$said" 2>&1 &
beside=$!
(quick "${mine[@]}")
here=$?
wait "$beside"
there=$?
cat "$said"
[ $((here + there)) -eq 0 ]
