#!/bin/sh
# Tests ./dev itself: a symbolic link to it, wrong arguments, Ctrl-C. Usage: dev_command.sh DEV SCRATCH
set -eu
dev=$1
scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch/bin"
ln -s "$dev" "$scratch/link"
ln -s link "$scratch/link to a link"

fail() {
    echo "$@" >&2
    exit 1
}

cd /
"$scratch/link to a link" help | grep -q '^  doctor ' || fail "through a symbolic link, 'help' fails"

# refused ARGUMENT...: expects exit status 2 and the reason, before anything is built, even while another ./dev is
# running.
refused() {
    rc=0
    "$scratch/link" "$@" --no-install >"$scratch/said" 2>&1 || rc=$?
    [ "$rc" = 2 ] || fail "'dev $*' ended with $rc instead of 2: $(cat "$scratch/said")"
    grep -q "'./dev help' lists" "$scratch/said" || fail "'dev $*' did not say what is allowed"
}
refused no_such_command
refused lab --no-such-option
refused lab no_such_experiment
refused check --no-such-option
refused check --list=3
refused check --seconds
refused check no_such_model
refused test surplus
refused test --deep surplus
refused soak surplus
refused soak postgres surplus
refused arm64 surplus
refused format surplus
refused doctor surplus
refused fuzz forever
refused fuzz 0
refused fuzz 1 2
refused fresh
refused fresh 11

# Ctrl-C reaches all processes of the terminal. Here these are the processes of a new session, with a formatter that
# asks for it.
printf '#!/bin/sh\nkill -INT 0\nsleep 10\n' >"$scratch/bin/clang-format-19"
chmod +x "$scratch/bin/clang-format-19"
rc=0
PATH="$scratch/bin:$PATH" setsid --wait env --default-signal=INT "$dev" format --check --no-install \
    >"$scratch/said" 2>&1 || rc=$?
[ "$rc" = 130 ] || fail "interrupted, 'dev' ended with $rc instead of 130"
[ "$(cat "$scratch/said")" = 'ekiden: interrupted' ] || fail "interrupted, 'dev' said: $(cat "$scratch/said")"
