"""Recommends a model for a trace: the answer of `./dev lab replay`, and its reasons.

Used by: replay.py. The criteria are, in this order: the results and the promised order were right (otherwise there are
no figures); the model keeps up with MARGIN times the trace's busiest second; P99 at the requested rate; the simpler
model, if the runs disagree on which is faster; CPU time.
"""

import dataclasses

MARGIN = 1.3
PROMISES = ["nothing", "exclusive", "order"]

# The fewer parts there are to get wrong, the simpler. What is not named comes last.
SIMPLE = ["single-consumer", "fifo-lock", "pool", "context-per-thread", "shared-context", "mutex-per-key", "lanes",
          "strand-per-key", "half-sync", "elastic-pool", "elastic-lanes", "async", "thread-per-request"]


@dataclasses.dataclass
class Point:
    """A model at a rate: the percentiles of its runs in microseconds. Empty if the model could not keep up."""

    rate: float
    p50: list
    p99: list
    p999: list
    sustained: bool
    lag_p99: float


@dataclasses.dataclass
class Model:
    name: str
    title: str
    promise: int
    note: str
    capacity: float  # served a second, as fast as possible; 0 if the cell failed
    failure: str
    keeps_up: float  # the highest rate that it was seen to keep up with
    fails_at: float  # the lowest rate that it was seen not to keep up with, or none
    points: dict  # by rate
    cpu_us: float = 0
    memory_kib: float = 0
    overtaken: float = 0

    @property
    def simplicity(self):
        if self.name == "ekiden":
            return SIMPLE.index("lanes")
        named = [name for name in SIMPLE if self.name.endswith("-" + name)]
        return SIMPLE.index(max(named, key=len)) if named else len(SIMPLE)

    def p99(self, rate):
        """Returns the median over the runs, or None."""
        runs = self.points[rate].p99 if rate in self.points else []
        return median(runs) if runs else None


@dataclasses.dataclass
class Advice:
    rate: float
    peak: float
    pick: Model = None
    runner_up: Model = None
    has_margin: bool = True
    is_tie: bool = False  # a simpler model was taken, though another one's median is lower
    doubled: str = ""  # what changes at twice the rate: a sentence


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def models(results):
    """Returns all models of the file, in its order."""
    experiment = next((e for e in results.experiments if e["name"] == "replay"), None)
    found = {}
    for cell in experiment["cells"] if experiment else []:
        m = found.setdefault(cell["implementation"], Model(cell["implementation"], cell["title"], 0, cell["note"], 0, "",
                                                           0, 0, {}))
        if cell["status"] != "ok":
            m.failure = m.failure or cell["reason"] or cell["status"]
            continue
        figure = {name: values["median"] for name, values in cell["figures"].items()}
        m.promise = int(figure["promise"])
        m.overtaken = max(m.overtaken, figure["overtaken"])
        if "sustained" not in figure:
            m.capacity, m.cpu_us, m.memory_kib = figure["rate"], figure["cpu_us"], figure["memory_kib"]
            continue
        rate = rate_of(cell["variant"])
        runs = {name: [r["figures"][name] for r in cell["repetitions"] if name in r["figures"]]
                for name in ("p50_us", "p99_us", "p999_us")}
        # A run that gave up has no percentiles; a point without one run is none.
        whole = len(runs["p99_us"]) == len(cell["repetitions"])
        point = Point(rate, *(runs[n] if whole else [] for n in ("p50_us", "p99_us", "p999_us")),
                      figure["sustained"] >= 0.5, figure.get("lag_p99_us", 0))
        m.points[rate] = point
        if point.sustained:
            m.keeps_up = max(m.keeps_up, rate)
        else:
            m.fails_at = min(m.fails_at or rate, rate)
    for name, seen in results.replay.get("saturation", {}).items():
        if name in found:
            found[name].keeps_up = max(found[name].keeps_up, seen["sustained"])
            found[name].fails_at = min(found[name].fails_at or seen["not"], seen["not"])
    return list(found.values())


def rate_of(variant):
    return float(variant.split()[0])


def beats(one, other, rate):
    """Returns whether the first model's P99 is lower in every pair of runs."""
    a, b = one.points[rate].p99, other.points[rate].p99
    return len(a) == len(b) and all(x < y for x, y in zip(a, b))


def advise(results):
    """Returns the recommendation. It has no model if none kept the promise."""
    facts = results.replay
    scale = facts["asked_rate"] / facts["rate"]
    rates = [r for m in models(results) for r in m.points]
    # The points' names have no fractions.
    rate = min(rates, key=lambda r: abs(r - facts["asked_rate"])) if rates else facts["asked_rate"]
    advice = Advice(rate, facts["peak_rate"] * scale)
    able = [m for m in models(results) if not m.failure and m.promise >= PROMISES.index(facts["need"])]
    if not able:
        return advice
    safe = [m for m in able if m.keeps_up >= MARGIN * advice.peak and m.p99(rate) is not None]
    advice.has_margin = bool(safe)
    if not safe:
        advice.pick = max(able, key=lambda m: (m.keeps_up, m.capacity))
        return advice
    fastest = min(safe, key=lambda m: m.p99(rate))
    ties = [m for m in safe if not beats(fastest, m, rate)]
    advice.pick = min(ties, key=lambda m: (m.simplicity, m.cpu_us))
    advice.is_tie = advice.pick is not fastest
    rest = [m for m in safe if m is not advice.pick]
    advice.runner_up = fastest if advice.is_tie else min(rest, key=lambda m: m.p99(rate), default=None)
    advice.doubled = _at_twice(advice, able, facts)
    return advice


def _at_twice(advice, able, facts):
    need = 2 * MARGIN * advice.peak
    if advice.pick.keeps_up >= need:
        return "At twice the rate it is still right."
    others = [m for m in able if m.keeps_up >= need]
    if others:
        best = max(others, key=lambda m: m.keeps_up)
        return (f"At twice the rate take {best.title}: this one keeps up to {number(advice.pick.keeps_up)} requests/s only, "
                f"that one to {number(best.keeps_up)}.")
    bounds = [("one key has too much work for any model that serves a key's requests one at a time",
               facts["bound_of_hottest_key"] if facts["need"] != "nothing" else None),
              ("these processors have too much work", facts["bound_of_processors"])]
    why = [f"{what} from {number(bound)} requests/s on" for what, bound in bounds if bound and bound < need]
    return ("At twice the rate no model has the margin here"
            + (f": {' and '.join(why)}." if why else "."))


def number(value):
    """Returns three significant digits, with commas."""
    if value >= 1000:
        step = 10 ** (len(str(int(value))) - 3)
        return f"{round(value / step) * step:,.0f}"
    return f"{value:.3g}"


def sentence(advice, facts, time):
    """Returns the answer. `time` converts microseconds to text."""
    if advice.pick is None:
        return "No model kept what your requests need: see the failures below."
    m, rate = advice.pick, advice.rate
    keeps = {"order": "keeps the order of each key", "exclusive": "runs the requests of a key one at a time",
             "nothing": "is right for requests that may run in any order"}[facts["need"]]
    if not advice.has_margin:
        nearest = (f"{m.title} comes nearest: it {keeps} and keeps up to {number(m.keeps_up)} requests/s" if m.keeps_up
                   else f"{m.title}, which {keeps}, serves the most as fast as possible: {number(m.capacity)} requests/s")
        return (f"No model was seen to keep up with {MARGIN} times the busiest second ({number(advice.peak)} requests/s) on "
                f"these processors; {nearest}.")
    p99 = m.points[rate].p99
    text = (f"Take {m.title}: at {number(rate)} requests/s its P99 is {time(median(p99))} "
            f"({time(min(p99))} to {time(max(p99))} in {len(p99)} run{'s' if len(p99) > 1 else ''}), it keeps up to {number(m.keeps_up)} requests/s, "
            f"{m.keeps_up / advice.peak:.1f} times the busiest second ({number(advice.peak)}), and it {keeps}. ")
    if advice.runner_up is not None:
        r = advice.runner_up
        theirs = time(r.p99(rate))
        text += (f"{r.title} has a P99 of {theirs}, no difference that all runs agree on, and more parts. "
                 if advice.is_tie else f"Next comes {r.title} with {theirs}. ")
    return text + advice.doubled
