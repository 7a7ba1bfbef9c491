#!/bin/sh
# Real Kafka brokers on the loopback interface, for tests and for the lab. KRaft, so no ZooKeeper.
#
#   tools/kafka.sh start DIR [1|3] [--version 3.9.1|4.1.1] [--base-port N]
#                                   starts the brokers of a new cluster in DIR; prints the bootstrap servers
#   tools/kafka.sh with DIR [1|3] [OPTION...] -- COMMAND [ARGUMENT...]
#                                   start; then COMMAND, with the servers in $KAFKA_BROKERS; then stop
#   tools/kafka.sh share DIR PID [OPTION...]    start, unless DIR has brokers that run; stop when the process PID is gone
#   tools/kafka.sh servers DIR      prints the bootstrap servers
#   tools/kafka.sh topic DIR NAME PARTITIONS    creates a topic with a replica on each broker
#   tools/kafka.sh move DIR TOPIC   moves the partitions of a topic to other brokers, with their data
#   tools/kafka.sh kill|restart|pause|continue DIR NODE     SIGKILL, start again, SIGSTOP, SIGCONT
#   tools/kafka.sh stop DIR         kills all brokers of DIR and deletes their data; keeps their logs
#   tools/kafka.sh fetch [--version V]    only fetches the jars
#
# The jars come from Maven's central registry (tools/kafka/pom.xml) into build/kafka. Without a JDK, without Maven or
# without the registry, the exit status is 77, so that ctest counts the test as skipped.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
store=$(dirname -- "$here")/build/kafka
version=3.9.1 nodes=1 base=''

die() {
    echo "kafka.sh: $*" >&2
    exit 1
}
skip() {
    echo "kafka.sh: no Kafka brokers: $*" >&2
    exit 77
}
wrong() {
    echo "kafka.sh: $*; the head of tools/kafka.sh lists commands and arguments" >&2
    exit 2
}
is_number() { case $1 in '' | *[!0-9]*) return 1 ;; esac }

# ---- jars ----------------------------------------------------------------------------------------------------------

# Sets $jars. A marker file tells that the folder is complete, so that Maven runs once for each version.
fetch() {
    for tool in java javac; do
        command -v "$tool" >/dev/null || skip "this machine has no JDK ($tool; Debian: default-jdk-headless)"
    done
    jars=$store/$version
    mkdir -p "$store"
    exec 8>"$store/.lock"
    flock 8 # another run may fetch the same jars
    if [ ! -f "$jars/complete" ]; then
        command -v mvn >/dev/null || skip "this machine has no Maven (Debian: maven)"
        rm -rf "$jars"
        mkdir -p "$jars/classes" "$jars/libs"
        mvn --batch-mode --file "$here/kafka/pom.xml" "-Dkafka.version=$version" -DincludeScope=runtime \
            "-DoutputDirectory=$jars/libs" dependency:copy-dependencies >"$jars/maven.log" 2>&1 8>&- ||
            skip "Maven cannot fetch Kafka $version: see $jars/maven.log"
        touch "$jars/complete"
    fi
    if ! cmp -s "$here/kafka/Admin.java" "$jars/classes/made-of"; then
        javac -cp "$jars/libs/*" -d "$jars/classes" "$here/kafka/Admin.java" 8>&- || die "javac cannot compile Admin.java"
        cp "$here/kafka/Admin.java" "$jars/classes/made-of"
    fi
    exec 8>&-
}

admin() { java -Xmx64m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$jars/classes:$jars/libs/*" Admin "$@"; }

# ---- one broker ----------------------------------------------------------------------------------------------------

broker_port() { echo $((base + 2 * $1 - 2)); }
controller_port() { echo $((base + 2 * $1 - 1)); }

# Sets $pid to the process of node $1. Fails if it does not run. The check of the command line protects other processes:
# the system may have given the number to one of them.
find_pid() {
    pid=$(cat "$dir/$1/pid" 2>/dev/null) || return 1
    tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qxF -e "$dir/$1/server.properties"
}

# A port counts as used if any socket has it, also one that waits for its last packets.
port_is_used() { grep -q ":$(printf %04X "$1") " /proc/net/tcp /proc/net/tcp6 2>/dev/null; }
port_is_open() { grep -q ":$(printf %04X "$1") 0\{8,\}\(:0\{4\}\|[0:]*\) 0A " /proc/net/tcp /proc/net/tcp6 2>/dev/null; }

write_properties() { # NODE
    voters='' replicas=$nodes
    for n in $(seq "$nodes"); do voters="$voters${voters:+,}$n@127.0.0.1:$(controller_port "$n")"; done
    mkdir -p "$dir/$1"
    cat >"$dir/$1/server.properties" <<END
process.roles=broker,controller
node.id=$1
controller.quorum.voters=$voters
listeners=PLAINTEXT://127.0.0.1:$(broker_port "$1"),CONTROLLER://127.0.0.1:$(controller_port "$1")
controller.listener.names=CONTROLLER
log.dirs=$dir/$1/data
auto.create.topics.enable=false
default.replication.factor=$replicas
min.insync.replicas=$(((replicas + 1) / 2))
offsets.topic.replication.factor=$replicas
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=$replicas
transaction.state.log.min.isr=$(((replicas + 1) / 2))
transaction.state.log.num.partitions=4
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
broker.session.timeout.ms=3000
END
    java -Xmx64m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$jars/libs/*" kafka.tools.StorageTool format \
        -t AAAAAAAAAAAAAAAAAAAAAA -c "$dir/$1/server.properties" >"$dir/$1/format.log" 2>&1
}

launch() { # NODE
    setsid java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$jars/libs/*" kafka.Kafka \
        "$dir/$1/server.properties" >>"$dir/$1/log" 2>&1 </dev/null &
    echo $! >"$dir/$1/pid"
}

# Waits until node $1 accepts connections. Fails if its process ends before, or after two minutes.
wait_open() {
    for _ in $(seq 1200); do
        find_pid "$1" || { sleep 0.1 && find_pid "$1"; } || return 1
        ! port_is_open "$(broker_port "$1")" || return 0
        sleep 0.1
    done
    return 1
}

kill_node() { # NODE: returns when the process is gone
    find_pid "$1" || return 0
    kill -KILL "$pid" 2>/dev/null || true
    while find_pid "$1"; do sleep 0.05; done
    rm -f "$dir/$1/pid"
}

# ---- a cluster -----------------------------------------------------------------------------------------------------

servers() {
    list=''
    for n in $(seq "$nodes"); do list="$list${list:+,}127.0.0.1:$(broker_port "$n")"; done
    echo "$list"
}

kill_all() {
    for folder in "$dir"/[0-9]*; do
        [ ! -d "$folder" ] || kill_node "${folder##*/}"
    done
}

# Sets $base to the first of enough free ports, below the range from which the system takes ports by itself.
choose_ports() {
    while :; do
        base=$((12000 + $(od -An -N2 -tu2 /dev/urandom) % 9000 * 2))
        for port in $(seq "$base" $((base + 2 * nodes - 1))); do
            ! port_is_used "$port" || continue 2
        done
        return 0
    done
}

try_start() {
    kill_all
    rm -rf "$dir"/[0-9]*
    for n in $(seq "$nodes"); do write_properties "$n" || return 1; done
    for n in $(seq "$nodes"); do launch "$n"; done
    for n in $(seq "$nodes"); do wait_open "$n" || return 1; done
    printf '%s %s %s\n' "$version" "$nodes" "$base" >"$dir/cluster"
}

# start [NODES] [OPTION...]: another process may use a port before the broker does, so a failure is tried again with
# other ports.
start() {
    asked_base=''
    while [ $# -gt 0 ]; do
        case $1 in
        1 | 3) nodes=$1 ;;
        --version | --base-port)
            [ $# -gt 1 ] || wrong "$1 needs a value"
            if [ "$1" = --version ]; then version=$2; else asked_base=$2; fi
            shift
            ;;
        *) wrong "start: unknown argument '$1'; allowed are 1, 3, --version and --base-port" ;;
        esac
        shift
    done
    [ -z "$asked_base" ] || is_number "$asked_base" || wrong "--base-port is no number: '$asked_base'"
    fetch
    mkdir -p "$dir"
    for attempt in 1 2 3; do
        if [ -n "$asked_base" ]; then base=$asked_base; else choose_ports; fi
        ! try_start || return 0
        kill_all
        [ -z "$asked_base" ] || break
    done
    tail -n 5 "$dir"/*/log >&2 || true
    die "the brokers do not start, after $attempt attempts: see the logs in $dir"
}

# Stops the brokers as soon as a process is gone.
guard_by() { # PID
    # shellcheck disable=SC2016  # the guard expands its arguments
    setsid sh -c 'while kill -0 "$1" 2>/dev/null; do sleep 0.5; done; exec "$2" stop "$3"' guard "$1" "$0" "$dir" \
        >/dev/null 2>&1 </dev/null &
}

all_run() {
    [ -f "$dir/cluster" ] || return 1
    read_cluster
    for n in $(seq "$nodes"); do find_pid "$n" || return 1; done
}

share() {
    { [ $# -gt 0 ] && is_number "$1"; } || wrong "share: there is no process"
    ! all_run || return 0
    owner=$1
    shift
    start "$@"
    guard_by "$owner"
}

# with ... -- COMMAND: a guard outlives this shell. It stops the brokers also if this shell is killed.
with() {
    options=''
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        case $1 in *[!A-Za-z0-9.-]*) wrong "with: unknown argument '$1'" ;; esac
        options="$options $1"
        shift
    done
    [ $# -gt 1 ] || wrong "with: there is no command after --"
    shift
    guard_by $$
    # shellcheck disable=SC2086  # a list of words
    start $options
    rc=0
    KAFKA_BROKERS=$(servers) KAFKA_DIR=$dir "$@" || rc=$?
    stop
    return "$rc"
}

stop() {
    kill_all
    rm -rf "$dir"/[0-9]*/data "$dir/cluster"
}

read_cluster() {
    [ -f "$dir/cluster" ] || die "no cluster runs in $dir"
    read -r version nodes base <"$dir/cluster"
    jars=$store/$version
}

# ---- command line --------------------------------------------------------------------------------------------------

[ $# -ge 1 ] || wrong "there is no command"
command=$1
shift
if [ "$command" = fetch ]; then
    [ "${1:-}" != --version ] || version=${2:?"--version needs a value"}
    fetch
    exit
fi
[ $# -ge 1 ] || wrong "$command: there is no DIR"
dir=$(readlink -m -- "$1")
shift
case $command in
start)
    start "$@"
    servers
    ;;
share)
    share "$@"
    servers
    ;;
with) with "$@" ;;
stop) stop ;;
servers | topic | move | kill | restart | pause | continue)
    read_cluster
    case $command in
    servers) servers ;;
    topic) admin "$(servers)" topic "${1:?"topic: there is no name"}" "${2:?"topic: no number of partitions"}" "$nodes" ;;
    move) admin "$(servers)" move "${1:?"move: there is no topic"}" ;;
    *)
        case ${1:-} in [1-9]) [ "$1" -le "$nodes" ] ;; *) false ;; esac || wrong "$command: no such node: '${1:-}'"
        case $command in
        kill) kill_node "$1" ;;
        restart)
            kill_node "$1"
            launch "$1"
            wait_open "$1" || die "node $1 does not start: see $dir/$1/log"
            ;;
        pause | continue)
            find_pid "$1" || die "node $1 does not run"
            if [ "$command" = pause ]; then kill -STOP "$pid"; else kill -CONT "$pid"; fi
            ;;
        esac
        ;;
    esac
    ;;
*) wrong "unknown command '$command'" ;;
esac
