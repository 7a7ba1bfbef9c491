# shellcheck shell=sh
# The long runs of ./dev soak. Each run is a function. The script dev includes this file, and calls the functions in the
# repository's root.

soak_runs='tasks server seams postgres kafka_seeds kafka'

soak_arguments() {
    for run; do
        case " $soak_runs " in *" $run "*) ;; *) wrong "soak: unknown run '$run'; there are: $soak_runs" ;; esac
    done
}

soak_tasks() {
    build dev pool_stress lock_stress pool_random
    build/dev/tests/stress/pool_stress tasks 100000000
    build/dev/tests/stress/pool_stress pools 100000
    build/dev/tests/stress/lock_stress fifo 10000000
    build/dev/tests/stress/pool_random clock --seconds 300
}

soak_server() {
    build dev server_seeds
    build/dev/tests/unit/server_seeds 10000
}

soak_seams() {
    for preset in dev tsan asan; do
        build "$preset" seams
        "build/$preset/tests/seams/seams" --clock --seconds 1200
    done
}

# Three brokers and three workers, for each mode. KAFKA_SOAK holds further options (tests/kafka/books.hpp lists them). A
# short run: KAFKA_SOAK='--records 100000 --every-s 5' ./dev soak kafka
soak_kafka() {
    need_packages soak
    build dev kafka_soak kafka_worker
    wrong_modes=''
    for mode in exactly_once at_least_once effects; do
        mkdir -p "build/soak/$mode"
        # shellcheck disable=SC2016  # the inner shell expands them
        tools/kafka.sh with "build/soak/$mode/brokers" 3 -- env KAFKA_SOAK="${KAFKA_SOAK:-}" sh -c 'exec build/dev/tests/kafka/kafka_soak \
            --brokers "$KAFKA_BROKERS" --cluster "$KAFKA_DIR" --script tools/kafka.sh --folder "build/soak/$0" \
            --worker "$PWD/build/dev/tests/kafka/kafka_worker" --mode "$0" $KAFKA_SOAK' "$mode" 9>&- ||
            wrong_modes="$wrong_modes $mode"
    done
    [ -z "$wrong_modes" ] || die "soak: kafka: wrong:$wrong_modes"
}

# 10^6 records, three workers, kill -9 of workers and of the server.
soak_postgres() {
    build dev postgres_soak
    build/dev/tests/unit/postgres_soak 1000000 9>&-
}

# Simulated workers of Kafka, with crashes, rebalances, lost and late answers.
soak_kafka_seeds() {
    build dev kafka_seeds
    build/dev/tests/unit/kafka_seeds 10000
}
