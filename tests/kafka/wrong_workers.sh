#!/bin/sh
# Proves that the soak finds wrong workers: wrong_workers.sh KAFKA.SH FOLDER KAFKA_SOAK KAFKA_PLAIN_WORKER
#
# One broker serves all cases at once. A correct worker must pass in each mode. Each wrong worker must fail, and the
# soak must name its mistake. Exit status 77: there are no brokers on this machine.
set -eu
kafka=$1 folder=$2 soak=$3 worker=$4
if [ -z "${KAFKA_BROKERS:-}" ]; then
    mkdir -p "$folder"
    exec "$kafka" with "$folder/cluster" 1 -- "$0" "$@"
fi

# run NAME MODE WAY [OPTION...]: starts a case with a worker that is wrong in this way. In each case, the worker dies once,
# after the effects of a batch and before its commit. So nothing depends on luck. Except in the last case, the time of a
# stall does not matter. Output and exit status go to files.
run() {
    name=$1 mode=$2 command=${3:+--wrong $3}
    shift 3
    {
        rc=0
        "$soak" --brokers "$KAFKA_BROKERS" --folder "$folder" --name "$name" --mode "$mode" \
            --worker "$worker --crash-once $folder/$name.crash $command" --workers 1 --partitions 2 --records 1000 \
            --keys 50 --work-us 0 --poison 100 --slow-rank 0 --chaos none --session-ms 3000 --bound-ms 600000 "$@" \
            >"$folder/$name.out" 2>&1 || rc=$?
        echo "$rc" >"$folder/$name.rc"
    } &
}

# expect NAME STATUS [TEXT]: the case has ended with this status, and its output contains the text.
failures=0
expect() {
    if [ "$(cat "$folder/$1.rc")" = "$2" ] && grep -qF -e "${3:-mode}" "$folder/$1.out"; then
        echo "ok: $1"
    else
        echo "FAILED: $1 should end with status $2 and '${3:-}', but:"
        cat "$folder/$1.out"
        failures=$((failures + 1))
    fi
}

rm -f "$folder"/*.out "$folder"/*.rc "$folder"/*.log "$folder"/*.crash
run correct exactly_once ''
run correct-once-more at_least_once ''
run correct-effects effects ''
run early exactly_once early
run untransacted exactly_once untransacted
run tokenless effects tokenless
run drops exactly_once drops
run doubles exactly_once doubles
run backwards at_least_once backwards
run overlap at_least_once overlap --work-us 200
run stands at_least_once stands --bound-ms 4000
wait
expect correct 0
expect correct-once-more 0
expect correct-effects 0
expect early 1 'WRONG: lost records'
expect untransacted 1 'WRONG: doubled effects'
expect tokenless 1 'WRONG: doubled effects'
expect drops 1 'WRONG: lost records'
expect doubles 1 'WRONG: doubled effects'
expect backwards 1 'WRONG: violations of the order of a key'
expect overlap 1 'WRONG: functions of one key that overlap'
expect stands 1 'WRONG: a stall longer than its bound'
[ "$failures" = 0 ]
