"""The report's plots, as SVG text to stand inside the page.

Used by: report.py. Every plot is drawn twice, wide and narrow; the page shows the one that fits. Colours that must
follow the reader's light or dark mode are drawn in the marker colours below and replaced by the page's variables.
"""

import io
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first)
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator  # noqa: E402

from model import readable  # noqa: E402

INK, FAINT, GRID, OWN, PEER, PAPER, SOURCE = (
    "#010203", "#040506", "#070809", "#0a0b0c", "#0d0e0f", "#101112", "#131415")
_VARIABLES = {INK: "--ink", FAINT: "--faint", GRID: "--grid", OWN: "--own", PEER: "--peer", PAPER: "--paper",
              SOURCE: "--source"}
# For lines that must be told apart: Okabe and Ito's colours, which colour-blind readers can tell apart too.
LINES = ["#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8c6bb1", "#7f7f7f", "#b15928", "#66a61e", "#a6761d"]

plt.rcParams.update({
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10.5, "text.color": INK,
    "axes.edgecolor": GRID, "axes.labelcolor": FAINT, "xtick.color": FAINT, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
    "axes.axisbelow": True, "grid.color": GRID, "grid.linewidth": 0.8, "xtick.major.size": 0, "ytick.major.size": 0,
    "xtick.minor.size": 0, "ytick.minor.size": 0, "axes.titlesize": 10.5, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.titley": 1.0, "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
    "legend.frameon": False,
})


def _svg(figure, name):
    plt.rcParams["svg.hashsalt"] = name
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", pad_inches=0.04, metadata={"Date": None})
    plt.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg"):]
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    text = re.sub(r"font: ([0-9.]+)px [^;\"]*", r"font-size: \1px", text)
    text = re.sub(r"font: (?:bold|700) ([0-9.]+)px [^;\"]*", r"font-weight: 600; font-size: \1px", text)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r' id="(?:figure|axes|patch|text|xtick|ytick|line2d|matplotlib|legend|PathCollection|'
                  r'LineCollection|PolyCollection|FillBetween)[^"]*"', "", text)
    width, height = re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', text).groups()
    return re.sub(r'<svg [^>]*?viewBox="[^"]*"[^>]*>',
                  f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
                  f'viewBox="0 0 {width} {height}">', text, count=1)


def both(draw, name, label):
    """Draws a wide and a narrow version. draw(width in inches) returns a figure."""
    wide, narrow = _svg(draw(8.2), name + "-wide"), _svg(draw(3.9), name + "-narrow")
    return (f'<figure class="plot" aria-label="{label}"><div class="wide">{wide}</div>'
            f'<div class="narrow">{narrow}</div></figure>')


def _time_axis(axis, unit):
    axis.set_major_formatter(FuncFormatter(
        lambda value, _: readable(value, unit).replace(".00", "").replace(".0 ", " ") if value else "0"))
    axis.set_minor_locator(NullLocator())


def bars(panels, unit, source, logarithmic, name, label, name_titles=True):
    """One panel per (title, rows), side by side where there is room.

    rows: a frame with title, median, lower_quartile, upper_quartile, implementation, in order from top to bottom.
    source: {(panel number, implementation): published value}.
    """

    def draw(width):
        heights = [len(rows) for _, rows in panels]
        figure, axes = plt.subplots(len(panels), 1, figsize=(width, sum(0.285 * h + 0.62 for h in heights)),
                                    sharex=True, gridspec_kw={"height_ratios": heights, "hspace": 0.16}, squeeze=False)
        every = [v for _, rows in panels for v in rows["median"]] + list(source.values())
        low = min((v for v in every if v > 0), default=1)
        high = max([*every, low])
        for number, ((title, rows), ax) in enumerate(zip(panels, axes[:, 0])):
            places = range(len(rows) - 1, -1, -1)
            start = low / 2.2 if logarithmic else 0
            for place, (_, row) in zip(places, rows.iterrows()):
                own = row.implementation.startswith("ekiden")
                ax.barh(place, max(row["median"] - start, 0), left=start, height=0.64, color=OWN if own else PEER)
                ax.plot([row.lower_quartile, row.upper_quartile], [place, place], color=INK, linewidth=1.3,
                        solid_capstyle="butt")
                published = source.get((number, row.implementation))
                end = max(row["median"], row.upper_quartile)
                if published and end * 0.8 < published < end * (8 if width < 5 else 3.5):
                    end = published * 1.08  # the text goes behind the mark instead of under it
                ax.annotate(readable(row["median"], unit), (end, place), xytext=(5, 0), textcoords="offset points",
                            va="center", fontsize=9.5, color=INK, fontweight="bold" if own else "normal")
                if published:
                    ax.plot(published, place, marker="D", markersize=5.5, markerfacecolor=PAPER,
                            markeredgecolor=SOURCE, markeredgewidth=1.4)
            ax.set_yticks(list(places), rows["title"])
            for text, (_, row) in zip(ax.get_yticklabels(), rows.iterrows()):
                if row.implementation.startswith("ekiden"):
                    text.set_fontweight("bold")
            ax.set_ylim(-0.6, len(rows) - 0.4)
            if logarithmic:
                ax.set_xscale("log")
                ax.set_xlim(start, high * (6 if width < 5 else 2.6))
            else:
                ax.set_xlim(0, high * (1.6 if width < 5 else 1.2))
                ax.xaxis.set_major_locator(MaxNLocator(4 if width < 5 else 8))
            _time_axis(ax.xaxis, unit)
            ax.grid(axis="x")
            if name_titles:
                ax.set_title(title)
            ax.spines["bottom"].set_visible(False)
        return figure

    return both(draw, name, label)


def histograms(rows, edges, name, label):
    """Draws a strip for each implementation, one below the other, on one logarithmic time axis.

    rows: [(title, own, counts, {'P50': ns, ...})]; edges: of the bins, in ns.
    """

    def draw(width):
        figure, axes = plt.subplots(len(rows), 1, figsize=(width, 0.46 * len(rows) + 0.5), sharex=True,
                                    gridspec_kw={"hspace": 0.12}, squeeze=False)
        used = [i for _, _, counts, _ in rows for i, c in enumerate(counts) if c > 0]
        low, high = edges[max(min(used) - 2, 0)], edges[min(max(used) + 3, len(edges) - 1)]
        for (title, own, counts, marks), ax in zip(rows, axes[:, 0]):
            top = max(counts) or 1
            ax.stairs([c / top for c in counts], edges, fill=True, color=OWN if own else PEER)
            for mark, value in marks.items():
                ax.plot([value, value], [0, 0.95 if mark == "P50" else 0.6], color=INK, linewidth=1.2,
                        linestyle="-" if mark == "P50" else (0, (1.5, 1)))
            ax.set_xscale("log")
            ax.set_xlim(low, high)
            ax.set_ylim(0, 1.05)
            ax.set_yticks([0.3], [title])
            if own:
                ax.get_yticklabels()[0].set_fontweight("bold")
            _time_axis(ax.xaxis, "ns")
            ax.grid(axis="x")
        return figure

    return both(draw, name, label)


def curves(lines, xs, xlabel, name, label):
    """Draws efficiency over length. lines: [(title, own, [values], [low], [high])]. Quartiles are drawn for ekiden
    only."""

    def draw(width):
        narrow = width < 5
        figure, ax = plt.subplots(figsize=(width, 3.9 if not narrow else 3.4))
        peers = 0
        for title, own, values, low, high in lines:
            colour = OWN if own else LINES[peers % len(LINES)]
            style = "-" if own or peers < len(LINES) / 2 else (0, (4, 1.5))
            peers += not own
            if own:
                ax.fill_between(xs, low, high, color=colour, alpha=0.18, linewidth=0)
            ax.plot(xs, values, color=colour, linewidth=3 if own else 1.5, linestyle=style, label=title,
                    zorder=5 if own else 3, marker="o", markersize=4 if own else 2.5)
        ax.set_xscale("log")
        ax.set_ylim(0, 1.05)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
        ax.set_xticks(xs, [f"{x:g}" for x in xs])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlabel(xlabel)
        ax.grid()
        if narrow:
            ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.2), ncol=2, fontsize=9, handlelength=1.6,
                      columnspacing=1.0)
        else:
            ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9.5)
        return figure

    return both(draw, name, label)


def spreads(lines, xlabel, ylabel, name, label):
    """Means with standard deviations.

    lines: [(title, own, number among ekiden's or among its peers', dashed, [xs], [means], [deviations])].
    """

    def draw(width):
        narrow = width < 5
        figure, ax = plt.subplots(figsize=(width, 3.6 if narrow else 3.9))
        for title, own, number, dashed, xs, means, deviations in lines:
            colour = OWN if own else LINES[number % len(LINES)]
            ax.errorbar(xs, means, yerr=deviations, color=colour, linewidth=2.2 if own else 1.4, capsize=3,
                        elinewidth=1, linestyle=(0, (4, 1.5)) if dashed else "-", label=title,
                        marker="os^Dv"[number % 5] if own else "o", markersize=5 if own else 2.5,
                        zorder=5 if own else 3)
        tops = sorted(max(means) for *_, means, _ in lines)
        if len(tops) > 1 and tops[-1] > 3 * tops[-2]:
            ax.set_ylim(top=1.15 * tops[-2])
        ax.set_ylim(bottom=0)
        every = sorted({x for line in lines for x in line[4]})
        ax.set_xticks(every, [f"{x:,}" for x in every])
        ax.margins(x=0.06)
        if len(every) == 1:
            ax.set_xlim(every[0] * 0.5, every[0] * 1.5)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        ax.set_xlabel(xlabel)
        ax.set_ylabel(ylabel)
        ax.grid()
        if narrow:
            ax.legend(loc="upper center", bbox_to_anchor=(0.42, -0.2), ncol=2, fontsize=8, handlelength=1.6,
                      columnspacing=0.8)
        else:
            ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9.5)
        return figure

    return both(draw, name, label)


def scaling(panels, xs, xlabel, unit, name, label):
    """Time over threads, a panel per (title, lines), in one scale.

    lines: [(title, own, number of its library among the peers, number of its way, [values])]; no value: None; no library:
    the floor. A library has a colour, a way has a mark.
    """

    def draw(width):
        narrow = width < 5
        columns = 1 if narrow or len(panels) == 1 else 2
        rows = -(-len(panels) // columns)
        figure, axes = plt.subplots(rows, columns, figsize=(width, 2.5 * rows + 0.9), sharex=True, squeeze=False,
                                    gridspec_kw={"hspace": 0.28, "wspace": 0.22})
        handles = {}
        for (title, lines), ax in zip(panels, axes.flat):
            for line, own, library, way, values in lines:
                points = [(x, v) for x, v in zip(xs, values) if v is not None]
                if not points:
                    continue
                floor = library is None and not own
                colour = OWN if own else FAINT if floor else LINES[library % len(LINES)]
                handles[line], = ax.plot(*zip(*points), label=line, color=colour, linewidth=2.2 if own else 1.4,
                                         marker="" if floor else "os^D"[way % 4], markersize=5.5 if own else 4,
                                         linestyle=":" if floor else "-" if way == 0 else (0, (4, 1.5)),
                                         zorder=5 if own else 3)
            ax.set_ylim(bottom=0)
            ax.set_xticks(xs, [f"{x:g}" for x in xs])
            ax.margins(x=0.12)
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: readable(value, unit)))
            ax.set_title(title)
            ax.grid()
        for ax in axes.flat[len(panels):]:
            ax.set_axis_off()
        for ax in axes[-1]:
            ax.set_xlabel(xlabel)
        figure.legend(handles.values(), handles.keys(), loc="upper center", bbox_to_anchor=(0.5, 0.06 if rows > 1 else 0.0),
                      ncol=2 if narrow else 3, fontsize=8.5 if narrow else 9.5, handlelength=2.2, columnspacing=1.2)
        return figure

    return both(draw, name, label)


def relative(panels, xs, xlabel, name, label):
    """Draws panels below each other, one for each (title, lines). lines: [(title, own, [values])], where 1 is the best
    at each x."""

    def draw(width):
        narrow = width < 5
        figure, axes = plt.subplots(len(panels), 1, figsize=(width, 1.75 * len(panels) + (1.2 if narrow else 0.3)),
                                    sharex=True, gridspec_kw={"hspace": 0.3}, squeeze=False)
        for (title, lines), ax in zip(panels, axes[:, 0]):
            count = {True: 0, False: 0}
            for line, own, values in lines:
                number = count[own]
                count[own] += 1
                ax.plot(range(len(xs)), values, label=line, color=OWN if own else LINES[number % len(LINES)],
                        linewidth=2.2 if own else 1.4, marker="os^Dv"[number % 5] if own else "o",
                        markersize=5 if own else 2.5, zorder=5 if own else 3)
            ax.set_yscale("log", base=2)
            ax.set_ylim(bottom=0.9, top=max(1.6, ax.get_ylim()[1]))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
            ax.yaxis.set_minor_locator(NullLocator())
            ax.set_xticks(range(len(xs)), [x.replace(" us", " µs") for x in xs])
            ax.set_title(title)
            ax.grid()
        axes[-1, 0].set_xlabel(xlabel)
        if narrow:
            axes[-1, 0].legend(loc="upper center", bbox_to_anchor=(0.45, -0.35), ncol=2, fontsize=8.5, handlelength=1.6)
        else:
            axes[0, 0].legend(loc="upper left", bbox_to_anchor=(1.01, 1.05), fontsize=9.5)
        return figure

    return both(draw, name, label)


def delays(panels, mark, unit, name, label):
    """Delay over rate, a panel per (title, lines) below each other, both axes logarithmic.

    lines: [(title, is the pick, [rates], [medians], [lowest], [highest])]. mark: a rate to point out.
    """

    def draw(width):
        narrow = width < 5
        figure, axes = plt.subplots(len(panels), 1, figsize=(width, 2.3 * len(panels) + (1.3 if narrow else 0.3)),
                                    sharex=True, gridspec_kw={"hspace": 0.22}, squeeze=False)
        rates = sorted({x for _, lines in panels for line in lines for x in line[2]})
        for (title, lines), ax in zip(panels, axes[:, 0]):
            others = 0
            for line, is_pick, xs, values, low, high in lines:
                colour = OWN if is_pick else LINES[others % len(LINES)]
                style = "-" if is_pick or others < len(LINES) else (0, (4, 1.5))
                others += not is_pick
                ax.fill_between(xs, low, high, color=colour, alpha=0.15, linewidth=0)
                ax.plot(xs, values, color=colour, linestyle=style, linewidth=2.6 if is_pick else 1.4, label=line,
                        marker="o", markersize=4.5 if is_pick else 3, zorder=5 if is_pick else 3)
            ax.axvline(mark, color=FAINT, linewidth=1, linestyle=":")
            ax.set_xscale("log")
            ax.set_yscale("log")
            _time_axis(ax.yaxis, unit)
            ax.set_xticks(rates, [f"{x:,.0f}" for x in rates])
            ax.xaxis.set_minor_locator(NullLocator())
            ax.margins(x=0.08)
            ax.set_title(title)
            ax.grid()
        axes[-1, 0].set_xlabel("requests a second")
        if narrow:
            axes[-1, 0].tick_params(axis="x", labelrotation=45)
            axes[-1, 0].legend(loc="upper center", bbox_to_anchor=(0.42, -0.42), ncol=1, fontsize=8.5)
        else:
            axes[0, 0].legend(loc="upper left", bbox_to_anchor=(1.01, 1.05), fontsize=9.5)
        return figure

    return both(draw, name, label)
