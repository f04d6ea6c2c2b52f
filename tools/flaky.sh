#!/usr/bin/env bash
# Repeats the tests of changed files: `tools/flaky.sh RUNS SINCE pytest...`. Ends at the first run that fails.
set -euo pipefail
runs=$1 since=$2
shift 2
base=$(git merge-base "$since" HEAD)
mapfile -t files < <({ git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard; } |
    grep -E '^tests/.*test_[^/]*\.py$' | sort -u)
if [ ${#files[@]} -eq 0 ]; then
    echo "no test has changed since $since; SINCE=COMMIT names another beginning"
    exit 0
fi
for run in $(seq "$runs"); do
    echo "run $run of $runs: ${files[*]}"
    "$@" "${files[@]}"
done
