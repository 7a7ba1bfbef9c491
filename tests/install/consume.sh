#!/bin/sh
# Builds and runs the consumer in one way. Usage: consume.sh WAY EKIDEN_SOURCE PREFIX SCRATCH
#   WAY: find_package, pkg_config (both take the library from PREFIX) or add_subdirectory
# CXX names the compiler.
set -eu
way=$1 source=$2 prefix=$3 scratch=$4
consumer=$source/tests/install/consumer

rm -rf "$scratch"
mkdir -p "$scratch"
if [ "$way" = pkg_config ]; then
    pc=$(find "$prefix" -name ekiden.pc)
    PKG_CONFIG_PATH=$(dirname "$pc")
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046  # pkg-config's answer is a list of words
    "$CXX" -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Werror $(pkg-config --cflags ekiden) \
        "$consumer/main.cpp" -o "$scratch/consumer" $(pkg-config --libs ekiden)
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir ekiden) "$scratch/consumer"
else
    cmake -S "$consumer" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_PREFIX_PATH="$prefix" \
        -DWAY="$way" -DEKIDEN_SOURCE="$source" -DCMAKE_UNITY_BUILD=ON # the way of compiling does not matter here
    cmake --build "$scratch"
    "$scratch/consumer"
fi
