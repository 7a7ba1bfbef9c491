"""ekiden's targets, and whether a run meets them.

Used by: report.py. A target compares medians of one run. A missing or failed cell leaves it undecided.
"""

from dataclasses import dataclass
from typing import Optional, Tuple, Union

from model import digits, readable


@dataclass
class Target:
    experiment: str
    variant: Union[str, Tuple[str, ...]]  # several: the target holds in each that was run
    what: str                    # in words
    figure: str
    implementation: str = "ekiden"
    peer: Optional[str] = None   # None: `limit` is in the figure's own unit
    times: float = 0             # ours must be at most the peer's / times; or
    most: float = 0              # at most the peer's * most
    limit: float = 0             # ours must be at most this
    least: float = 0             # ours must be at least this
    noun: str = "time"           # what the figure is, in "1.1 times the peer's time"
    peer_variant: Optional[str] = None  # where the peer's figure is from, if from another variant

    def judge(self, results):
        """Returns (goal, reached, met). met is None if it is undecided."""
        unit = next((f["unit"] for e in results.experiments if e["name"] == self.experiment
                     for f in e["figures"] if f["name"] == self.figure), "1")
        if self.peer is None:
            goal = (f"≥ {readable(self.least, unit)}" if self.least else
                    f"≤ {readable(self.limit, unit)}" if self.limit else "0")
        else:
            goal = (f"≤ {self.most:g} times the peer's {self.noun}" if self.most else
                    f"≥ {self.times:g} times as fast")
        reached = self._reached(results)
        if not reached:
            return goal, "", None
        low, high = min(reached), max(reached)
        if self.least:
            return goal, readable(low, unit), low >= self.least
        if self.peer is None:
            # Of 0 allocations: what the counting cannot tell from 0, one in 1,000 tasks.
            return goal, readable(high, unit), high <= (self.limit or 0.001)
        if self.most:
            return goal, _span(f"{low:.2f}", f"{high:.2f}", f" times the peer's {self.noun}"), high <= self.most
        return goal, _span(digits(1 / high), digits(1 / low), " times as fast"), 1 / high >= self.times

    def _reached(self, results):
        """Returns our figure, divided by the peer's if there is one, for each variant that has both. Empty if a cell
        has no figure."""
        reached = []
        run = {v["name"] for e in results.experiments if e["name"] == self.experiment for v in e["variants"]}
        for variant in [self.variant] if isinstance(self.variant, str) else self.variant:
            if variant not in run:
                continue
            ours = results.median(self.experiment, variant, self.figure, self.implementation)
            if self.peer is not None and ours is not None:
                theirs = results.median(self.experiment, self.peer_variant or variant, self.figure, self.peer)
                ours = ours / theirs if theirs and ours > 0 else None
            if ours is None:
                return []
            reached.append(ours)
        return reached


SHORT_LOOPS = ("2 x 5 us", "20 x 0.5 us", "20 x 5 us", "200 x 0.5 us", "1000 x 1 us")
KAFKA_WORK = ("1 ms, uniform", "1 ms, Zipf", "10 ms, uniform", "10 ms, Zipf")
BURSTS = tuple(f"{blocks} blocks, {gap} us" for blocks in (2, 4, 8) for gap in (0, 50, 200))
TENSORS = ("element-wise 256", "element-wise 256, 50 us", "element-wise 1024", "contraction 128", "contraction 512")
AFTER_A_PAUSE = tuple(f"{size}, pauses" for size in SHORT_LOOPS)


def _span(low, high, words):
    return f"{low} – {high}{words}" if low != high else f"{low}{words}"


def _throughput(variant, peer, name, times):
    return Target("throughput", variant, f"Time of an empty task with {variant}, compared with {name}", "ns_per_task", peer=peer,
                  times=times)


def _at_most(experiment, variant, what, peer, ratio, figure, implementation="ekiden", noun="time"):
    return Target(experiment, variant, what, figure, implementation, peer, most=ratio, noun=noun)


_SETTINGS = ("1:1", "10:1", "100:1", "250:1", "2000:1")
_WAITING = tuple(s + " waiting" for s in _SETTINGS)
_BARRIERS = ("20 x 10,000", "200 x 1,000", "2,000 x 100")
_ELASTIC = ("20 threads", "200 threads")
_CROWDS = tuple(str(n) for n in range(5_000, 30_001, 5_000))
_CAPACITIES = ("1", "16", "1024")

SYNCHRONISATION = [
    _at_most("rwlock", _WAITING, "Read-write lock whose threads must wait, compared with a "
             "pthread_rwlock that prefers writers", "pthread-rwlock-writers", 1.05, "elapsed_ms"),
    _at_most("rwlock", _WAITING, "Read-write lock whose threads must wait, compared with a mutex and "
             "condition variables", "condition-rw", 0.4, "elapsed_ms"),
    _at_most("rwlock", _WAITING, "Read-write lock whose threads must wait, compared with nsync", "nsync", 0.6,
             "elapsed_ms"),
    _at_most("rwlock", "1:1 empty", "Read-write lock with empty sections (1:1), compared with nsync", "nsync", 0.6, "elapsed_ms"),
    _at_most("rwlock", "1:1 empty", "Read-write lock with empty sections (1:1), compared with "
             "pthread_rwlock", "pthread-rwlock", 0.4, "elapsed_ms"),
    _at_most("rwlock", ("free, reading", "free, writing"), "Free read-write lock, compared with nsync", "nsync", 1.0,
             "elapsed_ms"),
    _at_most("rw-starvation", ("seldom", "waiting", "empty"), "Longest wait of a writer beside 8 readers, compared with a "
             "pthread_rwlock that prefers writers", "pthread-rwlock-writers", 1.1, "longest_wait_us", noun="wait"),
    _at_most("barrier", _BARRIERS, "Barrier that sleeps at once, compared with pthread_barrier",
             "pthread-barrier", 1.05, "elapsed_ms", "ekiden-parks"),
    _at_most("barrier", _BARRIERS, "Barrier that yields before it sleeps, compared with std::barrier", "std-barrier",
             0.9, "elapsed_ms"),
    _at_most("elastic-barrier", _ELASTIC, "Elastic barrier, compared with condition variables", "condition-elastic", 0.35,
             "elapsed_ms"),
    _at_most("elastic-barrier", _ELASTIC, "Elastic barrier, compared with the published version with two locks", "source-elastic", 0.5,
             "elapsed_ms"),
    Target("request-order", _CROWDS, "Requests that a fifo_mutex served out of order", "id diff count"),
    _at_most("request-order", _CROWDS, "Requests served by a fifo_mutex, compared with the published chain of events", "orderlock", 0.7,
             "second"),
    _at_most("request-order", _CROWDS, "Requests served by a fifo_mutex, compared with an MCS lock with futex", "mcs", 1.1, "second"),
    _at_most("request-order", _CROWDS, "Requests served through a bounded_buffer, compared with a mutex and "
             "a condition variable", "queue_new", 0.9, "second", "ekiden-buffer-first"),
    _at_most("request-order", _CROWDS, "Requests with replies served by a sequencer, compared with a mutex and "
             "a condition variable", "queue_new_reply", 0.9, "second", "ekiden-sequencer-first"),
    Target("mutex", "64 threads", "Mutex with 64 threads, compared with nsync", "ns_per_section", peer="nsync", times=1.2),
    Target("mutex", "64 threads", "Mutex with 64 threads, compared with std::mutex", "ns_per_section", peer="std-mutex", times=4),
    _at_most("mutex", "64 threads", "Longest wait for a mutex with 64 threads, compared with nsync", "nsync", 1.3, "longest_wait_ms",
             noun="wait"),
    _at_most("mutex", ("2 threads", "8 threads", "64 threads"), "Mutex with 2, 8 and 64 threads, compared with std::mutex",
             "std-mutex", 1.0, "ns_per_section"),
    _at_most("mutex", ("2 threads", "8 threads", "64 threads"), "Mutex with 2, 8 and 64 threads, compared with nsync", "nsync",
             1.0, "ns_per_section"),
    _at_most("semaphore", ("1 permit", "2 permits", "4 permits", "answers"), "Acquire and release of a "
             "semaphore's permit, compared with std::counting_semaphore", "std-semaphore", 1.1, "ns_per_turn"),
    _at_most("mutex", "free", "Lock and unlock of a free mutex, compared with std::mutex", "std-mutex", 0.7, "ns_per_section"),
    _at_most("mutex", "free", "Lock and unlock of a free mutex, compared with nsync", "nsync", 1.0, "ns_per_section"),
    _at_most("bounded-buffer", _CAPACITIES, "Bounded buffer with three capacities, compared with two semaphores and a mutex",
             "semaphore-buffer", 0.6, "ns_per_item"),
    _at_most("bounded-buffer", _CAPACITIES, "Bounded buffer with three capacities, compared with condition variables",
             "condition-buffer", 0.1, "ns_per_item"),
    *(_at_most(experiment, variants, f"{what} beside busy processes, compared with {name}", peer, 1 / 0.7, figure)
      for experiment, variants, what, name, peer, figure in (
          ("bounded-buffer", ("1, busy", "4, busy", "64, busy"), "Bounded buffer", "condition variables",
           "condition-buffer", "ns_per_item"),
          ("barrier", ("4 x 50,000, busy", "20 x 10,000, busy"), "Barrier", "a condition variable",
           "condition-barrier", "elapsed_ms"),
          ("semaphore", ("2 permits, busy", "answers, busy"), "Semaphore", "a condition variable",
           "condition-semaphore", "ns_per_turn"),
          ("mutex", "8 threads, busy", "Mutex", "std::mutex", "std-mutex", "ns_per_section"))),
]

EXECUTION = [
    _at_most("strand", "strand", "Handlers posted to a strand, compared with Asio", "asio", 0.35, "ns_per_handler"),
    _at_most("strand", "strand", "Handlers posted to a strand, compared with Boost.Asio", "boost-asio", 0.35, "ns_per_handler"),
    _at_most("strand", "bind", "Handlers that are bound to a strand and posted, compared with Asio", "asio", 0.25,
             "ns_per_handler"),
    _at_most("strand", "none", "Handlers that a context of one thread accepts and runs, compared with Asio", "asio", 1.0, "ns_per_handler"),
    _at_most("strands-hop", "1 thread", "Hops between 1,000 strands on 1 thread, compared with Asio", "asio", 0.4,
             "ns_per_hop"),
    _at_most("strands-hop", "2 threads", "Hops between 1,000 strands on 2 threads, compared with Asio", "asio", 0.25, "ns_per_hop"),
    _at_most("io-models", "beforehand, 1,000 turns, 2 threads", "Handlers of a context that 2 threads run, compared with "
             "Asio", "asio", 1.0, "ns_per_handler"),
    Target("lanes", "idle", "Bytes of an idle strand and its handle", "bytes_per_key",
           "ekiden-strands", limit=64),
    Target("lanes", "idle", "Bytes for each key without work in lanes (less than 0.5 means none)", "bytes_per_key", limit=0.5),
    _at_most("lanes", ("Zipf, 10,000 keys, 4 producers", "Zipf, 10,000 keys, 1 producer"), "Tasks of lanes, compared with a "
             "queue and a mutex for each key", "mutex-per-key", 1.0, "ns_per_task"),
    _at_most("lanes", ("Zipf, 10,000 keys, 4 producers", "Zipf, 10,000 keys, 1 producer"), "Tasks of lanes by handle, compared "
             "with a queue and a mutex for each key", "mutex-per-key", 1.0, "ns_per_task", "ekiden-handles"),
    Target("several-keys", "two keys", "Requests with two keys, compared with requests with one key", "ns_per_request",
           peer="ekiden", most=2.5, peer_variant="one key"),
    Target("several-keys", "two keys", "Requests with two keys by handle, compared with requests with one key by handle",
           "ns_per_request", "ekiden-handles", peer="ekiden-handles", most=2.5, peer_variant="one key"),
    Target("several-keys", "two keys", "Requests with two keys, compared with tasks of libgomp with depend", "ns_per_request",
           peer="openmp-libgomp", times=3),
    Target("several-keys", "two keys", "Requests with two keys, compared with tasks of libomp with depend", "ns_per_request",
           peer="openmp-libomp", times=3),
    _at_most("several-keys", "two keys, 1 us", "Requests of 1 us with two keys, compared with std::scoped_lock in tasks of "
             "oneTBB", "onetbb-task-group", 1.0, "ns_per_request"),
    Target("several-keys", "readers", "Speed-up of requests that only read one key", "speedup", least=1.8),
    _at_most("timers", ("schedule-few", "schedule-many"), "Start of a timer's wait, with 1,000 and 1,000,000 "
             "timers, compared with Asio", "asio", 0.4, "schedule_ns"),
    _at_most("timers", ("cancel-few", "cancel-many"), "Cancellation of a timer's wait, compared with Asio", "asio", 0.2,
             "cancel_ns"),
    Target("timers", "remote-many", "Cancellation of one of 1,000,000 timers by another thread, compared with one of 1,000 timers", "remote_ns",
           peer="ekiden", most=2, peer_variant="remote-few"),
    Target("timers", "memory", "Bytes of a timer that has a wait", "armed_bytes", limit=96),
    Target("timer-cancel", ("article", "one-thread", "several-threads"), "Share of canceled handlers that report the "
           "cancellation", "cancelled", least=1),
    Target("server", "20 us", "Requests of 20 us to a server with lanes, compared with an Asio strand for each key", "us_per_request",
           peer="asio", times=1.3),
    Target("server", "20 us", "Requests of 20 us to a server with lanes, compared with a server with one mutex", "us_per_request", peer="global-mutex", times=2),
    _at_most("server", "0", "Requests that need no work, compared with a server with one thread", "single", 1.05, "us_per_request"),
    Target("server", "checked", "Wrong replies of a server whose connections are killed", "violations"),
    Target("allocations", "context", "Allocations for each handler posted to a context", "per_task"),
    Target("allocations", "strand", "Allocations for each handler posted to a strand", "per_task"),
    Target("allocations", "timer", "Allocations for each wait of a timer", "per_task"),
    Target("allocations", "future", "Allocations for each handler posted with use_future", "per_task", limit=1),
]

_CROWDED = ("8 to 8, 64", "8 to 1, 64")
_SHAPES = ("1 to 1", "1 to 8", "8 to 1", "8 to 8")
# The variants of the experiment channel, as in lab/experiments/channel/channel.cpp.
_RENDEZVOUS = ("1 to 1, 0",)
_UNBOUNDED = tuple(f"{shape}, unbounded" for shape in _SHAPES)
_BOUNDED = ("1 to 1, 1", "8 to 8, 1", *(f"{shape}, {room}" for shape in _SHAPES for room in (64, 1024)))
_IN_COROUTINES = (*_BOUNDED, "8 to 1, 64, full", "8 to 1, 64, empty", "8 to 8, 64, 1 thread")


def _threads(variants):
    return tuple(f"{variant}, threads" for variant in variants)


def _times_as_fast(peer, name):
    return Target("channel", _CROWDED, f"Time to pass an item through a channel of capacity 64 between coroutines, compared with {name}",
                  "ns_per_item", peer=peer, times=1.5)


def _ahead(peer, name, variants, ends="coroutines"):
    return _at_most("channel", variants, f"Time to pass an item between {ends} in every variant, compared with {name}",
                    peer, 1, "ns_per_item")


def _of_buffer(variants, what, ratio, peer_variant=None):
    return Target("channel", variants, f"Time to pass an item between coroutines, {what}", "ns_per_item", peer="ekiden-buffer",
                  most=ratio, peer_variant=peer_variant)


COROUTINES = [
    Target("coroutine-hop", "immediate", "Await of a coroutine that returns at once", "ns_per_await", limit=5),
    Target("coroutine-hop", "1 coroutine, 1 thread", "Hop of a coroutine between strands on 1 thread", "ns_per_hop", limit=40),
    _at_most("coroutine-hop", "1 coroutine, 1 thread", "Hop of a coroutine between strands, compared with Asio's awaitable", "asio", 0.3, "ns_per_hop"),
    Target("allocations", "hop", "Allocations for each hop of a coroutine", "per_task"),
    _of_buffer("1 to 1, unbounded", "1 to 1 and unbounded, compared with a bounded_buffer of capacity 1,024", 0.18,
               "1 to 1, 1024"),
    _of_buffer("1 to 1, 1024", "1 to 1 with capacity 1,024, compared with bounded_buffer", 0.3),
    _of_buffer(("8 to 8, 1", "8 to 8, 64", "8 to 8, 1024"), "8 to 8, compared with bounded_buffer", 0.6),
    Target("channel", _CROWDED, "Time to pass an item through a channel of capacity 64 between coroutines, on 2 threads",
           "ns_per_item", limit=25),
    _times_as_fast("asio", "Asio's concurrent_channel"),
    _times_as_fast("tokio", "Tokio's mpsc"),
    _times_as_fast("async-channel", "async-channel on Tokio"),
    _times_as_fast("go", "Go"),
    _ahead("asio", "Asio's concurrent_channel", (*_RENDEZVOUS, *_IN_COROUTINES, *_UNBOUNDED)),
    _ahead("tokio", "Tokio's mpsc", (*_IN_COROUTINES, *_UNBOUNDED)),
    _ahead("async-channel", "async-channel on Tokio", (*_IN_COROUTINES, *_UNBOUNDED)),
    _ahead("flume", "flume on Tokio", (*_RENDEZVOUS, *_IN_COROUTINES, *_UNBOUNDED)),
    _ahead("kanal", "kanal on Tokio", (*_RENDEZVOUS, *_IN_COROUTINES, *_UNBOUNDED)),
    _ahead("go", "Go", (*_RENDEZVOUS, *_IN_COROUTINES)),
    _ahead("crossbeam", "crossbeam-channel", _threads((*_RENDEZVOUS, *_BOUNDED, *_UNBOUNDED)), "threads"),
    _ahead("kanal", "kanal", _threads((*_RENDEZVOUS, *_BOUNDED, *_UNBOUNDED)), "threads"),
    _at_most("socket-echo", ("1 connection", "100 connections"), "Echo over TCP with Asio's sockets on ekiden's "
             "contexts, compared with Asio's callbacks", "asio", 1.03, "us_per_trip"),
    _at_most("socket-echo", ("1 connection", "100 connections"), "Echo over TCP with Asio's sockets on "
             "ekiden's contexts, compared with Asio's awaitables",
             "asio-awaitables", 1, "us_per_trip"),
]

_BUSY = ("queens, busy", "matmul, busy", "nested, busy")

TARGETS = [
    _throughput("1 producer", "onetbb", "oneTBB", 3),
    _throughput("1 producer", "shared-queue", "a lean shared queue", 3),
    _throughput("1 producer", "boost-asio", "Boost.Asio", 10),
    _throughput("4 producers", "onetbb", "oneTBB", 10),
    _throughput("4 producers", "shared-queue", "a lean shared queue", 4),
    _at_most("throughput", ("1 producer", "4 producers"), "Calls of post_bulk, compared with the same number of posts", "ekiden", 1.0, "ns_per_task",
             "ekiden-post-bulk"),
    _at_most("latency", "awake", "P50 of the time from submit to result with awake threads, compared with two threads that "
             "signal each other through flags", "two-flags", 2.5, "p50"),
    Target("latency", "awake", "P99 divided by P50 of the time from submit to result with awake threads", "tail", limit=2),
    Target("latency", "awake", "P99.9 of the time from submit to result with awake threads", "p999", limit=5000),
    Target("latency", "awake", "P99.9 of the time from submit to result, compared with a lean shared queue", "p999", peer="shared-queue", times=15),
    Target("latency", "idle", "P50 of the time from submit to result after 10 ms without work, compared with a lean shared queue", "p50", peer="shared-queue",
           most=1.2),
    Target("latency", "idle", "CPU time that an idle pool uses in 2 s", "idle_cpu_ms", limit=1),
    Target("nested-spawn", "tree", "Tasks that spawn tasks, compared with oneTBB", "ns_per_task", peer="onetbb", times=2.5),
    Target("nested-spawn", "tree", "Tasks that spawn tasks, compared with Boost.Asio", "ns_per_task", peer="boost-asio",
           times=15),
    Target("fork-join", "fib, 1 thread", "fib(35) without cut-off on 1 thread, compared with the serial function", "ms",
           peer="serial", most=1.7),
    Target("fork-join", "fib", "fib(35) without cut-off on 2 threads, compared with the serial function", "ms", peer="serial",
           most=0.9),
    Target("fork-join", "fib", "fib(35) without cut-off, compared with oneTBB", "ms", peer="onetbb", times=20),
    _at_most("fork-join", "fib", "fib(35) without cut-off, compared with rayon", "rayon", 0.3, "ms"),
    _at_most("fork-join", ("matmul", "matmul, 1 thread", "nested", "nested, 1 thread"), "Matrices and nested loops on 1 and 2 "
             "threads, compared with oneTBB", "onetbb", 1, "ms"),
    _at_most("fork-join", ("nested", "nested, 1 thread"), "Nested loops, compared with OpenMP", "openmp-libgomp", 1, "ms"),
    *(_at_most("fork-join", _BUSY, f"Slowdown beside a busy process, compared with {name}", peer, 1, "slowdown",
               noun="slowdown") for name, peer in (("oneTBB", "onetbb"), ("OpenMP", "openmp-libgomp"),
                                                   ("rayon", "rayon"))),
    _at_most("parallel-for", "sort", "Sort of 4 million 32-bit numbers, compared with rayon", "rayon", 1.1, "ms"),
    Target("parallel-for", "light", "Light loop on 2 threads, compared with the serial loop", "ms", peer="serial", times=1.9),
    Target("parallel-for", "skewed", "Skewed loop on 2 threads, compared with the serial loop", "ms", peer="serial",
           times=1.9),
    Target("parallel-for", "light", "Light loop, compared with oneTBB", "ms", peer="onetbb", most=1),
    Target("parallel-for", "skewed", "Skewed loop, compared with oneTBB", "ms", peer="onetbb", most=1),
    _at_most("short-loops", SHORT_LOOPS, "Short loops back to back, compared with the serial loop", "serial", 1.05, "us"),
    _at_most("short-loops", AFTER_A_PAUSE, "Short loops after a pause, compared with the serial loop", "serial", 1.05, "us"),
    _at_most("bursts", BURSTS, "Bursts of tasks of 5 us, compared with Eigen's pool", "eigen", 1.03, "us"),
    _at_most("bursts", BURSTS, "CPU time of bursts of tasks of 5 us, compared with Eigen's pool", "eigen", 1, "cpu_us",
             noun="CPU time"),
    _at_most("eigen-tensor", TENSORS, "Eigen's Tensor module on ekiden's pool, compared with Eigen's own pool", "eigen", 1.03, "us"),
    _at_most("eigen-tensor", TENSORS, "CPU time of Eigen's Tensor module on ekiden's pool, compared with Eigen's own pool", "eigen", 1, "cpu_us", noun="CPU time"),
    Target("async-growth", "64 tasks", "First round of 64 tasks that block, compared with one thread for each task", "first_ms",
           peer="thread-per-task", most=1.2),
    Target("ablation", "submit", "ekiden's pool with all parts, compared with the published shared queue", "ns_per_task",
           peer="shared-queue-source", times=10),
    Target("kafka", ("1 ms, uniform", "10 ms, uniform"), "Records of Kafka, share of the bound by 16 functions", "in_flight_share", least=0.9),
    _at_most("kafka", KAFKA_WORK, "Records of Kafka, compared with Parallel Consumer", "parallel-consumer", 1, "us_per_record"),
    _at_most("kafka", KAFKA_WORK, "CPU time of records of Kafka, compared with Parallel Consumer", "parallel-consumer", 1, "cpu_us",
             noun="CPU time"),
    _at_most("kafka", ("0 ms, uniform", "0 ms, Zipf"), "Records of Kafka, compared with a consumer that does nothing else",
             "plain-consumer", 1.25, "us_per_record"),
    _at_most("algorithms", ("scan", "scan-functions", "find-early", "find-late"), "Scans and searches, compared with oneTBB",
             "onetbb", 1.05, "ms"),
    _at_most("algorithms", "stable-sort", "Stable sort, compared with rayon", "rayon", 1.05, "ms"),
    _at_most("algorithms", ("local-sums", "limited"), "A value for each thread and a limited group, compared with oneTBB",
             "onetbb", 1.05, "ms"),
    _at_most("pipeline", ("empty", "1 us", "1 us, any order", "uneven", "busy sink"), "Items of a pipeline, compared with oneTBB",
             "onetbb", 1.05, "ns_per_item"),
    _at_most("task-graph", ("wavefront", "fan", "small"), "Nodes of a graph of tasks, compared with oneTBB", "onetbb", 1.05,
             "ns_per_node"),
    Target("allocations", "post", "Allocations for each posted task in steady state", "per_task"),
    Target("allocations", "submit", "Allocations for each submitted task in steady state", "per_task"),
]


def judge(results):
    """Returns (target, goal, reached, met) for every target whose experiment was run."""
    run = {e["name"] for e in results.experiments}
    return [(t, *t.judge(results)) for t in TARGETS + EXECUTION + COROUTINES + SYNCHRONISATION if t.experiment in run]
