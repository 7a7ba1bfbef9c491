"""The targets that the pool is held to, and whether a run meets them.

Used by: report.py. A target compares medians of one run; a cell that is missing or failed leaves it open.
"""

from dataclasses import dataclass
from typing import Optional

from model import digits, readable


@dataclass
class Target:
    experiment: str
    variant: str
    what: str                    # in words
    figure: str
    implementation: str = "ekiden"
    peer: Optional[str] = None   # None: `limit` is in the figure's own unit
    times: float = 0             # ours must be at most the peer's / times
    limit: float = 0             # ours must be at most this

    def judge(self, results):
        """(goal, reached, met): met is None where it cannot be told."""
        ours = results.median(self.experiment, self.variant, self.figure, self.implementation)
        unit = next((f["unit"] for e in results.experiments if e["name"] == self.experiment
                     for f in e["figures"] if f["name"] == self.figure), "1")
        if self.peer is None:
            goal = f"≤ {readable(self.limit, unit)}" if self.limit else "0"
            if ours is None:
                return goal, "", None
            # Of 0 allocations: what the counting cannot tell from 0, one in 1,000 tasks.
            return goal, readable(ours, unit), ours <= (self.limit or 0.001)
        theirs = results.median(self.experiment, self.variant, self.figure, self.peer)
        goal = f"≥ {self.times:g}x as fast" if self.times >= 1 else f"≤ {1 / self.times:.3g}x its time"
        if ours is None or theirs is None or ours <= 0:
            return goal, "", None
        reached = f"{digits(theirs / ours)}x as fast" if self.times >= 1 else f"{ours / theirs:.2f}x its time"
        return goal, reached, theirs / ours >= self.times


def _throughput(variant, peer, name, times):
    return Target("throughput", variant, f"Empty tasks, {variant}, against {name}", "ns_per_task", peer=peer,
                  times=times)


TARGETS = [
    _throughput("1 producer", "onetbb", "oneTBB", 3),
    _throughput("1 producer", "shared-queue", "a lean shared queue", 3),
    _throughput("1 producer", "boost-asio", "Boost.Asio", 10),
    _throughput("4 producers", "onetbb", "oneTBB", 10),
    _throughput("4 producers", "shared-queue", "a lean shared queue", 4),
    Target("latency", "awake", "Submit to result, both awake, P50", "p50", limit=300),
    Target("latency", "awake", "Submit to result, both awake, P99", "p99", limit=600),
    Target("latency", "awake", "Submit to result, both awake, P99.9", "p999", limit=5000),
    Target("latency", "awake", "P99.9 against a lean shared queue", "p999", peer="shared-queue", times=15),
    Target("latency", "idle", "After 10 ms idle, P50, against a lean shared queue", "p50", peer="shared-queue",
           times=1 / 1.2),
    Target("latency", "idle", "CPU time of an idle pool in 2 s", "idle_cpu_ms", limit=1),
    Target("nested-spawn", "tree", "Tasks that spawn tasks, against oneTBB", "ns_per_task", peer="onetbb", times=2.5),
    Target("nested-spawn", "tree", "Tasks that spawn tasks, against Boost.Asio", "ns_per_task", peer="boost-asio",
           times=15),
    Target("fork-join", "fib, 1 thread", "fib(35) without cut-off, 1 thread, against the serial function", "ms",
           peer="serial", times=1 / 1.7),
    Target("fork-join", "fib", "fib(35) without cut-off, 2 threads, against the serial function", "ms", peer="serial",
           times=1 / 0.9),
    Target("fork-join", "fib", "fib(35) without cut-off, against oneTBB", "ms", peer="onetbb", times=20),
    Target("parallel-for", "light", "Light loop on 2 threads, against the serial loop", "ms", peer="serial", times=1.9),
    Target("parallel-for", "skewed", "Skewed loop on 2 threads, against the serial loop", "ms", peer="serial",
           times=1.9),
    Target("parallel-for", "light", "Light loop, against oneTBB", "ms", peer="onetbb", times=1),
    Target("parallel-for", "skewed", "Skewed loop, against oneTBB", "ms", peer="onetbb", times=1),
    Target("async-growth", "64 tasks", "64 tasks that block, first round, against a thread per task", "first_ms",
           peer="thread-per-task", times=1 / 1.2),
    Target("ablation", "submit", "All steps together against the source's shared queue", "ns_per_task",
           peer="shared-queue-source", times=10),
    Target("allocations", "post", "Allocations per posted task, steady state", "per_task"),
    Target("allocations", "submit", "Allocations per submitted task, steady state", "per_task"),
]


def judge(results):
    """(target, goal, reached, met) for every target whose experiment was run."""
    run = {e["name"] for e in results.experiments}
    return [(t, *t.judge(results)) for t in TARGETS if t.experiment in run]
