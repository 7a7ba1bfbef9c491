#!/bin/sh
# An ekiden that was built without the checker must say so. Usage: no_check_component.sh SOURCE PREFIX SCRATCH
set -eu
source=$1 prefix=$2 scratch=$3
rm -rf "$scratch"
mkdir -p "$scratch"
if cmake -S "$source/examples/own_lock_free" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/output" 2>&1; then
    echo "find_package(ekiden COMPONENTS check) was satisfied"
    exit 1
fi
cat "$scratch/output"
tr -s ' \n' ' ' <"$scratch/output" | grep 'configure it with -DEKIDEN_CHECKER=ON'
