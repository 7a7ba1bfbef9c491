#!/bin/sh
# A user who requests an incompatible version must get an error. Usage: refuse_version.sh SOURCE PREFIX SCRATCH
set -eu
source=$1 prefix=$2 scratch=$3

rm -rf "$scratch"
mkdir -p "$scratch"
if cmake -S "$source/tests/install/consumer" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_PREFIX_PATH="$prefix" -DWAY=find_package -DWANTED_VERSION=99.0 >"$scratch/output" 2>&1; then
    echo "find_package(ekiden 99.0) was satisfied"
    exit 1
fi
cat "$scratch/output"
grep -q 'requested version "99.0"' "$scratch/output"
