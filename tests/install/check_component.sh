#!/bin/sh
# A user's own lock-free code, with the checker of an installed ekiden. The example's program must run. Its models must
# be explored without a failure. Each published bug in them, and each mutant, must be found. A failure must be
# repeatable.
# Usage: check_component.sh SOURCE PREFIX SCRATCH. CXX names the compiler.
set -eu
source=$1 prefix=$2 scratch=$3
rm -rf "$scratch"
cmake -S "$source/examples/own_lock_free" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE=Release
cmake --build "$scratch"
ctest --test-dir "$scratch" --output-on-failure --no-tests=error

# The output that the page "check your own lock-free code" shows for the first model.
"$scratch/first" >"$scratch/first.txt" && exit 1
grep 'data race: read by T0 is not ordered after the write by T1' "$scratch/first.txt"
grep 'first_model.cpp:12 .*write cell' "$scratch/first.txt"
replay=$(sed -n 's/^replay: //p' "$scratch/first.txt")
"$scratch/first" letter_arrives --replay "$replay" >"$scratch/replay.txt" && exit 1
grep 'data race: read by T0' "$scratch/replay.txt"

# A model that is already wrong would notice each mutant, and prove nothing.
"$scratch/first" --mutants >"$scratch/first-mutants.txt" && exit 1
grep 'own_lock_free/letter_arrives is wrong without a mutant' "$scratch/first-mutants.txt"

# The program of models runs without the sanitizers of its project. A program that is linked with -static must say that
# it cannot run. CTest must have a time limit for each test.
rebuild() {
    cmake -S "$source/examples/own_lock_free" -B "$scratch" "$@" >"$scratch/configure.txt"
    cmake --build "$scratch" --target first
}
rebuild -DCMAKE_CXX_FLAGS='-fsanitize=address,undefined'
"$scratch/first" >"$scratch/first.txt" && exit 1
grep 'data race: read by T0' "$scratch/first.txt"
rebuild -DCMAKE_CXX_FLAGS= -DCMAKE_EXE_LINKER_FLAGS=-static
"$scratch/first" 2>"$scratch/first.txt" && exit 1
grep 'linked with -static' "$scratch/first.txt"
ctest --test-dir "$scratch" --show-only=json-v1 | grep -c '"TIMEOUT"' | grep -qx 3
