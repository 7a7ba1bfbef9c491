#!/bin/sh
# Runs bank_postgres with a private server and three workers, one of which is killed. Usage: bank_postgres.sh PROGRAM
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
psql "$connection" -q -c 'create table balances (account text primary key, balance bigint not null);
                           insert into balances select $$account $$ || i, 0 from generate_series(0, 9) i'

for name in one two three; do
    "$program" "$connection" work --metrics "$folder/$name" &
    workers="$workers $!"
done
"$program" "$connection" post
kill -9 "${workers##* }" # another worker continues with its accounts
until [ "$(psql "$connection" -Atc 'select count(*) from ekiden.record')" = 0 ]; do sleep 0.1; done
psql "$connection" -c 'select * from balances order by account'
for name in one two three; do
    until grep -q "ekiden_worker_records_done_total{worker=\"$name\"}" "$folder/$name"; do sleep 0.1; done
done
[ "$(psql "$connection" -Atc 'select count(*), sum(balance) from balances')" = '10|0' ]
