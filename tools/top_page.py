"""What the screens of ./dev top have in common: the difference of two pages of metrics, and texts of values.

The live page in a browser (src/ekiden/observe/detail/live_page.cpp) names the figures. This module reads its names.
"""

import collections
import functools
import json
import math
import pathlib
import re

LIVE_PAGE = pathlib.Path(__file__).parent.parent / "src/ekiden/observe/detail/live_page.cpp"


def live_page():
    """Returns the text that ekiden::live_page() returns."""
    return "".join(re.findall(r'R"html\((.*?)\)html"', LIVE_PAGE.read_text(encoding="utf-8"), re.S))


@functools.cache
def figures():
    """Returns the charts and the lists of the live page."""
    return json.loads(re.search(r'id="figures">(.*?)</script>', live_page(), re.S)[1])


def series_of(chart, name):
    series = next(c for c in figures()["charts"] if c["title"] == chart)["series"]
    return next(s for s in series if s["name"] == name)


def list_of(title):
    return next(one for one in figures()["lists"] if one["title"] == title)


def fits(name, pattern):
    return name.endswith(pattern[1:]) if pattern[0] == "*" else name == pattern


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

    def figure(self, series):
        """Returns the number of a series of the live page, or None if there is none now."""
        if "quantile" in series:
            total, quantile = self.delays(series["of"])
            return quantile(series["quantile"]) if total else None
        keys = [k for k in self.now if fits(k[0], series.get("rate") or series["value"])]
        if not keys:
            return None
        return sum(map(self.growth, keys)) / self.seconds if "rate" in series else sum(self.now[k] for k in keys)

    def shown(self, chart, name):
        """Returns the text of a number on the live page."""
        return number(self.figure(series_of(chart, name)) or 0)

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
