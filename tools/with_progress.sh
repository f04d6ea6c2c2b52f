#!/bin/sh
# Run a command that is silent for long: say what it does, a dot every two seconds, and how long it
# took. What it prints is shown only where it fails, and its exit status is kept.
#   tools/with_progress.sh "installing Python packages (about a minute)" COMMAND [ARGUMENT...]
set -u
text=$1
shift
printf '%s ' "$text"
log=$(mktemp) || exit 1
began=$(date +%s)
"$@" >"$log" 2>&1 &
command=$!
trap 'kill "$command" 2>/dev/null; rm -f "$log"; exit 130' INT TERM
(while sleep 2 && kill -0 "$command" 2>/dev/null; do printf '.'; done) &
dots=$!
wait "$command"
status=$?
kill "$dots" 2>/dev/null
wait "$dots" 2>/dev/null
if [ "$status" -eq 0 ]; then
    printf ' done in %s s\n' "$(($(date +%s) - began))"
else
    printf ' failed\n'
    cat "$log" >&2
fi
rm -f "$log"
exit "$status"
