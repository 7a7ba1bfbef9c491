"""The page of a replay, and its lines for the terminal: the answer, the curves, the table, and the code to write.

Used by: report.py, for results that `ekiden-lab replay FILE` wrote.
"""

import html
import pathlib
import re
import textwrap

import plots
import recommend
from model import readable, span

STYLE = pathlib.Path(__file__).with_name("style.css")
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "request_models.cpp"
LATE_US, LATE_SHARE = 100, 0.1  # clients that lag more than this, or than this share of P50, blur a row
PROMISED = ["none", "exclusive", "order"]


def is_late(point):
    return bool(point.p50) and point.lag_p99 > min(LATE_US, LATE_SHARE * recommend.median(point.p50))


def time(us):
    return readable(us, "us")


def facts_of(results):
    """Returns the title and text of the trace's properties, which are known before measuring."""
    f = results.replay

    def bound(name, more=""):  # null: no work, and so no bound
        return f"{recommend.number(f[name])}/s at most{more}" if f[name] is not None else "any rate: there is no work"

    both = f["mean_service_us"] + f["mean_block_us"]
    load = f["asked_rate"] * f["mean_service_us"] / 1e6
    waits = (f["arrival_cv2"] + f["service_cv2"]) / 2
    one = f["asked_rate"] * both / 1e6
    kingman = "grows without end" if one >= 1 else time(one / (1 - one) * waits * both)
    return [("Requests", f"{f['requests']:,} for {f['keys']:,} keys, in {readable(f['seconds'], 's')}"),
            ("Rate", f"{recommend.number(f['rate'])}/s; busiest second {recommend.number(f['peak_rate'])}/s"),
            ("Replayed at", f"{recommend.number(f['asked_rate'])}/s"),
            ("A request", f"{time(f['mean_service_us'])} of work"
                          + (f", and {time(f['mean_block_us'])} of waiting on average; {f['blocking_share']:.1%} wait"
                             if f["blocking_share"] > 0 else "")),
            ("Load", f"{load:.2f} of {results.workers} workers' processors"),
            ("Hottest key", f"{f['hottest_share']:.1%} of the requests, {time(f['hottest_us'])} each"),
            ("A key's order allows", bound("bound_of_hottest_key", ", whatever the model")),
            ("The processors allow", bound("bound_of_processors")),
            ("Wait in one queue with one server", f"{kingman} on average (Kingman's estimate)")]


def warnings_of(results, models, advice):
    f, m = results.replay, results.machine
    texts = []
    if results.run["scale"] == "smoke":
        texts.append("A smoke run: it proves that everything works; its times are worth nothing.")
    if results.run["scale"] == "quick":
        texts.append("A quick run: 3 short processes a point. Without --quick the answer rests on 5 of 2 seconds each.")
    if not results.run["finished"]:
        texts.append("The run was interrupted: this is what it had measured until then.")
    if m.get("disturbed"):
        texts.append(f"The machine was busy when the run began: others used {m['used_by_others']:.1f} of its "
                     f"{m['usable_cores']} cores.")
    if f["remark"]:
        texts.append(f"{f['remark'][0].upper()}{f['remark'][1:]}.")
    points = [(x, x.points[advice.rate]) for x in models if advice.rate in x.points]
    late = [x.title for x, point in points if is_late(point)]
    if late:
        who = "all rows" if len(late) == len(points) else ", ".join(late)
        texts.append(f"The clients themselves were late in {who} (P99 of their lag above {LATE_US} us or a tenth of P50): "
                     "they share the processors with the models. The delays count it; --workers with fewer than the "
                     "processors gives the clients one of their own.")
    return texts


def render(results):
    """Returns the whole page as text."""
    models = recommend.models(results)
    advice = recommend.advise(results)
    answer = recommend.sentence(advice, results.replay, time)
    facts = "".join(f"<div><dt>{k}</dt><dd>{html.escape(v)}</dd></div>" for k, v in facts_of(results))
    warned = "".join(f'<p class="warning">{html.escape(w)}</p>' for w in warnings_of(results, models, advice))
    name = pathlib.Path(results.replay["file"]).name
    code = _code(advice)
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>ekiden replay: {html.escape(name)}</title><style>{STYLE.read_text(encoding='utf-8')}</style></head>"
            f'<body><main><header><p class="kicker">ekiden replay</p><h1>Which model for {html.escape(name)}?</h1>'
            f'<p class="answer">{html.escape(answer)}</p><dl class="facts">{facts}</dl>{warned}</header>'
            f"{_curves(models, advice, results)}{_table(models, advice, results)}{code}{_predicted(results)}"
            f"{_method(results)}</main></body></html>\n")


def _curves(models, advice, results):
    need = recommend.PROMISES.index(results.replay["need"])
    shown = [m for m in models if m.promise >= need and any(p.p99 for p in m.points.values())]
    if not shown:
        return ""
    panels = []
    for title, pick in (("P50", "p50"), ("P99", "p99"), ("P99.9", "p999")):
        lines = []
        for m in shown:
            some = [(rate, getattr(p, pick)) for rate, p in sorted(m.points.items()) if getattr(p, pick)]
            lines.append((m.title, advice.pick is not None and m.name == advice.pick.name,
                          [r for r, _ in some], [recommend.median(runs) for _, runs in some],
                          [min(runs) for _, runs in some], [max(runs) for _, runs in some]))
        panels.append((title, lines))
    drawn = plots.delays(panels, advice.rate, "us", "replay-delays", "delay over rate")
    return (f"<section><h2>Delay over rate</h2><p>From the moment when a request was due to its end; all models that "
            f"give what your requests need. A point is the median of the runs, the band spans them. A line ends where its "
            f"model no longer keeps up. The dotted line is the rate asked for.</p>{drawn}</section>")


def _table(models, advice, results):
    need = recommend.PROMISES.index(results.replay["need"])
    rows = ""
    at_rate = [m.points[advice.rate] for m in models if advice.rate in m.points]
    all_late = all(is_late(p) for p in at_rate)  # then a warning says so
    for m in sorted(models, key=lambda m: (m.promise < need, bool(m.failure), m.p99(advice.rate) or 1e18)):
        point = m.points.get(advice.rate)
        css = ' class="ours"' if advice.pick and m.name == advice.pick.name else ' class="absent"' if m.promise < need else ""
        if m.failure:
            rows += (f'<tr class="failed"><th scope="row">{html.escape(m.title)}</th><td colspan="6" class="remark">'
                     f"{html.escape(m.failure)}</td></tr>")
            continue
        if point is None or not point.p99:
            delays = '<td colspan="3" class="remark">cannot keep up at this rate</td>'
        else:
            late = "<span>clients late</span>" if is_late(point) and not all_late else ""
            delays = "".join(f"<td>{time(recommend.median(runs))}<span>{span(min(runs), max(runs), 'us')}</span></td>"
                             for runs in (point.p50, point.p99, point.p999)).replace("</td>", late + "</td>", 1)
        keeps_up = recommend.number(m.keeps_up) + "/s" if m.keeps_up else "not seen"
        note = f"<span>{html.escape(m.note)}</span>" if m.note else ""
        rows += (f'<tr{css}><th scope="row">{html.escape(m.title)}{note}</th>{delays}<td>{keeps_up}'
                 f"<span>serves {recommend.number(m.capacity)}/s flat out</span></td><td>{time(m.cpu_us)}"
                 f"<span>{m.memory_kib:,.0f} KiB</span></td><td>{PROMISED[m.promise]}"
                 f"<span>{f'{m.overtaken:.2%} overtaken' if m.overtaken else ''}</span></td></tr>")
    return (f"<section><h2>All models at {recommend.number(advice.rate)} requests/s</h2><p>Those that do not give what your "
            f"requests need stand below, in grey. CPU time of a request and memory are those of a run as fast as possible.</p>"
            f'<div class="scroll"><table><thead><tr><th></th><th>P50</th><th>P99</th><th>P99.9</th><th>keeps up to</th>'
            f"<th>CPU, memory</th><th>for a key</th></tr></thead><tbody>{rows}</tbody></table>"
            f"</div></section>")


def _predicted(results):
    """Returns the section of predicted.py for --cores, if the file has predictions."""
    if not results.replay.get("predicted"):
        return ""
    import predicted  # only then

    return predicted.section(results)


def snippet(name):
    """Returns the lines of examples/request_models.cpp for a model, or nothing."""
    if not EXAMPLE.exists():
        return ""
    found = re.search(rf"^( *)// model: (?:\S+ )*{re.escape(name)}(?: \S+)*\n(.*?)^\1// end\n",
                      EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return textwrap.dedent(found[2]).strip("\n") if found else ""


def _code(advice):
    text = snippet(advice.pick.name) if advice.pick else ""
    if not text:
        return ""
    return (f"<section><h2>What to write</h2><p>{html.escape(advice.pick.title)}; from "
            f"<code>examples/request_models.cpp</code>, which is compiled and run as a test.</p>"
            f"<pre><code>{html.escape(text)}</code></pre></section>")


def _method(results):
    run, m = results.run, results.machine
    return (f"<section><h2>How this was measured</h2><p>Each point ran in {run['rounds']} processes, in turns with those of "
            f"the other models, on {html.escape(m.get('processor') or 'an unknown processor')}, {results.workers} workers on "
            f"{m['usable_cores']} cores, {html.escape(m['compiler'])}, in {run['seconds']:.0f} s. The loop is open: a request "
            f"is sent when it is due, whatever became of those before, and its delay counts from then. Its work is a number "
            f"of turns calibrated before, its waiting a sleep. Each run proved that every request was served once, with the "
            f"right result, and in the order that the model promises. A model keeps up if 99 of 100 requests were served by "
            f"the end, the backlog did not grow, and P99 is at most 100 times the median request.</p></section>")


def page(results, width, colour, report):
    """Returns the lines for the terminal. `width` is None without a limit."""
    width = max(80, min(width or 100, 100))
    models = recommend.models(results)
    advice = recommend.advise(results)
    bold, faint, plain = ("\033[1m", "\033[2m", "\033[0m") if colour else ("", "", "")
    need = recommend.PROMISES.index(results.replay["need"])
    lines = [f"Requests at {recommend.number(advice.rate)}/s, busiest second {recommend.number(advice.peak)}/s", "",
             f"{'':26}{'P50':>9}{'P99':>10}{'P99.9':>10}{'keeps up to':>14}  for a key"]
    for m in sorted(models, key=lambda m: (m.promise < need, bool(m.failure), m.p99(advice.rate) or 1e18)):
        point = m.points.get(advice.rate)
        if m.failure:
            lines.append(f"{m.title[:26]:26}{m.failure}"[:width])
            continue
        delays = (f"{'cannot keep up':>29}" if point is None or not point.p99 else
                  "".join(f"{time(recommend.median(runs)):>{w}}" for runs, w in ((point.p50, 9), (point.p99, 10),
                                                                                (point.p999, 10))))
        keeps_up = recommend.number(m.keeps_up) + "/s" if m.keeps_up else "-"
        mark = bold if advice.pick and m.name == advice.pick.name else faint if m.promise < need else ""
        lines.append(f"{mark}{m.title[:26]:26}{delays}{keeps_up:>14}  {PROMISED[m.promise]}{plain if mark else ''}")
    lines.append("")
    for text in warnings_of(results, models, advice):
        lines += textwrap.wrap("Note: " + text, width)
    lines += [bold + line + plain for line in textwrap.wrap(recommend.sentence(advice, results.replay, time), width)]
    lines.append(f"Curves, and the code to write: {report}")
    return "\n".join(lines) + "\n"
