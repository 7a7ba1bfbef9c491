"""The section of the page for each experiment: description, plots, tables, the source's figures.

Used by: page.py.
"""

import html

import plots
import request_order
from model import digits, figure_of, readable, span, words

BASE = {"throughput": "shared-queue-source", "latency": "shared-queue-source", "ablation": "shared-queue-source"}


def section(results, experiment):
    """Returns the experiment's section as HTML."""
    plot = PLOTS.get(experiment["name"], _bars)
    tables = "".join(_table(results, experiment, v, pinned) for pinned in (False, True)
                     for v in experiment["variants"])
    return (f'<section id="{experiment["name"]}"><h2>{html.escape(experiment["title"])}</h2>'
            f'<p>{words(experiment["about"])}</p>{plot(results, experiment)}{tables}'
            f"{_source(results, experiment)}</section>")


def _plot_rows(results, experiment, variant, figure, pinned=False):
    rows = results.summary(experiment["name"], variant["name"], figure["name"], pinned)
    return rows.reset_index() if not rows.empty else rows


def _published(experiment, variant, figure):
    return {s["implementation"]: s["value"] for s in experiment["source"]
            if s["variant"] == variant["name"] and s["figure"] == figure["name"]}


def _legend(has_source, logarithmic):
    published = ' <span class="diamond"></span> published by the source, on its machine' if has_source else ""
    scale = "logarithmic scale; " if logarithmic else ""
    return f'<p class="legend">Shorter is better; {scale}the thin line spans the quartiles.{published}</p>'


def _bars(results, experiment):
    """Draws a panel for each variant. Panels of figures with the same unit share a scale. It starts at 0 if no median
    is four times another one."""
    scales = {}
    for variant in experiment["variants"]:
        figure = figure_of(experiment, variant["primary"])
        rows = _plot_rows(results, experiment, variant, figure)
        if rows.empty:
            continue
        panels, source = scales.setdefault(figure["unit"], ([], {}))
        for implementation, value in _published(experiment, variant, figure).items():
            if implementation in set(rows.implementation):
                source[(len(panels), implementation)] = value
        panels.append((variant["title"], rows))
    names = sum(len(panels) for panels, _ in scales.values()) > 1
    shown = [[v for _, rows in panels for v in rows["median"]] + list(source.values())
             for panels, source in scales.values()]
    logarithmic = any(min(of) * 20 < max(of) for of in shown)
    drawn = "".join(plots.bars(panels, unit, source, logarithmic, f"{experiment['name']}-{unit}", experiment["title"],
                               names)
                    for unit, (panels, source) in scales.items())
    return drawn and drawn + _legend(any(source for _, source in scales.values()), logarithmic)


def _histograms(results, experiment):
    text = ""
    edges = [10 ** (1 + i / 16) for i in range(7 * 16 + 1)]
    for variant in experiment["variants"]:
        cells = results.of(experiment["name"], variant["name"])
        rows = []
        for cell in cells[cells.status == "ok"].itertuples():
            marks = {name: results.median(experiment["name"], variant["name"], figure, cell.implementation)
                     for name, figure in (("P50", "p50"), ("P99.9", "p999"))}
            rows.append((cell.title, cell.implementation.startswith("ekiden"), cell.series["histogram"], marks))
        if rows:
            text += (f"<h3>{html.escape(variant['title'])}</h3>"
                     + plots.histograms(rows, edges, f"latency-{variant['name']}", variant["title"]))
    return text + ('<p class="legend">How often each latency was seen, a strip per implementation, each to its own '
                   "height. Solid line: P50; dotted line: P99.9.</p>" if text else "")


def _curves(results, experiment):
    variant = experiment["variants"][0]
    names = [f["name"] for f in experiment["figures"]]
    tables = {n: results.summary(experiment["name"], variant["name"], n) for n in names}
    lines = []
    for cell in results.of(experiment["name"], variant["name"]).itertuples():
        if cell.status != "ok":
            continue
        rows = [tables[n].loc[cell.implementation] for n in names]
        lines.append((cell.title, cell.implementation.startswith("ekiden"), [r["median"] for r in rows],
                      [r["lower_quartile"] for r in rows], [r["upper_quartile"] for r in rows]))
    if not lines:
        return ""
    return plots.curves(lines, [float(n) for n in names], "work in a task, µs", "granularity", experiment["title"])


def _views(results, experiment):
    """Shows which thread ran which task in each round, with a line for each fifth of a task's time."""
    letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@#$&"
    variant = experiment["variants"][0]
    text = ""
    for cell in results.of(experiment["name"], variant["name"]).itertuples():
        if cell.status != "ok" or not cell.series.get("view"):
            continue
        numbers, width = cell.series["view"], 1 + 64
        lines = []
        for i in range(0, len(numbers), width):
            columns = [int(n) for n in numbers[i + 1:i + width]]
            shown = "".join(" " if n == 0 else "." if n < 0 else letters[(n - 1) % len(letters)] for n in columns)
            lines.append(f"{numbers[i]:6.2f} s |{shown}| {sum(n > 0 for n in columns):2}")
        text += (f"<details{' open' if cell.implementation == 'ekiden' else ''}><summary>{html.escape(cell.title)}"
                 f"</summary><div class=\"scroll\"><pre>{html.escape(chr(10).join(lines))}</pre></div></details>")
    return _bars(results, experiment) + (text and '<p class="legend">The rounds as they went: a column per task, in it '
                                         "the thread that runs it (. = has ended), and how many run at that time.</p>"
                                         + text)


def _holds(results, experiment):
    """For spin-vs-mutex: draws a panel for each contention, over the time that the mutex is held."""
    panels = {}
    for variant in experiment["variants"]:
        hold, _, contention = variant["name"].partition(", ")
        title = variant["title"].partition("; ")[2]
        panels.setdefault((contention, title), []).append((hold, variant["name"]))
    if any(len(of) < 2 for of in panels.values()):
        return _bars(results, experiment)  # one time alone makes no curve
    drawn = []
    for (_, title), of in panels.items():
        tables = [results.summary(experiment["name"], name, "ns_per_section") for _, name in of]
        if any(t.empty for t in tables):
            continue
        common = [i for i in tables[0].index if all(i in t.index for t in tables)]
        drawn.append((title, [(tables[0].loc[i, "title"], i.startswith("ekiden"),
                               [t.loc[i, "median"] / t["median"].min() for t in tables]) for i in common]))
        holds = [hold for hold, _ in of]
    if not drawn:
        return ""
    return plots.relative(drawn, holds, "how long the mutex is held", experiment["name"], experiment["title"]) + (
        '<p class="legend">Time per section, over that of the fastest; lower is better.</p>')


def _models(results, experiment):
    """For io-models: draws a panel for each way to post and number of turns, over the number of threads."""
    ways = ("", "-per-thread", "-hybrid", "-half-sync")
    panels, threads = {}, []
    for variant in experiment["variants"]:
        title, _, count = variant["name"].rpartition(", ")
        if not results.of(experiment["name"], variant["name"]).empty:
            panels.setdefault(title, {})[int(count.split()[0])] = results.summary(experiment["name"], variant["name"],
                                                                                  "ns_per_handler")
            threads.append(int(count.split()[0]))
    threads = sorted(set(threads))
    if len(threads) < 2:
        return _bars(results, experiment)
    rows = results.cells[results.cells.experiment == experiment["name"]].drop_duplicates("implementation")
    libraries = [row.implementation for row in rows.itertuples() if row.ranked and not row.implementation.startswith("ekiden")
                 and not row.implementation.endswith(ways[1:])]

    def line(row, of):
        own = row.implementation.startswith("ekiden")
        way = next((n for n, suffix in enumerate(ways) if suffix and row.implementation.endswith(suffix)), 0)
        library = next((n for n, name in enumerate(libraries) if row.implementation == name + ways[way]), None)
        values = [float(of[t].loc[row.implementation, "median"])
                  if t in of and row.implementation in of[t].index else None for t in threads]
        return row.title, own, library, way, values

    drawn = [(title, [line(row, of) for row in rows.itertuples()]) for title, of in panels.items()]
    return plots.scaling(drawn, threads, "threads", "ns", experiment["name"], experiment["title"]) + (
        '<p class="legend">Time per handler over all threads; lower is better. A colour per library; solid: shared by all '
        "threads.</p>")


PLOTS = {"async-growth": _views, "latency": _histograms, "granularity": _curves,
         "allocations": lambda results, experiment: "",
         "spin-vs-mutex": _holds, "io-models": _models,
         "request-order": lambda results, experiment: request_order.draw(experiment)}


def _columns(results, experiment, variant, figure, pinned):
    """Returns the other figures that some row has, which are shown beside the compared one."""
    return [f for f in experiment["figures"] if f["name"] != figure["name"]
            and not results.summary(experiment["name"], variant["name"], f["name"], pinned).empty]


def _table(results, experiment, variant, pinned):
    cells = results.of(experiment["name"], variant["name"], pinned)
    if cells.empty:
        return ""
    figure = figure_of(experiment, variant["primary"])
    others = _columns(results, experiment, variant, figure, pinned)
    wide = len(others) > 6  # a curve: every length a column, and no more
    if wide:
        others = experiment["figures"]
    source = _published(experiment, variant, figure)
    own = results.median(experiment["name"], variant["name"], figure["name"], "ekiden", pinned)
    head = ["<th></th>"]
    if not wide:
        head += [f"<th>{html.escape(figure['title'])}</th>", "<th>quartiles</th>", "<th>vs ekiden</th>"]
    head += [f"<th>{words(f['title'])}</th>" for f in others]
    if not wide:
        head += ["<th>waits</th>", "<th>preempted</th>"] + (["<th>source</th>"] if source else [])
    body = "".join(_row(results, experiment, variant, pinned, cell, figure, others, wide, own, source, len(head))
                   for cell in cells.itertuples())
    title = variant["title"] + (", each thread bound to one processor" if pinned else "")
    return (f'<details{"" if pinned else " open"}><summary>{words(title)}{_when(results, cells, pinned)}</summary>'
            f'<div class="scroll"><table>'
            f"<thead><tr>{''.join(head)}</tr></thead><tbody>{body}</tbody></table></div></details>")


def _when(results, cells, pinned):
    """Describes when the table was measured, and how much older it is than the run of the page."""
    ok = cells[cells.status == "ok"]
    if ok.empty:
        return ""
    low, high = int(ok["rounds"].min()), int(ok["rounds"].max())
    rounds = f"{low} round{'s' if low != 1 else ''}" if low == high else f"{low} to {high} rounds"
    age = results.age(ok.experiment.iloc[0], ok.variant.iloc[0], pinned)
    return f'<span>{html.escape(ok.scale.iloc[0])}, {rounds}{", " + age if age else ""}</span>'


def _row(results, experiment, variant, pinned, cell, figure, others, wide, own, source, width):
    note = f"<span>{html.escape(cell.note)}</span>" if cell.note else ""
    name = f'<th scope="row">{html.escape(cell.title)}{note}</th>'
    if cell.status != "ok":
        css = "failed" if cell.status == "FAILED" else "absent"
        return (f'<tr class="{css}">{name}<td class="remark" colspan="{width - 1}"><b>{cell.status}</b>: '
                f"{html.escape(cell.reason)}</td></tr>")
    of = [experiment["name"], variant["name"]]
    values = results.summary(*of, figure["name"], pinned).loc[cell.implementation]
    tds = []
    if not wide:
        ratio = f"{digits(values['median'] / own)}x" if own and cell.implementation != "ekiden" else ""
        tds = [f"<b>{readable(values['median'], figure['unit'])}</b>",
               span(values["lower_quartile"], values["upper_quartile"], figure["unit"]), ratio]
    for f in others:
        tds.append(readable(results.median(*of, f["name"], cell.implementation, pinned), f["unit"]))
    if not wide:
        tds += [f"{cell.voluntary_switches:,.0f}", f"{cell.involuntary_switches:,.0f}"]
        if source:
            tds.append(readable(source.get(cell.implementation), figure["unit"]))
    css = ' class="ours"' if cell.implementation.startswith("ekiden") else ""
    return f"<tr{css}>{name}{''.join(f'<td>{t}</td>' for t in tds)}</tr>"


def _source(results, experiment):
    """Shows the source's figures beside ours, as times and as ratios to the same base."""
    if not experiment["source"]:
        return f'<p class="source">{words(experiment["source_note"])}</p>' if experiment["source_note"] else ""
    base = BASE.get(experiment["name"])
    rows = ""
    for s in experiment["source"]:
        unit = figure_of(experiment, s["figure"])["unit"]
        ours = results.median(experiment["name"], s["variant"], s["figure"], s["implementation"])
        title = next((c["title"] for c in experiment["cells"] if c["implementation"] == s["implementation"]), "")
        their_base = next((x["value"] for x in experiment["source"] if x["implementation"] == base
                           and x["variant"] == s["variant"] and x["figure"] == s["figure"]), None)
        our_base = results.median(experiment["name"], s["variant"], s["figure"], base) if base else None
        figure = figure_of(experiment, s["figure"])["title"]
        rows += (f'<tr><th scope="row">{html.escape(s["label"])}<span>{html.escape(s["variant"])}, '
                 f'{html.escape(figure)}</span></th><td>{readable(s["value"], unit)}</td>'
                 f'<td>{digits(their_base / s["value"]) + "x" if their_base else ""}</td>'
                 f"<td>{html.escape(title)}</td><td>{readable(ours, unit)}</td>"
                 f'<td>{digits(our_base / ours) + "x" if our_base and ours and their_base else ""}</td></tr>')
    return (f'<details><summary>The source\'s figures beside these</summary><p class="source">'
            f'{html.escape(experiment["source_note"])} “Speed-up” is over the shared queue of the same column.</p>'
            f'<div class="scroll"><table><thead><tr><th>source</th><th>published</th><th>speed-up</th><th>here</th>'
            f"<th>measured</th><th>speed-up</th></tr></thead><tbody>{rows}</tbody></table></div></details>")
