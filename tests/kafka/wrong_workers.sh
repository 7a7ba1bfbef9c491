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

# run NAME MODE WORKER-COMMAND [OPTION...]: starts a case. Its output and its exit status go to files.
run() {
    name=$1 mode=$2 command=$3
    shift 3
    {
        rc=0
        "$soak" --brokers "$KAFKA_BROKERS" --folder "$folder" --name "$name" --mode "$mode" --worker "$command" \
            --records 3000 --keys 100 --posters 2 --poison 200 --slow-rank 0 --workers 2 --partitions 4 --session-ms 6000 --transaction-ms 5000 "$@" \
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

rm -f "$folder"/*.out "$folder"/*.rc "$folder"/*.log
kills='--chaos kill,end --every-s 3 --work-us 2000 --records 5000'
patient='--bound-ms 60000' # the machine is busy with all cases
# shellcheck disable=SC2086  # lists of words
{
    run correct exactly_once "$worker" $kills $patient
    run correct-once-more at_least_once "$worker" $kills $patient
    run correct-effects effects "$worker" $kills $patient
    run early exactly_once "$worker --wrong early" $kills
    run untransacted exactly_once "$worker --wrong untransacted" $kills
    run tokenless effects "$worker --wrong tokenless" $kills
    run drops exactly_once "$worker --wrong drops" --chaos none --work-us 0
    run doubles exactly_once "$worker --wrong doubles" --chaos none --work-us 0
    run backwards at_least_once "$worker --wrong backwards" --chaos none --work-us 0
    run overlap at_least_once "$worker --wrong overlap" --chaos none --work-us 200
    run stands at_least_once "$worker --wrong stands" --chaos none --work-us 0 --bound-ms 7000
}
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
