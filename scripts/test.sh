#!/usr/bin/env bash
# The tests, on so many workers. What went red among them, if it is no more than three, is asked once more, alone:
# a real browser on a busy machine is late now and then, a fault is red both times. What needed it is named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs="${1:-4}"
most=3

# Bytecode is kept even where the surroundings forbid it: without it every worker rewrites all tests, and every
# command that a test starts compiles all its modules.
unset PYTHONDONTWRITEBYTECODE
# Both times draw the same samples. Each commit draws others.
commit="$(git rev-parse --short=7 HEAD 2>/dev/null || printf '%07x' $((RANDOM * 4096)))"
export PERIPLUS_TEST_SEED="${PERIPLUS_TEST_SEED:-$((16#$commit))}"
pytest=(.venv/bin/python -m pytest -m "not nightly and not bench")
cache="$(mktemp -d -t periplus-tests-XXXXXX)"
trap 'rm -rf "$cache"' EXIT

code=0
"${pytest[@]}" -p tests.support.covering -n "$jobs" --dist worksteal -o cache_dir="$cache" || code=$?
red="$cache/v/cache/lastfailed"
# 1 is "some tests failed"; too little covered, a crash or a bad option end here.
[ "$code" -eq 1 ] && [ -s "$red" ] || exit "$code"
mapfile -t names < <(.venv/bin/python -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$red")
[ "${#names[@]}" -le "$most" ] || exit "$code"

echo
echo "tests: ${#names[@]} went red among $jobs workers; asked once more, alone"
"${pytest[@]}" --last-failed --last-failed-no-failures none -o cache_dir="$cache" || exit "$code"
printf 'tests: UNSTEADY, red among the others and green alone: %s\n' "${names[@]}"
