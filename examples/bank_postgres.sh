#!/bin/sh
# shellcheck disable=SC2154  # private_postgres.sh sets folder and connection
# Runs bank_postgres with a private server and three workers, one of which is killed. Usage: bank_postgres.sh PROGRAM
set -eu
program=$1
# shellcheck disable=SC1091  # checked by itself
. "$(dirname "$(readlink -f "$0")")/private_postgres.sh"
psql "$connection" -q -c 'create table balances (account text primary key, balance bigint not null);
                           insert into balances select $$account $$ || i, 0 from generate_series(0, 9) i'

for name in one two three; do
    "$program" "$connection" work --metrics "$folder/$name" &
    workers="$workers $!"
done
for name in one two three; do
    until grep -qs "ekiden_worker_records_done_total{worker=\"$name\"}" "$folder/$name"; do sleep 0.1; done
done
"$program" "$connection" post
kill -9 "${workers##* }" # another worker continues with its accounts
until [ "$(psql "$connection" -Atc 'select count(*) from ekiden.record')" = 0 ]; do sleep 0.1; done
psql "$connection" -c 'select * from balances order by account'
[ "$(psql "$connection" -Atc 'select count(*), sum(balance) from balances')" = '10|0' ]
