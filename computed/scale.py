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
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
import matplotlib.pyplot as plt

HERE = pathlib.Path(__file__).parent
CORES = (1, 2, 4, 8, 16, 32, 64, 128)
GOOD, FAIR = 1.5, 2.0  # up to GOOD, a row is valid; up to FAIR, it has a mark
COLORS = {"ekiden": "#0f9d58", "shared queue": "#e8710a", "lock-free queue": "#d93f8e", "textbook stealing": "#4285f4",
          "source, plain": "#a67c00", "source, tuned": "#9b6bd6", "futex mutex": "#a67c00"}  # readable on white and on black
FIRST = ("empty task", "task of 1 us", "nested", "fork-join", "uneven", "loop", "wake", "submit", "idle", "lane", "strand", "timer")
SOURCE = "source: "  # rows that only show the steps of the source's pool


def rows_of(command, limit_s=600):
    """Runs a program of rows. Returns its objects, as many as it has printed within the limit."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
        try:
            text, _ = running.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)  # each row has a process of its own
            text, _ = running.communicate()
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def in_parallel(function, jobs):
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return [one for found in pool.map(function, jobs) for one in found]


def compute(program, table, cores, *extra, limit_s=600):
    return rows_of([program, "--table", str(HERE / "tables" / f"{table}.table"), "--cores", str(cores), *extra], limit_s)


def beside(computed, measured, kind):
    """Returns the computed rows that were measured, too. `measured` has (low, median, high) for each row. `kind` says which of the
    three is compared."""
    found = []
    for one in computed:
        values = measured.get((one["row"], one["system"], one["cores"]))
        if values:
            found.append({"row": one["row"], "system": one["system"], "cores": one["cores"], "computed_ns": one["ns"],
                          "low_ns": values[0], "median_ns": values[1], "high_ns": values[2],
                          "ratio": one["ns"] / values[kind]})
    return found


def validate_here(computed, rows, rounds):
    """Compares the rows of 2 cores with this machine. A measured figure is the lower quartile of all rounds, because other programs
    only make a figure larger."""
    measured = {}
    for one in rows_of([rows, "--cores", "2", "--rounds", str(rounds)], limit_s=60 * rounds):
        measured.setdefault((one["row"], one["system"], 2), []).append(one["ns"])
    quartiles = {k: statistics.quantiles(v, n=4, method="inclusive") if len(v) > 1 else v * 3 for k, v in measured.items()}
    return beside(compute(computed, "two", 2), quartiles, 0)


def validate_file(computed, file):
    """Compares the rows with measurements of another machine (computed/measured). They are medians, because that machine was
    quiet. The program does not compute the probes on one core, because two threads take turns in some of them."""
    stored = json.loads(file.read_text())
    measured = {(m["row"], m["system"], m["cores"]): (m["low_ns"], m["median_ns"], m["high_ns"]) for m in stored["rows"]}
    jobs = [(system, cores) for cores in sorted({k[2] for k in measured}, reverse=True)
            for system in sorted({k[1] for k in measured}) if not (cores == 1 and system == "machine")]
    computed_rows = in_parallel(lambda job: compute(computed, stored["about"]["table"], job[1], "--system", job[0]), jobs)
    return {"about": stored["about"], "rows": beside(computed_rows, measured, 1)}


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

    points = in_parallel(part, [(c, s) for c in reversed(CORES) if c <= most for s in COLORS])
    order = list(dict.fromkeys(p["row"] for p in points if p["system"] == "ekiden"))
    points = [p for p in points if p["row"] in order]
    return sorted(points, key=lambda p: (order.index(p["row"]), list(COLORS).index(p["system"]), p["cores"]))


def ranks(values):
    order = sorted(values, key=values.get)
    return {name: order.index(name) + 1 for name in values}


def steps_of(validation):
    """Returns the steps of the source's pool for each of its rows, with ranks, and Spearman's correlation of the ranks."""
    found = {}
    for row in dict.fromkeys(v["row"] for v in validation if v["row"].startswith(SOURCE)):
        of_row = {v["system"]: v for v in validation if v["row"] == row}
        computed = ranks({s: v["computed_ns"] for s, v in of_row.items()})
        measured = ranks({s: v["low_ns"] for s, v in of_row.items()})
        n = len(of_row)
        rho = 1 - 6 * sum((computed[s] - measured[s]) ** 2 for s in of_row) / (n * (n * n - 1)) if n > 1 else 1
        found[row] = {"rho": rho, "steps": [(s, computed[s], measured[s]) for s in sorted(of_row, key=measured.get)]}
    return found


# ---- the page

STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #0f9d58; --fair: #b98900; --bad: #d9463d; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
.note { border-left: .3rem solid var(--fair); padding: .2rem 1rem; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
td, th { padding: .15rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
td:first-child, th:first-child, td:nth-child(2), th:nth-child(2) { text-align: left; }
thead th { position: sticky; top: 0; background: Canvas; }
.scroll { overflow-x: auto; }
.valid { color: var(--good); } .marked { color: var(--fair); } .not { color: var(--bad); font-weight: 600; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(23rem, 1fr)); gap: 1.2rem; }
figure { margin: 0; } figure svg { width: 100%; height: auto; } figure svg text { fill: currentColor; }
.legend { position: sticky; top: 0; background: Canvas; padding: .5rem 0; display: flex; flex-wrap: wrap; gap: .2rem 1.5rem; }
.legend i { display: inline-block; width: 1.6rem; height: .25rem; vertical-align: middle; margin-right: .4rem; border-radius: 2px; }
figcaption { font-size: .85rem; } figcaption b { font-size: 1rem; display: block; }
"""


def picture(points):
    """Returns an SVG: ns of the wall clock over cores, both axes logarithmic. Its text has the color of the page."""
    figure, axes = plt.subplots(figsize=(5, 3.2))
    for system in dict.fromkeys(p["system"] for p in points):
        line = [(p["cores"], p["ns"]) for p in points if p["system"] == system]
        axes.plot(*zip(*line), marker="o", markersize=3, color=COLORS[system],
                  linewidth=2.2 if system == "ekiden" else 1.3, zorder=3 if system == "ekiden" else 2)
    ideal = points[0]["ideal_ns"]
    counts = sorted({p["cores"] for p in points})
    if ideal:
        axes.plot(counts, [ideal / c for c in counts], color="#888888", linestyle="--", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(counts, [str(c) for c in counts])
    unit = 1000 if min(p["ns"] for p in points) > 2000 else 1
    low, high = axes.get_ylim()
    between = "2357" if high / low < 5 else "25" if high / low < 100 else ""  # with few powers of ten, the axis needs more numbers
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / unit:,.6g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value / unit:,.6g}" if f"{value:.0e}"[0] in between else "")
    axes.set_xlabel("cores", fontsize=9)
    axes.set_ylabel("us" if unit == 1000 else "ns", fontsize=9)
    axes.tick_params(labelsize=8, which="both")
    axes.grid(alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True)
    plt.close(figure)
    svg = text.getvalue()
    return svg[svg.index("<svg"):].replace("#000000", "currentColor").strip()


def number(ns):
    return f"{ns:,.1f}" if ns < 100 else f"{ns:,.0f}"


def cells(values, tag="td"):
    """A value is a text, or a pair of a text and a class."""
    made = [v if isinstance(v, tuple) else (v, "") for v in values]
    return "<tr>" + "".join(f'<{tag} class="{c}">{html.escape(str(v))}</{tag}>' for v, c in made) + "</tr>"


def table(head, lines):
    return ["<div class=scroll><table><thead>", cells(head, "th"), "</thead>", *lines, "</table></div>"]


def judged(ratio):
    return f"{ratio:.2f}", verdict(ratio).split()[0]


def counted(validation):
    verdicts = [verdict(v["ratio"]) for v in validation if not v["row"].startswith("probe")]
    return ", ".join(f"{verdicts.count(name)} {name}" for name in ("valid", "marked", "not valid"))


def validation_tables(results):
    other = results["other"]
    counts = sorted({v["cores"] for v in other["rows"]})
    figures = {(v["row"], v["system"], v["cores"]): v for v in other["rows"]}
    lines = []
    for row, system in dict.fromkeys(k[:2] for k in figures):
        line = [row, system]
        for c in counts:
            v = figures.get((row, system, c))
            line += [number(v["computed_ns"]), f"{number(v['median_ns'])} [{number(v['low_ns'])}..{number(v['high_ns'])}]",
                     judged(v["ratio"])] if v else ["", "", ""]
        lines.append(cells(line))
    head = ["row", "system", *(text for c in counts for text in (f"{c}: computed", "measured", "ratio"))]
    yield from [f"<h3>{html.escape(other['about']['machine'])}</h3>",
                f"<p>Medians of {other['about']['rounds']} rounds, with quartiles, in ns. Rows: {counted(other['rows'])}.</p>",
                *table(head, lines)]
    yield from ["<h3>This machine, 2 cores</h3>",
                f"<p>The measured figure is the lower quartile, and the median stands beside it. Rows: {counted(results['here'])}. Before the "
                f"measurement, the load average was {results['load']:.1f}. If other programs run, this table says little.</p>"]
    yield from table(("row", "system", "computed ns", "measured ns", "median ns", "computed / measured", "verdict"),
                     [cells((v["row"], v["system"], number(v["computed_ns"]), number(v["low_ns"]), number(v["median_ns"]),
                             judged(v["ratio"]), verdict(v["ratio"]))) for v in results["here"]])


def page(results):
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
             f"<title>ekiden: computed curves</title><style>{STYLE}</style>",
             "<h1>ekiden on many cores: computed, not measured</h1>",
             "<p class=note>An engine computes these figures (computed/README.md). They are no measurements. The machine of the "
             f"curves has {html.escape(results['machine'])}. Up to 64 cores, all cores are in one socket.</p>",
             "<h2>Curves</h2><p>Time over cores; lower is better. The line below a picture compares the row of ekiden with the "
             f"measurements of the next section: up to a factor of {GOOD}, it is valid, and up to {FAIR}, it is marked.</p>",
             "<div class=legend>", *(f'<span><i style="background:{color}"></i>{name}</span>' for name, color in COLORS.items()),
             '<span><i style="background:#888;height:1px"></i>ideal</span></div><div class=pictures>']

    def ratios(where, validation, row):
        marks = [f'{v["cores"]}: <span class="{verdict(v["ratio"]).split()[0]}">{v["ratio"]:.2f}</span>'
                 for v in validation if (v["row"], v["system"]) == (row, "ekiden")]
        return f"<br>{where}, with cores {', '.join(marks)}" if marks else ""

    def place(row):
        return next((i for i, first in enumerate(FIRST) if row.startswith(first)), len(FIRST))

    for row in sorted(dict.fromkeys(p["row"] for p in results["curves"]), key=place):
        points = [p for p in results["curves"] if p["row"] == row]
        on_xeon = ratios("computed / measured on the Xeon", sorted(results["other"]["rows"], key=lambda v: v["cores"]), row)
        here = ratios("computed / measured here", results["here"], row)
        parts.append(f"<figure>{picture(points)}<figcaption><b>{html.escape(row)}</b>{(on_xeon + here)[4:]}</figcaption></figure>")
    parts += ["</div><h2>How far the figures can be trusted</h2>", *validation_tables(results),
              "<h2>The steps of the source's pool</h2><p>The order of the steps on 2 cores, from the fastest step: rank as measured, and "
              "rank as computed.</p>"]
    for row, found in results["steps"].items():
        parts += [f"<h3>{html.escape(row)}</h3><p>Spearman's correlation of the ranks: {found['rho']:.2f}</p>",
                  *table(("step", "", "measured", "computed"), [cells((s, "", m, c)) for s, c, m in found["steps"]])]
    counts = sorted({p["cores"] for p in results["curves"]})
    figures = {(p["row"], p["system"], p["cores"]): p["ns"] for p in results["curves"]}
    parts += ["<h2>Figures of the curves, ns</h2>",
              *table(("row", "system", *counts),
                     [cells((*key, *(number(figures[*key, c]) if (*key, c) in figures else "-" for c in counts)))
                      for key in dict.fromkeys(k[:2] for k in figures)])]
    return "\n".join(parts)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--computed", required=True, help="the program ekiden-computed")
    options.add_argument("--rows", required=True, help="the program ekiden-rows")
    options.add_argument("--rounds", type=int, default=12, help="rounds of the measurement")
    options.add_argument("--limit", type=int, default=300, help="seconds for the rows of one system with one number of cores")
    options.add_argument("--out", required=True, help="the JSON file")
    options.add_argument("--page", required=True, help="the HTML file")
    options.add_argument("--again", action="store_true", help="makes only the page, from the JSON file")
    asked = options.parse_args()
    out = pathlib.Path(asked.out)
    if asked.again:
        results = json.loads(out.read_text())
    else:
        load = os.getloadavg()[0]
        here = validate_here(asked.computed, asked.rows, asked.rounds)
        results = {"machine": "two sockets of 64 cores, with 8 clusters in each", "load": load, "here": here, "steps": steps_of(here),
                   "other": validate_file(asked.computed, HERE / "measured" / "xeon16.json"),
                   "curves": curves(asked.computed, "sockets128", 128, asked.limit)}
        out.write_text(json.dumps(results, indent=1) + "\n")
    pathlib.Path(asked.page).write_text(page(results))
    print("validation here, on 2 cores:", counted(results["here"]))
    print("validation on 16 cores of a Xeon:", counted(results["other"]["rows"]))


if __name__ == "__main__":
    main()
