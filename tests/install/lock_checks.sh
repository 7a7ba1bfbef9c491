#!/bin/sh
# The locks are checked in the configuration Debug and in no other. This also holds after a change of the configuration
# in a build folder, and with several configurations in one folder. An installed library states its setting, whatever
# the configuration of its user. A program that differs from its library does not link, and
# the message says why.
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

# The libraries of two configurations in one prefix. One source of the library is enough here: it defines the symbol that tells
# the two apart.
# compile FLAG: makes library.o.
compile() {
    # shellcheck disable=SC2086  # a flag, or none
    "$CXX" -std=c++20 -I "$source/src" $1 -c "$source/src/ekiden/context/held_locks.cpp" -o "$scratch/library.o"
}
cmake -S "$source" -B "$scratch/both" -G 'Ninja Multi-Config' -DCMAKE_DEBUG_POSTFIX=d -DCMAKE_INSTALL_PREFIX="$scratch/prefix" \
    -DEKIDEN_KAFKA=OFF -DEKIDEN_POSTGRES=OFF >"$scratch/output"
for configuration in Debug Release; do
    case $configuration in
    Debug) compile -DEKIDEN_LOCK_CHECKS=1 && name=libekidend.a ;;
    *) compile '' && name=libekiden.a ;;
    esac
    mkdir -p "$scratch/both/src/ekiden/$configuration"
    ar cr "$scratch/both/src/ekiden/$configuration/$name" "$scratch/library.o"
    cmake --install "$scratch/both" --config "$configuration" >"$scratch/output"
done
configure users "$source/tests/install/consumer" -G 'Ninja Multi-Config' -DCMAKE_PREFIX_PATH="$scratch/prefix" -DWAY=find_package -DEKIDEN_SOURCE="$source"
expect users yes Debug
expect users no Release

# A program that differs from its library.
# differ SAYS PROGRAM_FLAG LIBRARY_FLAG: the flags of the two, and what the linker says.
differ() {
    cat >"$scratch/program.cpp" <<'END'
#include <ekiden/sync.hpp>
#include <mutex>
int main() {
    ekiden::mutex m;
    const std::lock_guard lock(m);
}
END
    compile "$3"
    # shellcheck disable=SC2086
    "$CXX" -std=c++20 -I "$source/src" $2 -c "$scratch/program.cpp" -o "$scratch/program.o"
    if "$CXX" "$scratch/program.o" "$scratch/library.o" -o "$scratch/program" 2>"$scratch/output"; then
        echo "a program with '$2' links with a library with '$3'"
        exit 1
    fi
    found=$(sed -n 's/.*\(ekiden_library_has_[A-Za-z_]*\).*/\1/p' "$scratch/output" | sort -u)
    [ "$found" = "$1" ] || { cat "$scratch/output" && echo "the linker names '$found', expected: '$1'" && exit 1; }
}
checks=-DEKIDEN_LOCK_CHECKS=1
differ ekiden_library_has_no_lock_checks_but_program_has_EKIDEN_LOCK_CHECKS "$checks" ''
differ ekiden_library_has_lock_checks_but_program_has_no_EKIDEN_LOCK_CHECKS '' "$checks"
differ '' '' '' # it lacks the rest of the library, and the linker does not name the checks
differ '' "$checks" "$checks"
