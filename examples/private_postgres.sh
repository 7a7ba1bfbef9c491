# shellcheck shell=sh
# Starts a PostgreSQL server of its own for the script that includes this file. Sets $folder and $connection. At the end, kills
# the processes in $workers and the server. Without the server's programs, ends the script as skipped.
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
if [ ! -x "$bin/initdb" ]; then
    echo "skipped: there is no PostgreSQL server (Debian: postgresql)"
    exit 77
fi
folder=$(mktemp -d /tmp/ekiden-bank-XXXXXX)
as_user() { # PostgreSQL refuses root
    if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}
cd /tmp || exit
workers=
cleanup() {
    for worker in $workers; do kill -9 "$worker" 2>/dev/null || true; done
    as_user "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT
[ "$(id -u)" != 0 ] || chown postgres "$folder"
as_user "$bin/initdb" -D "$folder/data" -A trust -U ekiden --no-sync >/dev/null
as_user "$bin/pg_ctl" -D "$folder/data" -o "-k $folder -h ''" -l "$folder/log" -w start >/dev/null
# shellcheck disable=SC2034  # for the including script
connection="host=$folder user=ekiden dbname=postgres"
