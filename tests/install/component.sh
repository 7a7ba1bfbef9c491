#!/bin/sh
# Builds and runs programs that use parts of ekiden with a library of their own.
# Usage: component.sh WAY EKIDEN_SOURCE PREFIX SCRATCH COMPONENT... CXX names the compiler.
#   WAY: find_package (the library lies in PREFIX) or fetch_content
set -eu
way=$1 source=$2 prefix=$3 scratch=$4
shift 4
rm -rf "$scratch"
components=$(echo "$*" | tr ' ' ';')
cmake -S "$source/tests/install/component_consumer" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS="$components" -DWAY="$way" -DEKIDEN_SOURCE="$source" \
    -DCMAKE_UNITY_BUILD=ON
cmake --build "$scratch"
for component in "$@"; do
    "$scratch/${component}_consumer"
done
