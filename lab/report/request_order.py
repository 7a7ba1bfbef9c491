"""The CSV and the three plots of experiment request-order, in the form of its source.

Used by: sections.py, report.py.
"""

import urllib.parse

import pandas as pd

import plots

COLUMNS = ["method", "N", "second", "id diff count", "max lock size", "max queue size"]
LABELS = {"second": "time[sec]", "max lock size": "max lock size", "max queue size": "max queue size"}


def table(experiment):
    """Returns a row for each repetition, in the form that the source prints."""
    rows = [[c["title"], int(c["variant"]), round(r["figures"]["second"], 6)]
            + [int(r["figures"][name]) for name in COLUMNS[3:]]
            for c in experiment["cells"] if c["status"] == "ok" for r in c["repetitions"]]
    return pd.DataFrame(rows, columns=COLUMNS)


def csv(experiment):
    return table(experiment).to_csv(index=False, lineterminator="\n")


def draw(experiment):
    """Returns the three plots as HTML: the mean over N with the standard deviation as bars, and a line for each method."""
    rows = table(experiment)
    if rows.empty:
        return ""
    own = {c["title"] for c in experiment["cells"] if c["implementation"].startswith("ekiden")}
    easier = {c["title"] for c in experiment["cells"] if not c["ranked"]}
    methods = list(rows["method"].unique())
    place = {m: [o for o in methods if (o in own) == (m in own)].index(m) for m in methods}  # keeps its colour
    text = ""
    for column, label in LABELS.items():
        lines = []
        for method, of in rows.groupby("method", sort=False):
            if column != "second" and not of[column].any():
                continue  # zero: the method cannot tell
            by_size = of.groupby("N")[column]
            mean, spread = by_size.mean(), by_size.std(ddof=0)
            lines.append((method, method in own, place[method], method in easier, list(mean.index), list(mean),
                          list(spread)))
        text += plots.spreads(lines, "the number of threads", label, column.replace(" ", "-"), label)
    data = urllib.parse.quote(csv(experiment))
    return text + (f'<p class="legend">Means with the standard deviation as bars. Dashed: methods that do less. A line '
                   f"that is far above the others runs off the top; a method that cannot tell a size has no line for it. "
                   f'<a download="request-order.csv" href="data:text/csv;charset=utf-8,{data}">All repetitions as '
                   f"CSV</a></p>")
