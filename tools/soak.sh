# shellcheck shell=sh
# The long runs of ./dev soak. Each run is a function. The script dev includes this file, and calls the functions in the
# repository's root.

soak_runs='tasks server seams postgres kafka_seeds'

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
