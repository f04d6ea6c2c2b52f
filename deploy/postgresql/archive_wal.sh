#!/bin/sh
# Copies one finished segment of the write-ahead log into BACKUPS/wal, for PostgreSQL's archive_command:
#
#   archive_command = '/usr/local/lib/quietswap/archive_wal.sh %p %f /var/backups/quietswap'
#
# Exit code 0 means that the copy is complete and on the disk; after any other one PostgreSQL keeps the segment and tries
# again. A segment that is there with other contents is never overwritten: two clusters use one folder.
set -eu
segment=$1 copy=$3/wal/$2
case $3 in /*) ;; *)
    echo "$3 is no absolute path: it would be a folder below the data" >&2
    exit 1 ;;
esac
if [ -e "$copy" ]; then
    cmp "$segment" "$copy"
    exit
fi
mkdir -p "$3/wal"
cp "$segment" "$copy.part"
sync "$copy.part"
mv "$copy.part" "$copy"
sync "$3/wal"
