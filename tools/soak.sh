# shellcheck shell=sh
# The long runs of `./dev soak`. Read by dev, which defines the other functions. Each function soak_NAME is the run
# `./dev soak NAME`.

run_soak() {
    case $#,${1:-} in
    0,) ;;
    1,postgres)
        "soak_$1"
        return
        ;;
    *) wrong "soak: the only argument is the name of a run (postgres), but was given '$*'" ;;
    esac
    need_packages test
    lock_tree
    build dev pool_stress lock_stress pool_random server_seeds seams
    build tsan seams
    build asan seams
    build/dev/tests/stress/pool_stress tasks 100000000
    build/dev/tests/stress/pool_stress pools 100000
    build/dev/tests/stress/lock_stress fifo 10000000
    build/dev/tests/stress/pool_random clock --seconds 300
    build/dev/tests/unit/server_seeds 10000
    for preset in dev tsan asan; do "build/$preset/tests/seams/seams" --clock --seconds 1200; done
}

# 10^6 records, three workers, kill -9 of workers and of the server.
soak_postgres() {
    need_packages test
    lock_tree
    build dev postgres_soak
    build/dev/tests/unit/postgres_soak 1000000 9>&-
}
