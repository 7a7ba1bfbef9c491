# The stages of ./dev test, and of the tests in an emulator. ./dev sources this file.
# shellcheck shell=sh disable=SC2034,SC2154  # ./dev sets some variables and uses others

total_passed=0 total_failed=0 total_skipped=0 summary=''

# stage TITLE FUNCTION [ARGUMENT...]: runs a stage. The function sets passed, failed and skipped.
stage() {
    title=$1
    shift
    printf '\n==== %s\n' "$title"
    stage_started=$(date +%s)
    passed=0 failed=0 skipped=0
    "$@"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
    line=$(printf '%-44s %5d passed %5d failed %5d skipped %5d s' \
        "$title" "$passed" "$failed" "$skipped" $(($(date +%s) - stage_started)))
    echo "---- $line"
    summary="$summary$line
"
}

# stage_build PRESET [TARGET...]: builds. A success is not counted. A failure counts as one failed test.
stage_build() { build "$@" || failed=1; }

# stage_ctest PRESET LABEL [PART]: runs the tests of a build with the label. "all" means all tests, and "unit" means all
# tests without a label, limited to PART such as 'sync|future'. The models are counted one by one, by stage_models. Many
# tests only wait, so four more than there are jobs run at a time. If ctest fails without naming a test, this counts as
# one failed test.
stage_ctest() {
    folder=build/$1 junit=$PWD/build/$1/junit-$2.xml rc=0
    case $2 in
    all) set -- ;;
    unit) set -- ${3:+-R "^($3):"} -LE '^(rules|headers|examples|install)$' ;;
    *) set -- -L "^$2\$" ;;
    esac
    rm -f "$junit"
    set -- "$@" -E '^check: all models$' -j $((jobs + 4)) --no-tests=error --output-on-failure
    ctest --test-dir "$folder" "$@" --output-junit "$junit" 9>&- || rc=$?
    if [ -f "$junit" ]; then
        failed=$(junit_count failures)
        skipped=$(($(junit_count skipped) + $(junit_count disabled)))
        passed=$(($(junit_count tests) - failed - skipped))
    fi
    [ "$rc" = 0 ] || [ "$failed" -gt 0 ] || failed=1
}
junit_count() { sed -n "/<testsuite/,/>/s/.*[[:space:]]$1=\"\\([0-9]*\\)\".*/\\1/p" "$junit" | head -n 1; }

# stage_models SECONDS FOLDER...: explores each model for at most that time. Each model is one test. The checker's last
# line counts them: "N models, N wrong; ...".
stage_models() {
    log=build/dev/models.log status=build/dev/models.status seconds=$1
    shift
    rm -f "$status"
    { build/dev/check/ekiden-check "$@" --seconds "$seconds" --processes "$jobs" 9>&- && echo good >"$status"; } |
        tee "$log"
    counts=$(sed -n 's/^\([0-9]*\) models, \([0-9]*\) wrong;.*/\1 \2/p' "$log")
    if [ -n "$counts" ]; then
        failed=${counts#* }
        passed=$((${counts% *} - failed))
    fi
    [ -f "$status" ] && [ "$passed" -gt 0 ] || [ "$failed" -gt 0 ] || failed=1
}

# Prints the failed tests, the stages and the sums. Returns whether no test has failed.
totals() {
    [ "$total_failed" = 0 ] ||
        find build -maxdepth 2 -name 'junit-*.xml' -print0 | sort -z | xargs -0r "$python" -B tools/failed_tests.py ||
        say "the lists of failed tests could not be read"
    printf '\n%s%s passed, %s failed, %s skipped' "$summary" "$total_passed" "$total_failed" "$total_skipped"
    printf ' in %d s\n' $(($(date +%s) - started))
    echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
    [ "$total_failed" = 0 ]
}
