#!/bin/sh
# Compiles a source with the given compiler and flags, links it with the library, and runs it.
#   run.sh ROOT LIBRARY FOLDER NAME SOURCE COMPILER [FLAG...]
set -eu
root=$1 library=$2 folder=$3 name=$4 source=$5
shift 5
mkdir -p "$folder"
"$@" -std=c++20 -I"$root/src" "$source" "$library" -pthread -o "$folder/$name"
# shellcheck disable=SC3045 # the shells of Linux have it
ulimit -s 8192
exec "$folder/$name"
