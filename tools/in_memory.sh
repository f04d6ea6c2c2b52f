#!/bin/sh
# Run a command with its temporary files in memory, where the machine has room for them.
# The tests make hundreds of databases of up to 8 MB. On ext4, creating the files of one can take
# ten times the CPU that it takes in memory. With TMPDIR set, the files go there.
set -eu

ROOM_KIB=3000000  # three times what a run of all tests takes

room=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ -n "${TMPDIR:-}" ] || [ "${room:-0}" -lt "$ROOM_KIB" ]; then
    exec "$@"
fi
folder=$(mktemp -d /dev/shm/quietswap-XXXXXX)
chmod 755 "$folder"  # PostgreSQL does not run as root
# Databases are deleted in the background (tests/databases.py): a second try finds them gone.
trap 'rm -rf "$folder" 2>/dev/null || { sleep 1; rm -rf "$folder"; } || :' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
printf '#!/bin/sh\n' > "$folder/runs"
chmod +x "$folder/runs"
# Containers mount it so that no program in it can run; some tests run programs that they made.
if "$folder/runs" 2>/dev/null; then
    export TMPDIR="$folder"
fi
"$@"
