#!/bin/sh
# shellcheck disable=SC2154  # private_postgres.sh sets folder and connection
# Runs kafka_effects with a private server and three workers, one of which is killed. tools/kafka.sh has started the broker.
# Usage: kafka_effects.sh PROGRAM
set -eu
program=$1
# shellcheck disable=SC1091  # checked by itself
. "$(dirname "$(readlink -f "$0")")/private_postgres.sh"
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
