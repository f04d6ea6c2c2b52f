#!/bin/sh
# Puts a base backup and the settings of its recovery into DATA, which must be empty or not exist. Run it as the user of
# PostgreSQL while that is stopped; its next start replays BACKUPS/wal and then takes writes, on a new timeline:
#
#   restore.sh /var/backups/quietswap DATA ['2026-11-28 09:41:00+00']
#
# With a time, what was committed later is left out; without one, the whole archive is replayed. A time without an offset
# is UTC. If the archive ends before the time, PostgreSQL refuses to start: restore again without it.
set -eu
# Absolute, because PostgreSQL runs the restore_command in its own folder.
backups=$(cd "${1:?which folder has the backups?}" && pwd) data=${2:?which folder gets the data?} until=${3:-}
umask 077
contents=
if [ -e "$data" ]; then contents=$(ls -A "$data"); fi
if [ -n "$contents" ]; then
    echo "$data is not empty: move it away, it has what was not archived" >&2
    exit 1
fi
last=99999999T999999Z
if [ -n "$until" ]; then
    # In one form, because PostgreSQL would read it in the time zone of its settings.
    until=$(date -u -d "$until" '+%Y-%m-%d %H:%M:%S.%6N+00')
    last=$(date -u -d "$until" +%Y%m%dT%H%M%SZ)
    if [ "$(date -d "$until" +%s)" -gt "$(date +%s)" ]; then
        echo "$until has not been yet: leave the time out for all that is archived" >&2
        exit 1
    fi
fi
bases=$(ls "$backups/base")
base=$(echo "$bases" | sort | awk -v last="$last" '$0 <= last' | tail -n 1)
if [ -z "$base" ]; then
    echo "no backup in $backups/base had ended by ${until:-now}" >&2
    exit 1
fi
mkdir -p "$data"
# First, because PostgreSQL refuses to start with it and no restore_command: the copy may stop in its middle.
touch "$data/recovery.signal"
cp -a "$backups/base/$base/." "$data/"
chmod 0700 "$data"
settings=$data/postgresql.auto.conf
sed -i '/^restore_command/d; /^recovery_/d; /^primary_conninfo/d' "$settings"
{
    echo "restore_command = 'cp \"$backups/wal/%f\" \"%p\"'"
    # A standby made from this server would end its own recovery by these lines, and take writes.
    echo "recovery_end_command = 'sed -i \"/^restore_command/d; /^recovery_/d\" postgresql.auto.conf'"
    if [ -n "$until" ]; then
        echo "recovery_target_time = '$until'"
        echo "recovery_target_action = 'promote'"
    fi
} >> "$settings"
rm -f "$data/standby.signal"
echo "$base"
