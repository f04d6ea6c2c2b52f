#!/bin/sh
# Run a command beside one busy loop per core, and end the loops with it.
# usage: with_busy_cores.sh COMMAND...
loops=""
# KILL: a shell that was forked just now may lose a signal that it can catch
trap 'kill -KILL $loops 2>/dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
n=$(getconf _NPROCESSORS_ONLN)
while [ "$n" -gt 0 ]; do
	while :; do :; done &
	loops="$loops $!"
	n=$((n - 1))
done
"$@"
