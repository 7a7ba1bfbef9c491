"""A results file of the lab as tables.

Used by: report.py and all modules that it uses. lab/README.md describes the file's form.
"""

import datetime
import gzip
import html
import json
import re

import pandas as pd

SCHEMA = 2
CELL = ["experiment", "variant", "pinned", "implementation", "title", "order", "note", "ranked", "manner", "status",
        "reason", "scale", "rounds", "date", "series", "wall_s", "cpu_s", "voluntary_switches", "involuntary_switches"]


class Results:
    """A run of the lab, and the tables of earlier runs that it has not measured again.

    `run` describes the run. `experiments` has the file's descriptions, in order. `cells` has a row for each cell with
    the columns of CELL, of which the last four are medians. `fresh` says for each cell whether this run measured it.
    `figures` has a row for each cell and figure, with its summary.
    """

    def __init__(self, document):
        if document.get("schema") != SCHEMA:
            raise ValueError(f"schema is {document.get('schema')!r}; this report reads {SCHEMA}")
        self.run = document["run"]
        self.workers = document["workers"]
        self.machine = document["machine"]
        self.replay = document.get("replay")  # what `ekiden-lab replay FILE` adds
        self.experiments = document["experiments"]
        cells, figures = [], []
        for experiment in self.experiments:
            for number, cell in enumerate(experiment["cells"]):
                key = {"experiment": experiment["name"], "variant": cell["variant"], "pinned": cell["pinned"],
                       "implementation": cell["implementation"], "title": cell["title"]}
                usage = {name: values["median"] for name, values in cell.get("usage", {}).items()}
                kind = {"ranked": cell.get("ranked", True), "manner": cell.get("manner", "")}
                cells.append({**key, **kind, "order": number, "note": cell["note"],
                              "status": cell["status"], "reason": cell["reason"], "scale": cell["scale"],
                              "rounds": cell["rounds"], "date": cell["date"],
                              "series": cell.get("series", {}), **usage})
                for name, values in cell.get("figures", {}).items():
                    figures.append({**key, **kind, "figure": name, **values})
        self.cells = pd.DataFrame(cells, columns=CELL)
        self.fresh = self.cells.date >= self.machine["date"]
        self.figures = pd.DataFrame(figures)
        # By table and figure: a report asks for some thousands of them.
        self._summaries, self._no_summary = {}, self.figures
        if not self.figures.empty:
            self._summaries = {
                key: rows.set_index("implementation")
                for key, rows in self.figures.groupby(["experiment", "variant", "figure", "pinned"], sort=False)}
            self._no_summary = self.figures.iloc[:0].set_index("implementation")

    def of(self, experiment, variant, pinned=False):
        """Returns the cells of one table, in its order."""
        c = self.cells
        return c[(c.experiment == experiment) & (c.variant == variant) & (c.pinned == pinned)]

    def summary(self, experiment, variant, figure, pinned=False):
        """Returns the summaries of one figure, with a row for each implementation that has it, indexed by
        implementation."""
        return self._summaries.get((experiment, variant, figure, pinned), self._no_summary)

    def age(self, experiment, variant, pinned=False):
        """Returns how much older than this run a table is, such as '3 hours older'. Empty if this run measured it."""
        cells = self.of(experiment, variant, pinned)
        return older(minutes_between(cells.date.max(), self.machine["date"])) if not cells.empty else ""

    def median(self, experiment, variant, figure, implementation, pinned=False):
        """Returns one median, or None."""
        s = self.summary(experiment, variant, figure, pinned)
        return float(s.loc[implementation, "median"]) if implementation in s.index else None


def load(path):
    """Reads the file, even if it is compressed by gzip. Raises OSError, or ValueError if it is not a results file."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        try:
            return Results(json.load(file))
        except KeyError as missing:
            raise ValueError(f"not a results file of the lab: {missing} is missing") from missing


def minutes_between(earlier, later):
    """Returns the minutes between two dates of the file."""
    seconds = [datetime.datetime.strptime(d, "%Y-%m-%dT%H:%M:%SZ").timestamp() for d in (earlier, later)]
    return (seconds[1] - seconds[0]) / 60


def older(minutes):
    """Returns text such as '3 hours older'. Empty below a minute."""
    for unit, size in (("day", 24 * 60), ("hour", 60), ("minute", 1)):
        count = int(minutes // size)
        if count > 0:
            return f"{count} {unit}{'s' if count > 1 else ''} older"
    return ""


def figure_of(experiment, name):
    return next(f for f in experiment["figures"] if f["name"] == name)


def words(text):
    """Returns the unit for HTML, with the Greek letter that the terminal does not show."""
    return html.escape(re.sub(r"\bus\b", "µs", text))


def readable(value, unit):
    """Returns `value` with three significant digits and a suitable unit, such as '12.3 us'."""
    if value is None or pd.isna(value):
        return ""
    if unit == "share":
        return f"{digits(value * 100)} %"
    if unit == "count":
        return f"{value:,.0f}"
    factors = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    if unit not in factors:
        return digits(value)
    seconds = value * factors[unit]
    best = "ns"
    for name, factor in factors.items():
        if seconds >= factor * 0.9995:
            best = name
    return f"{digits(seconds / factors[best])} {best.replace('us', 'µs')}"


def span(low, high, unit):
    """Returns a range such as '12.1 – 12.9 us', with one unit if both have the same."""
    low, high = readable(low, unit), readable(high, unit)
    (a, _, one), (_, _, other) = low.partition(" "), high.partition(" ")
    return f"{a if one == other else low} – {high}"


def digits(value):
    size = abs(value)
    if 0 < size < 0.005:
        return "< 0.01"
    if size == 0 or size >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"
