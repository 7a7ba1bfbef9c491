#!/bin/sh
# Runs each test case of a doctest program in a process of its own, all at the same time. Prints the output of those that
# fail. Usage: all_at_once.sh PROGRAM
set -eu
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" --list-test-cases | grep -v -e '^===' -e '^\[doctest\]' >"$folder/cases" || true
count=0
while IFS= read -r name; do
    count=$((count + 1))
    pattern=$(printf %s "$name" | sed 's/,/\\,/g')
    (
        if "$program" --no-intro --test-case="$pattern" >"$folder/$count" 2>&1 &&
            grep -q 'test cases: *1 |' "$folder/$count"; then
            : >"$folder/$count.passed"
        fi
    ) &
done <"$folder/cases"
wait
passed=0
for number in $(seq "$count"); do
    if [ -e "$folder/$number.passed" ]; then passed=$((passed + 1)); else cat "$folder/$number"; fi
done
echo "$passed of $count test cases passed"
[ "$count" -gt 0 ] && [ "$passed" -eq "$count" ]
