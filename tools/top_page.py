"""What the screens of ./dev top have in common: the difference of two pages of metrics, and texts of values."""

import collections
import math


class Change:
    """The difference of two pages."""

    def __init__(self, before, now, seconds):
        self.before, self.now, self.seconds = before, now, seconds

    def growth(self, key):
        """Returns how much a counter has grown. A counter that has become smaller belongs to a new process."""
        now, before = self.now[key], self.before.get(key, 0)
        return now - before if now >= before else now

    def value(self, name):
        return sum(v for (n, _), v in self.now.items() if n == name)

    def rate(self, name, **labels):
        wanted = set(labels.items())
        return sum(self.growth(k) for k in self.now if k[0] == name and wanted <= set(k[1])) / self.seconds

    def by_label(self, name, label):
        return {dict(labels)[label]: v for (n, labels), v in self.now.items() if n == name}

    def delays(self, histogram):
        """Returns the number of new durations in a histogram, and a function from a share of them to seconds."""
        counts = collections.Counter()
        for key in self.now:
            if key[0] == f"{histogram}_bucket":
                counts[float(dict(key[1])["le"].replace("Inf", "inf"))] += self.growth(key)
        total = counts[math.inf]

        def quantile(share):  # at most so much: the bounds are powers of two
            return next((bound for bound in sorted(counts) if counts[bound] >= share * total), math.inf)
        return total, quantile


def time_text(seconds):
    if math.isinf(seconds):
        return "over 17 s"
    for size, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= size or unit == "us":
            return f"{seconds / size:.3g} {unit}"


def number(value):
    return f"{value:,.0f}"


def key_text(key, most=40):
    """Returns the text of a key. Replaces characters that control a terminal, because a key can contain any characters."""
    shown = "".join(c if c.isprintable() else "?" for c in key)
    return shown if len(shown) <= most else shown[:most - 3] + "..."


def delay_text(change, histogram):
    """Returns the text of some quantiles, or None if the histogram has no new durations."""
    total, quantile = change.delays(histogram)
    if total == 0:
        return None
    return " ".join(f"{name} {time_text(quantile(share))}" for name, share in (("P50", .5), ("P99", .99), ("P99.9", .999)))
