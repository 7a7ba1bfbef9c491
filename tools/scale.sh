# shellcheck shell=sh
# `./dev lab scale`: computes the curves of the computed machine, and measures the same rows on this machine. ./dev reads
# this file, and its functions and variables are those of ./dev.
# shellcheck disable=SC2154 # $python is a variable of ./dev
[ $# = 1 ] || wrong "lab: scale takes no other argument, but was given '$*'"
need_packages lab
lock_tree
build computed ekiden-computed ekiden-rows
mkdir -p results
"$python" computed/scale.py --computed build/computed/computed/ekiden-computed \
    --rows build/computed/computed/ekiden-rows --out results/scale.json --page scale.html
say "open scale.html in a browser"
