#!/bin/sh
# Builds and runs a program that uses a part of ekiden with a library of its own.
# Usage: component.sh COMPONENT WAY EKIDEN_SOURCE PREFIX SCRATCH. CXX names the compiler.
#   WAY: find_package (the library lies in PREFIX) or add_subdirectory
set -eu
component=$1 way=$2 source=$3 prefix=$4 scratch=$5
rm -rf "$scratch"
cmake -S "$source/tests/install/component_consumer" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENT="$component" -DWAY="$way" -DEKIDEN_SOURCE="$source" -DCMAKE_UNITY_BUILD=ON
cmake --build "$scratch"
"$scratch/consumer"
