#!/bin/sh
# A debugger must show the content of debugger/stopped.expected for a stopped program and for its core file.
# Usage: debugger.sh PREFIX SCRATCH. The shared library with its debugging information is installed in PREFIX. CXX names
# the compiler.
set -eu
prefix=$1 scratch=$2
if ! gdb -nx -batch -ex run "$(command -v true)" 2>&1 | grep -q 'exited normally'; then
    echo "skipped: there is no gdb, or it may not run programs here"
    exit 77
fi
# shellcheck source=tests/install/debugger/compile.sh
. ./debugger/compile.sh

# Like for a library below /usr, except for the folder.
show() {
    gdb -nx -batch -iex "add-auto-load-safe-path $prefix" \
        -iex "add-auto-load-scripts-directory $prefix/share/gdb/auto-load" \
        -ex 'set print pretty on' -ex 'set print frame-info short-location' "$@" 2>&1
}
printf 'print %s\n' all pool paused fresh >"$scratch/print"
show -ex 'break stop_here' -ex run -x "$scratch/print" -ex "gcore $scratch/core" "$scratch/stopped" >"$scratch/running.log"
show -x "$scratch/print" "$scratch/stopped" "$scratch/core" >"$scratch/core.log"
# The system decides which worker runs which task, so their lines are sorted.
for what in running core; do
    sed -n '/^\$1 = /,$p' "$scratch/$what.log" | sed -e '/corefile/d' -e 's,(/[^:]*/,(,g' -e 's/@0x[0-9a-f]*: //' \
        -e 's/team-[0-9]/team-N/' \
        -e 's/\[0\] = .*root.*/[0] = the root,/' >"$scratch/$what.said"
    { grep -v team-N "$scratch/$what.said" || true; grep team-N "$scratch/$what.said" | sed 's/,$//' | LC_ALL=C sort; } >"$scratch/$what.seen"
    diff -u debugger/stopped.expected "$scratch/$what.seen"
done
