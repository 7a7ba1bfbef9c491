#!/bin/sh
# LLDB must show the content of debugger/stopped_lldb.expected for a stopped program and for its core file.
# Usage: lldb.sh PREFIX SCRATCH. The shared library with its debugging information is installed in PREFIX. CXX names
# the compiler.
set -eu
prefix=$1 scratch=$2
lldb=$(command -v lldb-19 || command -v lldb || true)
if [ -z "$lldb" ] || ! "$lldb" -x -b -o run "$(command -v true)" 2>&1 | grep -q 'exited with status = 0'; then
    echo "skipped: there is no lldb, or it may not run programs here"
    exit 77
fi
if ! "$lldb" -x -b -o 'script print(hasattr(lldb.SBType, "GetStaticFieldWithName"))' 2>&1 | grep -q '^True'; then
    echo "skipped: this lldb is older than version 18, or has no Python"
    exit 77
fi
# shellcheck source=tests/install/debugger/compile.sh
. ./debugger/compile.sh

show() {
    "$lldb" -x -b -o "command script import $prefix/share/ekiden/ekiden_lldb.py" "$@" 2>&1
}
print='frame variable all pool paused fresh'
show -o 'breakpoint set -n stop_here' -o run -o "$print" "$scratch/stopped" >"$scratch/running.log"
all=running
# Only GDB writes a core file with the whole heap.
if gdb -nx -batch -ex 'break stop_here' -ex run -ex "gcore $scratch/core" "$scratch/stopped" >"$scratch/gdb.log" 2>&1 \
    && [ -e "$scratch/core" ]; then
    show -c "$scratch/core" -o "$print" "$scratch/stopped" >"$scratch/core.log"
    all="running core"
fi
# The system decides which worker runs which task, so their lines are sorted.
for what in $all; do
    sed -n '/(lldb) frame variable/,$p' "$scratch/$what.log" | sed -e 1d -e '/^error: libekiden/d' -e 's,(/[^:]*/,(,g' -e 's/ = 0x[0-9a-f]*//' \
        -e 's/team-[0-9]/team-N/' -e 's/\[0\] = .*root.*/[0] = the root/' >"$scratch/$what.said"
    { grep -v team-N "$scratch/$what.said" || true; grep team-N "$scratch/$what.said" | LC_ALL=C sort; } >"$scratch/$what.seen"
    diff -u debugger/stopped_lldb.expected "$scratch/$what.seen"
done
