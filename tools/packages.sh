#!/bin/sh
# tools/packages.sh [WAY...]: makes each package of ekiden, and builds and runs a program with it. Without WAY: all
# packages. Called by `./dev packages`, which has installed the requirements. All output is in build/packages/WAY.
#
#   archive   cpack's .tar.gz, unpacked elsewhere
#   conan     conan create, with a cache of its own
#   debian    dpkg-buildpackage and lintian; the packages are unpacked into a folder
#   installed the same packages installed by apt: for a system that is thrown away, ./dev fresh 13 './dev packages debian installed'
#   vcpkg     the port's files; its portfile is run without vcpkg, whose functions packaging/vcpkg/by_hand.cmake stands for
#   abi       the shared library's interface against packaging/abi, that of the last release
#   workflow  the file for continuous integration against GitHub's schema
set -eu
tools=$PWD/build/packaging-venv/bin
version=$(sed -n 's/^project(ekiden VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)

say() { printf 'ekiden: %s\n' "$*" >&2; }
die() {
    say "$@"
    exit 1
}

# use PREFIX: builds and runs the program that tests each package.
use() {
    rm -rf "$place/use"
    cmake -S packaging/conan/test_package -B "$place/use" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        ${1:+-DCMAKE_PREFIX_PATH="$1"} >"$place/use.log"
    cmake --build "$place/use" >>"$place/use.log"
    "$place/use/program"
}

# use_checker PREFIX: does the same with the model checker, with the example of a user's project.
use_checker() { CXX=g++ tests/install/check_component.sh "$PWD" "$1" "$place/use-checker" >"$place/use-checker.log"; }

archive() {
    cmake -S . -B "$place/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEKIDEN_CHECKER=ON >"$place/build.log"
    cmake --build "$place/build" >>"$place/build.log"
    (cd "$place" && cpack --config build/CPackConfig.cmake -G TGZ -B "$place/archives") >>"$place/build.log"
    tar -xzf "$place/archives/ekiden-$version-Linux.tar.gz" -C "$place"
    use "$place/ekiden-$version-Linux"
    use_checker "$place/ekiden-$version-Linux"
}

conan() {
    export CONAN_HOME="$place/cache"
    unity="tools.cmake.cmaketoolchain:extra_variables={'CMAKE_UNITY_BUILD': 'ON'}" # faster; only its packaging is tested
    "$tools/conan" profile detect >"$place/conan.log" 2>&1
    for shared in False True; do
        "$tools/conan" create packaging/conan --no-remote -s compiler.cppstd=20 -o "ekiden/*:shared=$shared" \
            -c tools.cmake.cmaketoolchain:generator=Ninja -c "$unity" \
            -c tools.cmake.cmake_layout:test_folder="$place/test" -c tools.cmake.cmaketoolchain:user_presets= --build=missing >>"$place/conan.log" 2>&1 || {
            tail -n 40 "$place/conan.log" >&2
            return 1
        }
        sed -n '/^ekiden: /p' "$place/conan.log" | tail -n 1
    done
}

# Debian's tools get the files that git tracks, like in a release.
debian() {
    source=$place/ekiden-$version
    mkdir -p "$source"
    git ls-files -z | xargs -0 tar -cf - | tar -xf - -C "$source"
    tar -C "$place" -czf "$place/ekiden_$version.orig.tar.gz" "ekiden-$version"
    cp -r packaging/debian "$source/debian"
    (cd "$source" && dpkg-buildpackage --no-sign --build=full) >"$place/build.log" 2>&1 || {
        tail -n 40 "$place/build.log" >&2
        return 1
    }
    lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$place"/*.changes
    mkdir "$place/unpacked"
    for package in "$place"/*.deb; do
        case $package in *-dbgsym_*) continue ;; esac
        dpkg-deb -x "$package" "$place/unpacked"
    done
    LD_LIBRARY_PATH=$(echo "$place"/unpacked/usr/lib/*-linux-gnu*) use "$place/unpacked/usr"
    use_checker "$place/unpacked/usr"
}

installed() {
    apt-get install --yes --no-install-recommends "$PWD"/build/packages/debian/libekiden*.deb >"$place/apt.log" 2>&1 || {
        tail -n 20 "$place/apt.log" >&2
        return 1
    }
    use ''
    use_checker /usr
}

vcpkg() {
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' packaging/vcpkg/ports/ekiden/vcpkg.json
    grep -q "\"version\": \"$version\"" packaging/vcpkg/ports/ekiden/vcpkg.json ||
        die "packaging/vcpkg/ports/ekiden/vcpkg.json names another version than $version"
    cmake -D PLACE="$place" -P packaging/vcpkg/by_hand.cmake >"$place/build.log"
    use "$place/packages"
    use_checker "$place/packages"
}

# abidiff returns 0 for no change, 4 for a change, 8 for an incompatible one. The report of the last release is in the
# repository.
abi() {
    here=$(uname -m)-g++$(g++ -dumpversion) # it contains types of the standard library
    kept=packaging/abi/libekiden-$here.abi.xz
    cmake -S . -B "$place/build" -G Ninja -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_SHARED_LIBS=ON \
        -DCMAKE_UNITY_BUILD=ON >"$place/build.log"
    cmake --build "$place/build" >>"$place/build.log"
    abidw --no-show-locs --no-comp-dir-path --no-corpus-path --drop-private-types --headers-dir src/ekiden \
        "$place/build/src/ekiden/libekiden.so" --out-file "$place/now.abi"
    xz --keep --force "$place/now.abi"
    if [ ! -f "$kept" ]; then
        say "there is no report for $here to compare with; this one is build/packages/abi/now.abi.xz"
        return 0
    fi
    xz --decompress --stdout "$kept" >"$place/kept.abi"
    rc=0
    abidiff "$place/kept.abi" "$place/now.abi" >"$place/difference.txt" || rc=$?
    [ "$rc" = 0 ] || cat "$place/difference.txt"
    [ $((rc & ~4)) = 0 ] || die "the shared library is not compatible with $kept: a new minor version, and a new report"
}

workflow() { "$tools/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml; }

known='workflow archive conan debian installed vcpkg abi'
if [ $# = 1 ]; then # in a subshell, which ends at the first command that fails
    case " $known " in *" $1 "*) ;; *) die "packages: unknown '$1'; there are $known" ;; esac
    place=$PWD/build/packages/$1
    rm -rf "$place"
    mkdir -p "$place"
    "$1"
    exit
fi
[ $# -gt 0 ] || set -- workflow archive conan debian vcpkg abi
failed=''
for way; do
    if "$0" "$way"; then say "$way: passed"; else
        say "$way: FAILED; what was said is in build/packages/$way"
        failed=yes
    fi
done
[ -z "$failed" ]
