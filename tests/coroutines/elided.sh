#!/bin/sh
# Compiles elided_frames.cpp with a clang that knows [[clang::coro_await_elidable]], links it with the library, and runs
# it. Skipped if there is no clang 20 or newer, and no zig, which contains one.
#   elided.sh ROOT LIBRARY FOLDER LINKER
set -eu
root=$1 library=$2 folder=$3 linker=$4
zig=$(command -v zig || ls "$root"/build/macos-venv/lib/python3*/site-packages/ziglang/zig 2>/dev/null || true)
compile=
for clang in clang++ clang++-23 clang++-22 clang++-21 clang++-20; do
    if echo '#if !__has_cpp_attribute(clang::coro_await_elidable)
#error too old
#endif' | "$clang" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null; then
        compile=$clang
        break
    fi
done
if [ -z "$compile" ] && [ -n "$zig" ]; then
    # Not zig c++, whose headers do not fit the library's C++ library.
    compile="$zig clang -x c++ -isystem $(dirname "$(readlink -f "$zig")")/lib/include"
fi
if [ -z "$compile" ]; then
    echo "skipped: there is no clang 20 or newer, and no zig"
    exit 77
fi
mkdir -p "$folder"
# shellcheck disable=SC2086 # several words
$compile -std=c++20 -O2 -I"$root/src" -c "$root/tests/coroutines/elided_frames.cpp" -o "$folder/elided_frames.o"
"$linker" "$folder/elided_frames.o" "$library" -pthread -o "$folder/elided_frames"
exec "$folder/elided_frames"
