#!/bin/sh
# tools/fresh.sh SUITE [COMMAND]: executes what README.md promises in a fresh minimal Debian system. Must run as root.
# Called by `./dev fresh`, which has checked the arguments.
#
# debootstrap creates a new system in build/fresh/SUITE/system each time. Downloaded packages stay in
# build/fresh/SUITE/debs. The package sources and network settings are those of this machine's apt. The git of the new
# system clones the committed HEAD. All mounts belong to a separate mount namespace. They disappear with its last
# process, so deleting the system never affects the mounted folders.
set -eu
suite=$1
command=${2:-}
place=$PWD/build/fresh/$suite
system=$place/system

say() { printf 'ekiden: %s\n' "$*" >&2; }
die() {
    say "$@"
    exit 1
}

# uri LABEL: prints where apt finds the archive with that label.
uri() {
    # shellcheck disable=SC2016  # these are apt's variables
    apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
        sed -n "s/^$1 //p" | head -n 1
}

mirror=$(uri Debian)
if [ -z "$mirror" ]; then
    apt-get update >&2 || true
    mirror=$(uri Debian)
    [ -n "$mirror" ] || die "apt knows no archive of Debian here, so there is nothing to make a system from"
fi
security=$(uri Debian-Security)

# ---- create the system

say "making a minimal Debian system ($suite) in build/fresh/$suite"
rm -rf --one-file-system "$system"
mkdir -p "$system" "$place/debs/partial"
debootstrap --variant=minbase --cache-dir="$place/debs" "$suite" "$system" "$mirror" >"$place/debootstrap.log" 2>&1 || {
    tail -n 20 "$place/debootstrap.log" >&2
    die "debootstrap failed; all that it said is in build/fresh/$suite/debootstrap.log"
}
{
    echo "deb $mirror $suite main"
    echo "deb $mirror $suite-updates main"
    [ -z "$security" ] || echo "deb $security $suite-security main"
} >"$system/etc/apt/sources.list"
apt-config dump | grep -iE '^Acquire::(https?|ftp|Check|Retries|Force|Queue)' >"$system/etc/apt/apt.conf.d/90network" || true
for file in /etc/resolv.conf /etc/hosts; do
    [ ! -e "$file" ] || cat "$file" >"$system$file"
done
case $mirror$security in
*https:*)
    mkdir -p "$system/etc/ssl"
    cp -rL /etc/ssl/certs "$system/etc/ssl/" 2>/dev/null || true
    ;;
esac
git bundle create --quiet "$system/tree.bundle" HEAD

# ---- run the command in it

cat >"$system/try.sh" <<'END_OF_TRY'
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get -q update >/dev/null
apt-get -q install --yes --no-install-recommends git >/dev/null
git -c advice.detachedHead=false clone --quiet /tree.bundle /ekiden
cd /ekiden
[ -z "$1" ] || exec sh -c "$1"
experiment=$(./dev lab --list | head -n 1)
rc=0
for call in 'test' "lab $experiment --quick"; do
    begin=$(date +%s)
    answer=passed
    # shellcheck disable=SC2086  # a command line
    ./dev $call || { answer=FAILED && rc=1; }
    echo "./dev $call: $answer, $(($(date +%s) - begin)) s with the installation of packages" >>/answers
done
exit "$rc"
END_OF_TRY

rc=0
# shellcheck disable=SC2016  # the variables are those of the inner shell
unshare --mount --pid --fork --kill-child sh -c '
    set -eu
    mount -t proc proc "$1/proc"
    mount --rbind /sys "$1/sys"
    mount --rbind /dev "$1/dev"
    mount --bind "$2" "$1/var/cache/apt/archives"
    exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM="${TERM:-dumb}" \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
        ${no_proxy:+"no_proxy=$no_proxy"} sh /try.sh "$3"
' sh "$system" "$place/debs" "$command" || rc=$?
if [ -f "$system/answers" ]; then
    # shellcheck disable=SC1091  # a file of the system
    echo "In a fresh $(. "$system/etc/os-release" && echo "$PRETTY_NAME"), minimal, from a clean clone:"
    cat "$system/answers"
fi
[ -n "$command" ] || rm -rf --one-file-system "$system"
exit "$rc"
