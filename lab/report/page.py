"""The page: a summary, then a section per experiment.

Used by: report.py.
"""

import html
import pathlib

import line_counts
import sections
import targets
from model import figure_of, readable, words

STYLE = pathlib.Path(__file__).with_name("style.css")


def render(results):
    """The whole page as text."""
    body = [_head(results), _winners(results), _targets(results)]
    body += [sections.section(results, e) for e in results.experiments]
    if {"rwlock", "barrier", "elastic-barrier", "bounded-buffer"} & {e["name"] for e in results.experiments}:
        body.append(line_counts.section())
    body.append(_method(results))
    style = STYLE.read_text(encoding="utf-8")
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>ekiden lab: {html.escape(results.machine['host'])}</title><style>{style}</style></head>"
            f"<body><main>{''.join(body)}</main></body></html>\n")


def _head(results):
    m = results.machine
    load = m.get("load_average") or []
    facts = [("Processor", m.get("processor") or "unknown"),
             ("Cores", f"{m['usable_cores']} usable of {m['all_cores']}, {m['numa_nodes']} NUMA node"
                       + ("s" if m["numa_nodes"] != 1 else "")),
             ("Workers", f"{results.workers} in each pool"),
             ("Memory", f"{m['memory_gib']:.0f} GiB"),
             ("System", m["system"]),
             ("Compiler", f"{m['compiler']}, {' '.join(m['flags'].split())}"),
             ("Governor", m.get("governor") or "not told by the system"),
             ("Load at the start", ", ".join(f"{x:.2f}" for x in load) or "unknown"),
             ("Reading the clock", f"{m['clock_ns']:.0f} ns"),
             ("Measured", f"{m['date'].replace('T', ' ').replace('Z', ' UTC')}, {results.scale}, "
                          f"{results.rounds} round{'s' if results.rounds != 1 else ''}")]
    rows = "".join(f"<div><dt>{k}</dt><dd>{html.escape(v)}</dd></div>" for k, v in facts)
    warnings = ""
    if results.scale == "smoke":
        warnings += '<p class="warning">A smoke run: it proves that everything works; its times are worth nothing.</p>'
    if load and load[0] > 0.5 * m["usable_cores"]:
        warnings += (f'<p class="warning">The machine was busy when the run began (load {load[0]:.2f} on '
                     f'{m["usable_cores"]} cores): read ratios, and mind the spread.</p>')
    links = "".join(f'<a href="#{e["name"]}">{html.escape(e["title"])}</a>' for e in results.experiments)
    return (f"<header><p class=\"kicker\">ekiden lab</p><h1>{html.escape(m['host'])}: what each way of running tasks "
            f"costs on this machine</h1><dl class=\"facts\">{rows}</dl>{warnings}<nav>{links}</nav></header>")


def _verdict(experiment, lower, us, best):
    """(words, class) for ekiden's summary beside the best peer's. Overlapping quartiles decide nothing."""
    ours, theirs = us["median"], best["median"]
    if experiment["name"] == "allocations":
        return ("none in steady state", "win") if ours < 0.001 else ("some", "lose")
    if us["lower_quartile"] <= best["upper_quartile"] and best["lower_quartile"] <= us["upper_quartile"]:
        return "within the spread", "par"
    if ours <= 0 or theirs <= 0:  # counts
        return ("none", "win") if ours <= 0 else ("some", "lose")
    if not lower:
        points = (ours - theirs) * 100
        return f"{abs(points):.0f} points {'more' if points > 0 else 'less'}", "win" if points > 0 else "lose"
    return (f"{theirs / ours:.1f}x faster", "win") if ours < theirs else (f"{ours / theirs:.1f}x slower", "lose")


def _winner(results, experiment, variant, first):
    """One line of the summary, or nothing: who was best, and where ekiden stands beside the best peer. Only the first one
    of an experiment names it."""
    figure = figure_of(experiment, variant["primary"])
    table = results.summary(experiment["name"], variant["name"], figure["name"])
    if table.empty:
        return ""
    table = table[table.ranked]
    lower = figure["lower_is_better"]
    own = table[table.index.str.startswith("ekiden")]
    peers = table[~table.index.str.startswith("ekiden")]
    if own.empty or peers.empty:
        return ""
    us = own.loc["ekiden"] if "ekiden" in own.index else own.iloc[0]
    best = peers.loc[peers["median"].idxmin() if lower else peers["median"].idxmax()]
    verdict, css = _verdict(experiment, lower, us, best)
    link = f'<a href="#{experiment["name"]}">{html.escape(experiment["title"])}</a>' if first else ""
    return (f'<tr{"" if first else " class=more"}><th scope="row">{link}<span>{words(variant["title"])}, {words(figure["title"])}</span></th>'
            f'<td class="own">{readable(us["median"], figure["unit"])}</td>'
            f'<td>{readable(best["median"], figure["unit"])}<span>{html.escape(best["title"])}</span></td>'
            f'<td><b class="{css}">{verdict}</b></td></tr>')


def _winners(results):
    rows = ""
    for experiment in results.experiments:
        lines = ""
        for variant in experiment["variants"] if experiment["name"] != "ablation" else []:
            lines += _winner(results, experiment, variant, not lines)
        rows += lines
    failed = results.cells[results.cells.status == "FAILED"]
    missing = results.cells[results.cells.status == "not installed"]
    remarks = ""
    if not failed.empty:
        names = ", ".join(sorted({f"{r.title} in {r.experiment}" for r in failed.itertuples()}))
        remarks += f'<p class="warning">Failed, and therefore without a time: {html.escape(names)}.</p>'
    if not missing.empty:
        names = ", ".join(sorted(set(missing.title)))
        remarks += f'<p class="warning">Not installed, and therefore not measured: {html.escape(names)}.</p>'
    if not rows:
        return remarks
    return (f'<section><h2>In short</h2><p>ekiden beside the best of its peers in each experiment; medians, '
            f'threads not bound to processors.</p><div class="scroll"><table class="short"><thead><tr><th></th>'
            f'<th>ekiden</th><th>best peer</th><th>ekiden is</th></tr></thead>'
            f"<tbody>{rows}</tbody></table></div>{remarks}</section>")


def _targets(results):
    judged = targets.judge(results)
    if not judged:
        return ""
    rows = ""
    for target, goal, reached, met in judged:
        mark = {True: '<b class="win">met</b>', False: '<b class="lose">missed</b>', None: "not measured"}[met]
        rows += (f'<tr><th scope="row">{html.escape(target.what)}</th><td>{goal}</td>'
                 f"<td>{reached}</td><td>{mark}</td></tr>")
    met = sum(1 for *_, m in judged if m)
    return (f'<section><h2>Targets</h2><p>{met} of {len(judged)} met in this run.</p><div class="scroll"><table '
            f'class="targets"><thead><tr><th></th><th>goal</th><th>reached</th><th></th></tr></thead>'
            f"<tbody>{rows}</tbody></table></div></section>")


def _method(results):
    peers = "".join(f"<li>{html.escape(p['name'])}: {html.escape(p['package'])} {html.escape(p['version'])}</li>"
                    for p in results.machine["peers"])
    return f"""<section id="method"><h2>How this was measured</h2>
<p>Every cell of a table ran in processes of its own, {results.rounds} of them, one after the other with those of its
neighbours, so that a disturbance of the machine hits all alike. A cell's first, untimed run proves that every task ran
exactly once or that every result was right; a cell that is wrong, crashes or hangs is shown as failed, never as a time.
Figures are medians over the rounds; the thin dark line in a bar spans the quartiles. <i>Waits</i> are voluntary context
switches, <i>preempted</i> are involuntary ones, per run. In pinned runs every thread is bound to one processor, in
turn.</p><p>Published figures come from another machine, system and compiler: compare ratios, not times.</p>
<ul class="peers">{peers}</ul></section>"""
