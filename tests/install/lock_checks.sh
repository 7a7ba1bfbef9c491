#!/bin/sh
# The locks are checked in the configuration Debug and in no other. This also holds after a change of the configuration
# in a build folder, and with several configurations in one folder. An installed library states its setting, whatever
# the configuration of its user.
# Usage: lock_checks.sh SOURCE PREFIX SCRATCH
set -eu
source=$1 prefix=$2 scratch=$3

rm -rf "$scratch"
mkdir -p "$scratch"

# configure FOLDER SOURCE ARGUMENT...
configure() {
    folder=$scratch/$1 from=$2
    shift 2
    cmake -S "$from" -B "$folder" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" >"$scratch/output" 2>&1 || {
        cat "$scratch/output"
        exit 1
    }
}
# expect FOLDER yes|no [CONFIGURATION]: checks whether the sources in FOLDER are compiled with the checks.
expect() {
    commands=$(grep '"command"' "$scratch/$1/compile_commands.json" | grep "${3:+CMAKE_INTDIR=.*$3}" || true)
    [ -n "$commands" ] || { echo "$1: no commands ${3:-}" && exit 1; }
    found=no
    case $commands in *EKIDEN_LOCK_CHECKS=1*) found=yes ;; esac
    [ "$found" = "$2" ] || { echo "$1 ${3:-}: lock checks: $found, expected: $2" && exit 1; }
}

configure one "$source" -G Ninja -DCMAKE_BUILD_TYPE=debug
expect one yes
configure one "$source" -G Ninja -DCMAKE_BUILD_TYPE=Release
expect one no
configure one "$source" -G Ninja -DCMAKE_BUILD_TYPE=Debug
expect one yes
configure one "$source" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DEKIDEN_LOCK_CHECKS=OFF
expect one no
configure one "$source" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEKIDEN_LOCK_CHECKS=ON
expect one yes

configure several "$source" -G 'Ninja Multi-Config'
expect several yes Debug
expect several no Release
expect several no RelWithDebInfo

configure user "$source/tests/install/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$prefix" -DWAY=find_package -DEKIDEN_SOURCE="$source"
expect user no
