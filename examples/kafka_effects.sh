#!/bin/sh
# Runs kafka_effects with a private server and three workers, one of which is killed. tools/kafka.sh has started the broker.
# Usage: kafka_effects.sh PROGRAM
set -eu
program=$1
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
if [ ! -x "$bin/initdb" ]; then
    echo "skipped: there is no PostgreSQL server (Debian: postgresql)"
    exit 77
fi
folder=$(mktemp -d /tmp/ekiden-bank-XXXXXX)
as_user() { # PostgreSQL refuses root
    if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}
cd /tmp
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
connection="host=$folder user=ekiden dbname=postgres"
psql "$connection" -q -c 'create table balances (account text primary key, balance bigint not null,
                                                last bigint not null, applied bigint not null)'
"$(dirname "$0")/../tools/kafka.sh" topic "$KAFKA_DIR" accounts 6

for name in one two three; do
    "$program" "$KAFKA_BROKERS" work "$connection" "$name" "$folder/$name" &
    workers="$workers $!"
done
"$program" "$KAFKA_BROKERS" post
until [ "$(psql "$connection" -Atc 'select sum(applied) from balances')" -gt 200 ] 2>/dev/null; do sleep 0.1; done
kill -9 "${workers##* }" # the others get its partitions, and some of its requests again
until [ "$(psql "$connection" -Atc 'select sum(applied) from balances')" = 1000 ]; do sleep 0.1; done
sleep 1 # a request that is applied twice would come now
psql "$connection" -c 'select * from balances order by account'
[ "$(psql "$connection" -Atc 'select count(*), sum(balance), sum(applied) from balances')" = '10|0|1000' ]
