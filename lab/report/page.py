"""The page: a summary, then a section for each experiment.

Used by: report.py.
"""

import html
import pathlib

import line_counts
import sections
import targets
from model import readable, words
from winners import Comparison, manners, missing_peers, named

KINDS = {"tour": "tour", "quick": "quick run", "full": "full run", "smoke": "smoke run"}
STYLE = pathlib.Path(__file__).with_name("style.css")


def render(results):
    """Returns the whole page as text."""
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
    m, run = results.machine, results.run
    others = m.get("used_by_others")
    facts = [("Processor", m.get("processor") or "unknown"),
             ("Cores", f"{m['usable_cores']} usable of {m['all_cores']}, {m['numa_nodes']} NUMA node"
                       + ("s" if m["numa_nodes"] != 1 else "")),
             ("Workers", f"{results.workers} in each pool"),
             ("Memory", f"{m['memory_gib']:.0f} GiB"),
             ("System", m["system"]),
             ("Compiler", f"{m['compiler']}, {' '.join(m['flags'].split())}"),
             ("Governor", m.get("governor") or "not told by the system"),
             ("Used by others before", f"{others:.2f} cores" if others is not None else "unknown"),
             ("Reading the clock", f"{m['clock_ns']:.0f} ns"),
             ("Measured", f"{m['date'].replace('T', ' ').replace('Z', ' UTC')}, {KINDS[run['scale']]}, "
                          f"{run['seconds']:.0f}\N{NO-BREAK SPACE}s")]
    rows = "".join(f"<div><dt>{k}</dt><dd>{html.escape(v)}</dd></div>" for k, v in facts)
    warnings = ""
    if run["scale"] == "smoke":
        warnings += '<p class="warning">A smoke run: it proves that everything works; its times are worth nothing.</p>'
    if run["scale"] == "tour":
        warnings += ('<p class="warning">The tour measures the headline of each experiment, in few rounds: its figures are '
                     "quick ones. <code>./dev lab --quick</code> measures everything.</p>")
    if not run["finished"]:
        warnings += '<p class="warning">The run was interrupted: this is what it had measured until then.</p>'
    if m.get("disturbed"):
        warnings += (f'<p class="warning">The machine was busy when the run began (others used {others:.2f} of its '
                     f'{m["usable_cores"]} cores): read ratios, and mind the spread.</p>')
    if not results.fresh.all():
        warnings += ('<p class="warning">Some tables are of earlier runs on this machine; each such table says how much '
                     "older it is.</p>")
    links = "".join(f'<a href="#{e["name"]}">{html.escape(e["title"])}</a>' for e in results.experiments)
    return (f"<header><p class=\"kicker\">ekiden lab</p><h1>{html.escape(m['host'])}: what each way of running tasks "
            f"costs on this machine</h1><dl class=\"facts\">{rows}</dl>{warnings}<nav>{links}</nav></header>")


def _winner(results, experiment, variant, manner, first):
    """Returns one line of the summary, or nothing: the best library, and how ekiden compares with the best peer. Only
    the first line of an experiment has its name."""
    c = Comparison(results, experiment, variant, manner)
    if not c.complete:
        return ""
    verdict, css = c.verdict()
    link = f'<a href="#{experiment["name"]}">{html.escape(experiment["title"])}</a>' if first else ""
    age = results.age(experiment["name"], variant["name"])
    ours = f"<span>{html.escape(c.us['title'])}</span>" if manner else ""
    what = f'{words(variant["title"])}, {words(c.figure["title"])}' + (f" ({age})" if age else "")
    return (f'<tr{"" if first else " class=more"}><th scope="row">{link}<span>{what}</span></th>'
            f'<td class="own">{readable(c.us["median"], c.figure["unit"])}{ours}</td>'
            f'<td>{readable(c.best["median"], c.figure["unit"])}<span>{html.escape(named(c.best))}</span></td>'
            f'<td><b class="{css}">{verdict}</b></td></tr>')


def _winners(results):
    rows = ""
    for experiment in results.experiments:
        lines = ""
        for variant in experiment["variants"] if experiment["name"] != "ablation" else []:
            for manner in ["", *manners(results, experiment, variant)]:
                lines += _winner(results, experiment, variant, manner, not lines)
        rows += lines
    failed = results.cells[results.cells.status == "FAILED"]
    missing = results.cells[results.cells.status == "not installed"]
    remarks = ""
    if not failed.empty:
        names = ", ".join(sorted({f"{r.title} in {r.experiment}" for r in failed.itertuples()}))
        remarks += f'<p class="warning">Failed, and therefore without a time: {html.escape(names)}.</p>'
    if not missing.empty:
        names = missing_peers(missing)
        remarks += f'<p class="warning">Not installed, and therefore not measured: {html.escape(names)}.</p>'
    if not rows:
        return remarks or '<p class="warning">Nothing was measured that could be compared.</p>'
    return (f'<section><h2>In short</h2><p>ekiden beside the best of its peers in each experiment; medians, '
            f'threads not bound to processors.</p><div class="scroll"><table class="short"><thead><tr><th></th>'
            f'<th>ekiden</th><th>best peer</th><th>ekiden is</th></tr></thead>'
            f"<tbody>{rows}</tbody></table></div>{remarks}</section>")


def _targets(results):
    every = targets.judge(results)
    judged = [t for t in every if t[3] is not None]
    if not judged:
        return ""
    open_ones = len(every) - len(judged)
    rows = ""
    for target, goal, reached, met in judged:
        mark = '<b class="win">met</b>' if met else '<b class="lose">missed</b>'
        rows += (f'<tr><th scope="row">{html.escape(target.what)}</th><td>{goal}</td>'
                 f"<td>{reached}</td><td>{mark}</td></tr>")
    met = sum(1 for *_, m in judged if m)
    rest = f" {open_ones} more need cells that are not here." if open_ones else ""
    return (f'<section><h2>Targets</h2><p>{met} of {len(judged)} met.{rest}</p><div class="scroll"><table '
            f'class="targets"><thead><tr><th></th><th>goal</th><th>reached</th><th></th></tr></thead>'
            f"<tbody>{rows}</tbody></table></div></section>")


def _method(results):
    peers = "".join(f"<li>{html.escape(p['name'])}: {html.escape(p['package'])} {html.escape(p['version'])}</li>"
                    for p in results.machine["peers"])
    return f"""<section id="method"><h2>How this was measured</h2>
<p>Every cell of a table ran in processes of its own, as many as the table has rounds, in turns with those of its
neighbours, so that a disturbance of the machine hits all alike. A cell's first, untimed run proves that every task ran
exactly once or that every result was right; a cell that is wrong, crashes or hangs is shown as failed, never as a time.
Figures are medians over the rounds; the thin dark line in a bar spans the quartiles. <i>Waits</i> are voluntary context
switches, <i>preempted</i> are involuntary ones, per run. In pinned runs every thread is bound to one processor, in
turn.</p><p>Published figures come from another machine, system and compiler: compare ratios, not times.</p>
<ul class="peers">{peers}</ul></section>"""
