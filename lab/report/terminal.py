"""The page that the terminal shows at the end of a run, with a line for each experiment.

Used by: report.py. It fits into 80 columns and uses up to 100. An experiment has one line, and a line for each row of
ekiden that works like some peers. A page that goes to a file or a pipe has no limit, so its names are whole.
"""

import textwrap

import targets
from model import digits, readable
from winners import Comparison, manners, missing_peers, named, own_row

# Whose source measured the same amount of work per figure as even a quick run does.
SAME_WORK = ("throughput", "latency", "ablation")
PLAIN, BOLD, RED, GREEN, FAINT = "\033[0m", "\033[1m", "\033[31m", "\033[32m", "\033[2m"


def page(results, width, colour, report):
    """Returns the page as text. `width` is None without a limit. `report` is the path of the full report."""
    width = 1000 if width is None else max(80, min(width, 100))
    ran = _fitted([row for name in results.run["experiments"] for row in _rows(results, name)], width)
    lines = [_title(results)]
    if results.machine.get("disturbed"):
        lines.append(f"WARNING: others used {results.machine['used_by_others']:.1f} cores of this machine when the run "
                     "began")
    lines += _table(ran, width, colour)
    lines += _failures(results, width, colour)
    lines += _missing(results, width)
    lines.append("ratio: above 1 ekiden is ahead, ~ within the spread; src: the source's figure")
    if any(not row[0] for row in ran):
        lines.append("indented: another row of ekiden, beside peers that work like it; a word says how")
    if any("CPU " in row[6] for row in ran):
        lines.append("CPU: processor time of ekiden|best peer, or how many processors they used")
    if any("*" in row[6] for row in ran):
        lines.append("goals*: beside a peer that promises the same, and not beside the best peer of the line")
    lines.append(f"see {report}#NAME; './dev lab NAME' measures all its cells, --quick all")
    return "".join(line[:width + 9 * line.count("\033")].rstrip() + "\n" for line in lines)


def _title(results):
    run = results.run
    size = {"tour": "tour, all figures quick", "quick": "quick run", "full": "full run",
            "smoke": "smoke run, times are worth nothing"}[run["scale"]]
    rounds = results.cells[results.fresh & (results.cells.status == "ok")]["rounds"]
    often = "" if rounds.empty else f", {_rounds(int(rounds.min()), int(rounds.max()))}"
    ended = "" if run["finished"] else "INTERRUPTED "
    return f"{ended}ekiden beside its best peers: {size}{often}, {run['seconds']:.0f} s"


def _rounds(low, high):
    return f"{low} to {high} rounds" if low != high else f"{low} round{'s' if low != 1 else ''}"


def _rows(results, name):
    """Returns the lines of an experiment, as the texts (name, what, ekiden, best, its name, ratio, source or goals,
    state). The state determines the color of the line. The first line has our usual row. Each further line has a row
    of ekiden that works like some peers, and has no name."""
    experiment = next((e for e in results.experiments if e["name"] == name), None)
    variant = _headline(results, experiment)
    if variant is None:
        return [(name, "", "not measured", "", "", "", "", "absent")]
    rows = [_row(results, experiment, variant)]
    for manner in manners(results, experiment, variant):
        c = Comparison(results, experiment, variant, manner)
        unit = c.figure["unit"]
        rows.append(("", f"  {c.us['title']}", _short(c.us["median"], unit), _short(c.best["median"], unit), named(c.best),
                     _ratio(c), _processors(results, experiment, variant, c), _state(c)))
    return rows


def _row(results, experiment, variant):
    name = experiment["name"]
    what = variant["headline"] or variant["title"]
    cells = results.of(name, variant["name"])
    own = cells[cells.implementation == own_row(experiment)]
    c = Comparison(results, experiment, variant)
    unit = c.figure["unit"]
    best = [_short(c.best["median"], unit), named(c.best)] if c.best is not None else ["-", ""]
    beside = _beside(results, experiment, variant, c)
    if c.complete and c.best["manner"]:
        beside = f"{beside} {_processors(results, experiment, variant, c)}".strip()
    if not own.empty and own.iloc[0].status == "FAILED":
        return name, what, "FAILED", *best, "", beside, "failed"
    if c.us is None or own.empty:
        return name, what, "not measured", *best, "", "", "absent"
    if c.best is None:
        return name, what, _short(c.us["median"], unit), *best, "", beside, "par"
    return name, what, _short(c.us["median"], unit), *best, _ratio(c), beside, _state(c)


def _processors(results, experiment, variant, c):
    """Returns the processor time of both, or the numbers of processors that they used if no figure is a CPU time."""
    rows = (c.us.name, c.best.name)
    figure = next((f for f in experiment["figures"] if f["title"].startswith("CPU time") and f != c.figure), None)
    if figure is not None:
        both = [results.median(experiment["name"], variant["name"], figure["name"], row) for row in rows]
        if None not in both:
            return "CPU " + "|".join(_short(value, figure["unit"]) for value in both)
    cells = results.of(experiment["name"], variant["name"]).set_index("implementation")
    return "CPU " + "|".join(digits(cells.loc[row, "cpu_s"] / cells.loc[row, "wall_s"]) for row in rows)


def _headline(results, experiment):
    """Returns the variant of this run to show: the headline, or the first one that it measured."""
    if experiment is None:
        return None
    fresh = set(results.cells[results.fresh & (results.cells.experiment == experiment["name"])].variant)
    some = [v for v in experiment["variants"] if v["name"] in fresh]
    return next((v for v in some if v["headline"]), some[0] if some else None)


def _short(value, unit):
    return readable(value, unit).replace("µ", "u").replace("< ", "<")


def _ratio(c):
    if c.ratio is None and not c.figure["lower_is_better"]:
        return f"{(c.us['median'] - c.best['median']) * 100:+.0f}pt"
    if c.ratio is None:
        return "=" if c.us["median"] <= 0 and c.best["median"] <= 0 else "none" if c.us["median"] <= 0 else "some"
    return f"{'~' if c.undecided else ''}{digits(c.ratio)}x"


def _state(c):
    if c.undecided:
        return "par"
    return "win" if c.verdict()[1] == "win" else "lose"


def _beside(results, experiment, variant, c):
    """Returns the best figure that the source published, or how many goals of the experiment are met. The number has
    a star if a goal compares ekiden with another peer than the line does."""
    published = [s["value"] for s in experiment["source"]
                 if s["variant"] == variant["name"] and s["figure"] == c.figure["name"]]
    if published and experiment["name"] in SAME_WORK:
        return "src " + _short(min(published), c.figure["unit"])
    judged = [(t, met) for t, _, _, met in targets.judge(results)
              if t.experiment == experiment["name"] and t.figure == c.figure["name"] and met is not None]
    if not judged:
        return ""
    is_other = any(t.peer is not None and c.best is not None and t.peer != c.best.name for t, _ in judged)
    return f"goals {sum(met for _, met in judged)}/{len(judged)}{'*' if is_other else ''}"


HEADS = ("", "", "ekiden", "best peer", "", "ratio", "src|goals")
LEAST_WORDS = 16  # the least width of a column of words


def _widths(rows, width):
    """Returns the widths of the columns, and what the other columns leave for the two columns of words. These two share
    it, and are cut where they do not fit."""
    widths = [max(len(r[i]) for r in [*rows, HEADS]) for i in range(7)]
    # The words of a line without a name also have the first column.
    widths[1] = max((len(r[1]) - (0 if r[0] else widths[0] + 1) for r in rows), default=0)
    widths[2] = max((len(r[2]) for r in rows if r[7] not in ("absent", "failed")), default=7)
    widths[3] = max((len(r[3]) for r in rows), default=7)
    return widths, width - sum(widths[i] for i in (0, 2, 3, 5, 6)) - 6


def _fitted(rows, width):
    """Returns the rows without processor times, if these leave too little room for the words."""
    if _widths(rows, width)[1] >= 2 * LEAST_WORDS:
        return rows
    return [(*row[:6], row[6].partition("CPU ")[0].rstrip(), row[7]) for row in rows]


def _table(rows, width, colour):
    widths, left = _widths(rows, width)
    widths[1] = min(widths[1], max(LEAST_WORDS, left - widths[4]))
    widths[4] = min(widths[4], left - widths[1])
    lines = [_line(HEADS, widths, "")]
    colours = {"win": (GREEN, BOLD), "lose": (RED, BOLD), "par": ("", BOLD), "failed": (RED, RED),
               "absent": (FAINT, FAINT)}
    for row in rows:
        ratio, own = colours[row[7]] if colour else ("", "")
        lines.append(_line(row, widths, own, ratio))
    return lines


def _line(row, widths, own, ratio=""):
    def cut(text, to):
        return text if len(text) <= to else text[:to - 2].rstrip(" ,") + ".."

    def painted(text, with_colour):
        return f"{with_colour}{text}{PLAIN}" if with_colour else text

    name, what, ours, best, peer, times, beside = row[:7]
    w = widths
    if ours == "ekiden":  # the heads
        return (f"{'':{w[0]}} {'':{w[1]}} {ours:>{w[2]}} {best:<{w[3] + 1 + w[4]}} {times:>{w[5]}} "
                f"{beside:<{w[6]}}")
    both = w[0] + 1 + w[1]
    words = f"{name:<{w[0]}} {cut(what, w[1]):<{w[1]}}" if name else f"{cut(what, both):<{both}}"
    if len(ours) > w[2]:
        return f"{words} {painted(ours, own)}"
    return (f"{words} {painted(f'{ours:>{w[2]}}', own)} {best:>{w[3]}} "
            f"{cut(peer, w[4]):<{w[4]}} {painted(f'{times:>{w[5]}}', ratio)} {beside:<{w[6]}}")


def _failures(results, width, colour):
    """Returns every failed cell of this run, with its reason."""
    failed = results.cells[results.fresh & (results.cells.status == "FAILED")]
    lines = []
    for cell in failed.itertuples():
        where = f"{cell.experiment}, {cell.variant}{', pinned' if cell.pinned else ''}"
        text = textwrap.shorten(f"FAILED {cell.title} in {where}: {cell.reason}", width, placeholder=" ..")
        lines.append(f"{RED}{text}{PLAIN}" if colour else text)
    return lines


def _missing(results, width):
    """Returns a line with the peers that were not measured, and the packages that would bring them."""
    missing = results.cells[results.fresh & (results.cells.status == "not installed")]
    if missing.empty:
        return []
    return [textwrap.shorten("not installed: " + missing_peers(missing), width, placeholder=" ..")]
