#!/bin/sh
# Builds and runs a program that imports the module. Usage: import_module.sh WAY EKIDEN_SOURCE PREFIX SCRATCH
#   WAY: find_package (the library lies in PREFIX) or add_subdirectory
# Modules need CMake 3.28 and a compiler that finds the imports of a source. Without them, the test is skipped.
set -eu
way=$1 source=$2 prefix=$3 scratch=$4
cmake=${CMAKE:-cmake}

skip() {
    echo "skipped: $1"
    exit 77
}
version=$("$cmake" --version | sed -n '1s/.* //p')
printf '3.28\n%s\n' "$version" | sort -VC || skip "modules need CMake 3.28, but this is $version"
command -v clang++-19 >/dev/null || skip "there is no clang 19"
command -v clang-scan-deps-19 >/dev/null || skip "there is no clang-scan-deps-19 (package clang-tools-19)"

rm -rf "$scratch"
"$cmake" -S "$source/tests/install/module_consumer" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 \
    -DCMAKE_PREFIX_PATH="$prefix" -DWAY="$way" -DEKIDEN_SOURCE="$source" -DCMAKE_UNITY_BUILD=ON
"$cmake" --build "$scratch"
"$scratch/module_consumer"
