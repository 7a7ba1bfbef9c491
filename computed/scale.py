"""Measures the rows of computed/rows on this machine, computes them on machines with more cores, and writes both as JSON and
as a page with pictures. `./dev lab scale` calls this script."""

import argparse
import html
import io
import json
import os
import pathlib
import signal
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

TABLES = pathlib.Path(__file__).parent / "tables"
CORES = (1, 2, 4, 8, 16, 32, 64, 128)
GOOD, FAIR = 1.5, 2.0  # up to GOOD, a row is valid; up to FAIR, it has a mark
COLORS = {"ekiden": "#0b6e4f", "shared queue": "#c1440e", "textbook stealing": "#3a5a98", "futex mutex": "#8a6d00"}


def rows_of(command, limit_s=600):
    """Runs a program of rows. Returns its objects, as many as it has printed within the limit."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
        try:
            text, _ = running.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)  # each row has a process of its own
            text, _ = running.communicate()
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def compute(program, table, cores, *extra, limit_s=600):
    return rows_of([program, "--table", str(TABLES / f"{table}.table"), "--cores", str(cores), *extra], limit_s)


def lower_quartile(values):
    return statistics.quantiles(values, n=4, method="inclusive")[0] if len(values) > 1 else values[0]


def validate(computed, rows, rounds):
    """Returns the rows of 2 cores, computed and measured. A measured figure is the lower quartile of all rounds, because other
    programs only make a figure larger."""
    measured = {}
    for one in rows_of([rows, "--cores", "2", "--rounds", str(rounds)]):
        measured.setdefault((one["row"], one["system"]), []).append(one["ns"])
    found = []
    for one in compute(computed, "two", 2):
        values = measured.get((one["row"], one["system"]))
        if values:
            found.append({"row": one["row"], "system": one["system"], "computed_ns": one["ns"],
                          "measured_ns": lower_quartile(values), "median_ns": statistics.median(values),
                          "least_ns": min(values), "ratio": one["ns"] / lower_quartile(values)})
    return found


def verdict(ratio):
    factor = max(ratio, 1 / ratio)
    return "valid" if factor <= GOOD else "marked" if factor <= FAIR else "not valid"


def curves(computed, table, most, limit_s):
    """Returns all points. A row of another system that would take too long is left out. With many cores, the others have
    fewer tasks, because the engine has to compute each attempt of a worker that finds nothing."""
    def part(job):
        cores, system = job
        scale = 1 if system == "ekiden" or cores < 32 else 0.1
        return compute(computed, table, cores, "--system", system, "--scale", str(scale), limit_s=limit_s)

    jobs = [(c, s) for c in CORES if c <= most for s in COLORS]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        found = pool.map(part, jobs)
        return [one for points in found for one in points if not one["row"].startswith("probe")]


def picture(row, points):
    """Returns an SVG: ns of the wall clock over cores, both axes logarithmic."""
    figure, axes = plt.subplots(figsize=(4.6, 3.1))
    for system in sorted({p["system"] for p in points}, key=list(COLORS).index):
        line = sorted((p["cores"], p["ns"]) for p in points if p["system"] == system)
        axes.plot(*zip(*line), marker="o", markersize=3, color=COLORS[system], label=system)
    ideal = points[0]["ideal_ns"]
    counts = sorted({p["cores"] for p in points})
    if ideal:
        axes.plot(counts, [ideal / c for c in counts], color="#999999", linestyle="--", linewidth=1, label="ideal")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(counts, [str(c) for c in counts])
    axes.set_title(f"{row} (computed)", fontsize=9)
    axes.set_xlabel("cores", fontsize=8)
    axes.set_ylabel("ns", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg")
    plt.close(figure)
    return text.getvalue().split("?>", 1)[-1].split(">", 1)[-1].strip()


def cells(values, tag="td"):
    return "<tr>" + "".join(f"<{tag}>{html.escape(str(v))}</{tag}>" for v in values) + "</tr>"


def number(ns):
    return f"{ns:,.1f}" if ns < 100 else f"{ns:,.0f}"


def page(results):
    state = {(v["row"], v["system"]): verdict(v["ratio"]) for v in results["validation"]}
    parts = ["<!doctype html><meta charset=utf-8><title>ekiden: computed curves</title><style>body{font:15px sans-serif;"
             "max-width:75em;margin:2em auto}table{border-collapse:collapse}td,th{padding:.15em .7em;border-bottom:1px solid #ddd;"
             "text-align:right}td:first-child,th:first-child{text-align:left}.p{display:inline-block;margin:.5em}</style>",
             "<h1>ekiden on many cores: computed, not measured</h1>",
             "<p>An engine computes these figures (computed/README.md). They are no measurements. The machine of the curves has "
             f"{html.escape(results['machine'])}. Up to 64 cores, all cores are in one socket.</p>",
             "<h2>Validation on 2 cores</h2><p>The measured figure is the lower quartile. A row within a factor of "
             f"{GOOD} is valid, and a row within a factor of {FAIR} has a mark.</p><table>",
             cells(("row", "system", "computed ns", "measured ns", "median ns", "computed / measured", "verdict"), "th")]
    for v in results["validation"]:
        parts.append(cells((v["row"], v["system"], number(v["computed_ns"]), number(v["measured_ns"]), number(v["median_ns"]),
                            f"{v['ratio']:.2f}", verdict(v["ratio"]))))
    parts.append("</table><h2>Curves</h2>")
    for row in dict.fromkeys(p["row"] for p in results["curves"]):
        points = [p for p in results["curves"] if p["row"] == row]
        of_ekiden = state.get((row, "ekiden"), "not measured")
        parts.append(f"<div class=p>{picture(row, points)}<br>on 2 cores, the row of ekiden is {of_ekiden}</div>")
    parts.append("<h2>Figures</h2><table>")
    counts = sorted({p["cores"] for p in results["curves"]})
    parts.append(cells(("row", "system", *counts), "th"))
    figures = {(p["row"], p["system"], p["cores"]): p["ns"] for p in results["curves"]}
    for row, system in dict.fromkeys((p["row"], p["system"]) for p in results["curves"]):
        parts.append(cells((row, system, *(number(figures[row, system, c]) if (row, system, c) in figures else "-"
                                           for c in counts))))
    return "\n".join([*parts, "</table>"])


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--computed", required=True, help="the program ekiden-computed")
    options.add_argument("--rows", required=True, help="the program ekiden-rows")
    options.add_argument("--rounds", type=int, default=12, help="rounds of the measurement")
    options.add_argument("--limit", type=int, default=300, help="seconds for the rows of one system with one number of cores")
    options.add_argument("--out", required=True, help="the JSON file")
    options.add_argument("--page", required=True, help="the HTML file")
    asked = options.parse_args()
    results = {"machine": "two sockets of 64 cores, with 8 clusters in each",
               "validation": validate(asked.computed, asked.rows, asked.rounds),
               "curves": curves(asked.computed, "sockets128", 128, asked.limit)}
    pathlib.Path(asked.out).write_text(json.dumps(results, indent=1) + "\n")
    pathlib.Path(asked.page).write_text(page(results))
    counts = {}
    for v in results["validation"]:
        counts[verdict(v["ratio"])] = counts.get(verdict(v["ratio"]), 0) + 1
    print("validation on 2 cores:", ", ".join(f"{n} {name}" for name, n in counts.items()))


if __name__ == "__main__":
    main()
