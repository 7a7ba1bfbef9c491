"""The section of a replay's page with predictions for other numbers of processors. They are simulated in virtual time,
not measured.

Used by: replay.py, for results of `ekiden-lab replay FILE --cores N`.
"""

import html
import statistics

import plots
import recommend
from model import readable

ERRORS = [("rate", "served as fast as possible"), ("p50_us", "P50"), ("p99_us", "P99"), ("p999_us", "P99.9")]


def section(results):
    every = results.replay["predicted"]
    here = [p for p in every if "measured" in p]
    there = [p for p in every if "measured" not in p]
    if not there:
        return ""
    cores = there[0]["cores"]
    need = recommend.PROMISES.index(results.replay["need"])
    models = [m for m in recommend.models(results) if m.promise >= need]
    return (f"<section><h2>Predicted: on {cores} processor{'s' if cores > 1 else ''}</h2><p>Nothing of this was measured. The "
            f"trace was played in virtual time, with {cores} workers of each model, the clients on one more processor, and "
            f"the costs that were measured here. Contention that grows with the processors is not in it, nor are caches.</p>"
            f"{_errors(here)}{_table(models, there)}{_curves(models, there, results.replay['asked_rate'])}</section>")


def _errors(here):
    """Describes the errors of the predictions for this machine."""
    rows = ""
    for figure, title in ERRORS:
        all_ = sorted(p["predicted_over_measured"][figure] for p in here if figure in p["predicted_over_measured"])
        if all_:
            rows += (f'<tr><th scope="row">{title}</th><td>{statistics.median(all_):.2f}</td><td>{all_[0]:.2f} to '
                     f"{all_[-1]:.2f}</td><td>{len(all_)}</td></tr>")
    paced = [p for p in here if "sustained" in p["measured"]]
    alike = sum((p["measured"]["sustained"] >= 0.5) == (p["figures"]["sustained"] >= 0.5) for p in paced)
    return (f"<p>The error: the points that were measured here, predicted in the same way. Delays are compared where the "
            f"model kept up. Whether it keeps up was predicted as measured at {alike} of {len(paced)} points.</p>"
            f'<div class="scroll"><table><thead><tr><th>predicted / measured, here</th><th>median</th><th>from, to</th>'
            f"<th>points</th></tr></thead><tbody>{rows}</tbody></table></div>")


def _table(models, there):
    rows = ""
    for m in models:
        own = {p["rate"]: p["figures"] for p in there if p["model"] == m.name}
        if 0 not in own:
            continue
        kept = [rate for rate, f in own.items() if f.get("sustained")]
        best = max(kept, default=None)
        delays = (f"<td>{recommend.number(best)}/s</td><td>{readable(own[best]['p50_us'], 'us')}</td>"
                  f"<td>{readable(own[best]['p99_us'], 'us')}</td>" if best else '<td colspan="3" class="remark">none</td>')
        rows += (f'<tr><th scope="row">{html.escape(m.title)}</th><td>{recommend.number(own[0]["rate"])}/s</td>'
                 f"{delays}</tr>")
    return (f'<div class="scroll"><table><thead><tr><th>predicted</th><th>serves flat out</th><th>highest rate played that it '
            f"keeps up with</th><th>P50 at that</th><th>P99 at that</th></tr></thead><tbody>{rows}</tbody></table></div>")


def _curves(models, there, rate):
    panels = []
    for title, figure in (("P50, predicted", "p50_us"), ("P99, predicted", "p99_us")):
        lines = []
        for m in models:
            some = sorted((p["rate"], p["figures"][figure]) for p in there
                          if p["model"] == m.name and p["figures"].get("sustained") and figure in p["figures"])
            if some:
                xs, ys = zip(*some)
                lines.append((m.title, m.name == "ekiden", xs, ys, ys, ys))
        panels.append((title, lines))
    return plots.delays(panels, rate, "us", "replay-predicted", "predicted delay over rate") if panels[0][1] else ""
