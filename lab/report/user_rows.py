"""The rows of the lab that users have: what decides whether a special path of the library pays.

Used by: compare.py. lab/README.md explains the rule.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    experiment: str
    variant: str
    figure: str
    implementation: str = "ekiden"
    cpu: str = ""                 # the figure with the CPU time, if the experiment has one
    higher_is_better: bool = False


def _rows(experiment, variants, figure, cpu="", **more):
    return [Row(experiment, variant, figure, cpu=cpu, **more) for variant in variants]


def _lengths(*lengths):
    return [Row("granularity", "lengths", length, higher_is_better=True) for length in lengths]


# A change may cost a row of this list at most a tenth of its time.
OF_USERS = [
    # tasks of 1 us and more
    *_lengths("1", "3", "10", "100"),
    # real clients
    *_rows("server", ("20 us", "0"), "us_per_request", "server_cpu_us"),
    *_rows("socket-echo", ("1 connection", "100 connections"), "us_per_trip", "cpu_us"),
    # locks and buffers under contention
    *_rows("mutex", ("2 threads", "8 threads", "64 threads"), "ns_per_section", "cpu_ns_per_section"),
    *_rows("rwlock", ("1:1 waiting", "100:1 waiting", "1:1 empty"), "elapsed_ms"),
    *_rows("bounded-buffer", ("1", "16", "1024"), "ns_per_item", "cpu_ns_per_item"),
    *_rows("semaphore", ("1 permit", "4 permits", "answers"), "ns_per_turn", "cpu_ns_per_turn"),
    *_rows("barrier", ("20 x 10,000", "2,000 x 100"), "elapsed_ms", "cpu_ms"),
    # strands and lanes
    *_rows("strand", ("none", "strand", "bind", "wrap"), "ns_per_handler", "cpu_ns"),
    *_rows("strands-hop", ("1 thread", "2 threads"), "ns_per_hop", "cpu_ns"),
    *_rows("lanes", ("Zipf, 10,000 keys, 4 producers", "Zipf, 10,000 keys, 1 producer",
                     "uniform, 1,000,000 keys, 4 producers"), "ns_per_task", "cpu_ns"),
    *_rows("lanes", ("hot",), "longest_delay_us"),
    *_rows("several-keys", ("two keys", "two keys, 1 us"), "ns_per_request"),
    # loops that threads run, timers, coroutines
    *_rows("io-models", ("beforehand, 1,000 turns, 1 thread", "beforehand, 1,000 turns, 2 threads",
                         "produced, 1,000 turns, 2 threads", "chained, 1,000 turns, 2 threads"), "ns_per_handler", "cpu_ns"),
    *_rows("timers", ("schedule-many",), "schedule_ns"),
    *_rows("timers", ("fire-many",), "fire_ns"),
    *_rows("coroutine-hop", ("64 coroutines, 1 thread", "64 coroutines, 2 threads"), "ns_per_hop", "cpu_ns"),
    *_rows("channel", ("8 to 8, 64", "8 to 1, 64", "1 to 1, unbounded", "8 to 8, 64, threads"), "ns_per_item", "cpu_ns"),
    # fork-join, and loops of 100 us and more
    *_rows("fork-join", ("fib", "queens", "matmul", "nested", "matmul, busy"), "ms", "cpu_ms"),
    *_rows("parallel-for", ("light", "skewed", "reduce", "sort"), "ms", "cpu_ms"),
    *_rows("short-loops", ("20 x 5 us", "200 x 0.5 us", "1000 x 1 us", "20 x 5 us, pauses", "200 x 0.5 us, pauses",
                           "1000 x 1 us, pauses"), "us", "cpu_us"),
    *_rows("eigen-tensor", ("element-wise 1024", "contraction 512"), "us", "cpu_us"),
]

# A simplification may make these slower, up to 1.3 times, while they stay ahead of every peer that queues.
OTHERS = [
    *_rows("throughput", ("1 producer", "4 producers"), "ns_per_task", "cpu_ns_per_task"),
    Row("throughput", "1 producer", "ns_per_task", "ekiden-post-bulk", "cpu_ns_per_task"),
    *_rows("latency", ("awake", "idle"), "p50"),
    *_rows("nested-spawn", ("tree",), "ns_per_task", "cpu_ns_per_task"),
    *_rows("short-loops", ("2 x 5 us", "20 x 0.5 us", "2 x 5 us, pauses", "20 x 0.5 us, pauses"), "us", "cpu_us"),
    *_rows("bursts", ("4 blocks, 0 us", "4 blocks, 200 us"), "us", "cpu_us"),
    *_rows("io-models", ("beforehand, 1,000 turns, 2 threads",), "ns_per_handler", "cpu_ns",
           implementation="ekiden-per-thread"),
    *_rows("timers", ("cancel-many",), "cancel_ns"),
]
