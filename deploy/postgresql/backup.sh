#!/bin/sh
# Makes a base backup BACKUPS/base/TIME, TIME being its end in UTC, checks it, and keeps the newest KEEP (default 7).
# Segments of BACKUPS/wal that only older backups need are deleted. Run it as the user of PostgreSQL, daily:
#
#   backup.sh /var/backups/quietswap [KEEP]
#
# PGHOST and the other variables of libpq name the server; the role needs REPLICATION.
set -eu
backups=${1:?which folder?} keep=${2:-7}
case $keep in *[!0-9]* | 0*)
    echo "KEEP is a number from 1 on, not $keep" >&2
    exit 1 ;;
esac
umask 077
# Debian has some of the programs there only.
PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
mkdir -p "$backups/base"
part=$backups/base/.part
rm -rf "$part"
pg_basebackup --pgdata="$part" --checkpoint=fast --wal-method=stream --no-password
pg_verifybackup --quiet "$part"
base=$backups/base/$(date -u +%Y%m%dT%H%M%SZ)
mv "$part" "$base"
ls "$backups/base" | sort -r | tail -n "+$((keep + 1))" | while read -r old; do
    rm -rf "$backups/base/$old"
done
oldest=$backups/base/$(ls "$backups/base" | sort | head -n 1)
first=$(sed -n 's/^START WAL LOCATION: .*(file \(.*\))$/\1/p' "$oldest/backup_label")
if [ -d "$backups/wal" ]; then pg_archivecleanup "$backups/wal" "$first"; fi
echo "$base"
