#!/bin/sh
# An ekiden that was built without a component must say so. The installation in PREFIX has the component, so a copy of
# its description lacks the component's file. Usage: no_component.sh COMPONENT SOURCE PREFIX SCRATCH
set -eu
component=$1 source=$2 prefix=$3 scratch=$4
rm -rf "$scratch"
mkdir -p "$scratch"
cp -r "$prefix" "$scratch/prefix"
find "$scratch/prefix" -name "ekiden-$component*.cmake" -delete
if cmake -S "$source/tests/install/component_consumer" -B "$scratch/build" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCOMPONENTS="$component" -DWAY=find_package >"$scratch/output" 2>&1; then
    echo "find_package(ekiden COMPONENTS $component) was satisfied"
    exit 1
fi
cat "$scratch/output"
option=$(echo "$component" | tr '[:lower:]' '[:upper:]')
tr -s ' \n' ' ' <"$scratch/output" | grep "without its component $component: configure it with -DEKIDEN_$option=ON"
