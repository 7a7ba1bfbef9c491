# shellcheck shell=sh disable=SC2154  # the script that includes this file sets prefix and scratch
# Compiles the program that the debuggers stop, with the shared library in $prefix, as $scratch/stopped.
rm -rf "$scratch"
mkdir -p "$scratch"
pc=$(find "$prefix" -name ekiden.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # pkg-config's answer is a list of words
"$CXX" -std=c++20 -g -O0 $(pkg-config --cflags ekiden) debugger/stopped.cpp -o "$scratch/stopped" $(pkg-config --libs ekiden)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir ekiden)
export LD_LIBRARY_PATH DEBUGINFOD_URLS=
