# The commands of ./dev that build for another system, and run the programs in an emulator if there is one. ./dev
# sources this file.
# shellcheck shell=sh disable=SC2034,SC2154  # ./dev uses and sets the variables

# The emulator executes ARM64 instructions on this machine's memory. It cannot show errors that the memory order of x86
# hides.
arm64() {
    [ $# = 0 ] || wrong "'arm64' takes no argument, but was given '$1'"
    need_packages arm64
    lock_tree
    stage 'build for ARM64 with g++' stage_build arm64
    [ "$failed" -gt 0 ] || stage 'unit tests, emulated ARM64' stage_ctest arm64 unit
    totals
}

# Wine executes the instructions natively. So it says something about the order of memory accesses, but nothing about
# the speed of Windows. With the argument "lab", runs the tour of the lab instead of the tests.
windows() {
    case $#,${1:-} in
    0, | 1,lab) ;;
    *) wrong "windows: the only argument is lab, but was given '$*'" ;;
    esac
    need_packages windows
    lock_tree
    rm -f build/*/junit-*.xml
    if [ "${1:-}" = lab ]; then
        stage 'build of the lab for Windows' stage_build windows-lab ekiden-lab
        [ "$failed" -gt 0 ] || stage 'tour of the lab, Wine' stage_tour
    else
        stage 'build for Windows with g++' stage_build windows
        if [ "$failed" = 0 ]; then
            stage 'unit tests, Wine' stage_ctest windows unit
            stage 'examples, Wine' stage_ctest windows examples
        fi
    fi
    totals
}

# Each cell of the tour is one test. Cells that this system cannot have, or that were not built, are skipped. Some cells of
# other libraries take much longer in Wine than elsewhere.
stage_tour() {
    results=build/windows-lab/tour.json
    rm -f "$results"
    tools/wine.sh build/windows-lab/lab/ekiden-lab.exe --tour --limit 300 --out "$results" 9>&- || failed=1
    [ -f "$results" ] || return 0
    failed=$(grep -c '"status": "FAILED"' "$results") || true
    passed=$(grep -c '"status": "ok"' "$results") || true
    skipped=$(grep -c '"status": "not ' "$results") || true
    [ "$passed" -gt 0 ] || failed=1
}

# A build without a warning counts as a passed test.
stage_macos() { if build "$1"; then passed=1; else failed=1; fi; }

# No emulator of macOS exists here, so nothing is run. The first build uses the futex of macOS 14.4, and the second build
# uses the table for older systems.
macos() {
    [ $# = 0 ] || wrong "'macos' takes no argument, but was given '$1'"
    need_packages macos
    lock_tree
    python_tools macos
    for processor in arm64 x86_64; do
        stage "build for macOS on $processor with clang" stage_macos "macos-$processor"
    done
    totals
}
