#!/usr/bin/python3
"""Writes docs/measurements.md from a results file: each target with its figures, and a few sentences on each topic.

    measurements.py docs/run.json.gz -o docs/measurements.md [--check]

The sentences are in measurements_notes.md, which has a section for each topic. With --check nothing is written, and the exit
status tells whether the page is what this would write.
"""

import argparse
import pathlib
import re
import sys

import model
import targets
from model import digits, readable

NOTES = pathlib.Path(__file__).with_name("measurements_notes.md")
MOST_SENTENCES = 3


def topics():
    """Returns triples (title, experiments, sentences) of the notes."""
    for part in re.split(r"^## ", NOTES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, experiments, *rest = part.strip().split("\n")
        sentences = " ".join(line.strip() for line in rest if line.strip())
        if len(re.findall(r"[.!?](?:\s|$)", sentences)) > MOST_SENTENCES:
            raise SystemExit(f"{NOTES.name}: '{title}' has more than {MOST_SENTENCES} sentences")
        yield title, experiments.split(": ", 1)[1].split(", "), sentences


def measured(results, target):
    """Returns our figure and the peer's, or their ratios if the target has several settings."""
    unit = next(f["unit"] for e in results.experiments if e["name"] == target.experiment
                for f in e["figures"] if f["name"] == target.figure)

    def of(implementation, variant):
        summary = results.summary(target.experiment, variant, target.figure)
        if implementation not in summary.index:
            return ""
        one = summary.loc[implementation]
        spread = "" if one["lower_quartile"] == one["upper_quartile"] else f" ({readable(one['lower_quartile'], unit)} to {readable(one['upper_quartile'], unit)})"
        return readable(one["median"], unit) + spread

    if isinstance(target.variant, str):
        peer = of(target.peer, target.peer_variant or target.variant) if target.peer else ""
        return of(target.implementation, target.variant), peer
    ratios = []
    for variant in target.variant:
        ours = results.median(target.experiment, variant, target.figure, target.implementation)
        theirs = target.peer and results.median(target.experiment, variant, target.figure, target.peer)
        if ours is not None and (not target.peer or theirs):
            ratios.append(f"{variant}: {digits(ours / theirs) + 'x' if target.peer else readable(ours, unit)}")
    return "; ".join(ratios), ""


def table(results, judged):
    lines = ["| experiment | target | goal | ekiden | peer | reached | |", "|---|---|---|---|---|---|---|"]
    last = ""
    for target, goal, reached, met in judged:
        ours, peer = measured(results, target)
        name = f"`{target.experiment}`" if target.experiment != last else ""
        last = target.experiment
        lines.append(f"| {name} | {target.what} | {goal} | {ours} | {peer} | {reached} | {'met' if met else '**missed**'} |")
    return "\n".join(lines)


def render(results):
    judged = [row for row in targets.judge(results) if row[3] is not None]
    met, m = sum(1 for row in judged if row[3]), results.machine
    text = f"""# What was measured

The script `lab/report/measurements.py` makes this page from the results of one run, [run.json.gz](run.json.gz). The run measured every implementation in every variant of all experiments (`./dev lab --quick`).
Processor: {m["processor"]} with {m["all_cores"]} cores. Compiler: {m["compiler"]}. Date: {m["date"][:10]}. To measure on your machine, run `./dev lab`.

{met} of {len(judged)} goals were met. Each figure is a median, with the quartiles in parentheses. "0.9 times the peer's time" means that ekiden's figure divided by the peer's figure is 0.9, so less is better. Some rows have several variants, such as numbers of threads. The goal of such a row is met only if ekiden meets the goal in every variant. A *peer* is the other implementation with which a row compares ekiden. A *published* peer is from the article or the program whose measurement the experiment repeats.
Compare only ratios within one run. The host of the virtual machine moves the two virtual cores, so the transfer of a cache line between these cores takes from 30 ns to 280 ns.
"""
    shown = set()
    for title, experiments, sentences in topics():
        rows = [row for row in judged if row[0].experiment in experiments]
        shown |= {row[0].experiment for row in rows}
        if rows:
            text += f"\n## {title}\n\n{table(results, rows)}\n\n{sentences}\n"
    missing = {row[0].experiment for row in judged} - shown
    if missing:
        raise SystemExit(f"{NOTES.name}: no topic has the experiments {', '.join(sorted(missing))}")
    return text


def main():
    parser = argparse.ArgumentParser(description="Writes the page of measurements from a results file.")
    parser.add_argument("results")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--check", action="store_true", help="only tell whether the page is up to date")
    given = parser.parse_args()
    text = render(model.load(given.results))
    page = pathlib.Path(given.output)
    if given.check:
        if page.read_text(encoding="utf-8") == text:
            return 0
        print(f"{page}: not what lab/report/measurements.py makes of {given.results}", file=sys.stderr)
        return 1
    page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
