"""Compares two builds of the lab, round by round on this machine, in the rows of user_rows.py.

compare.py BEFORE AFTER [--rounds N] [--only TEXT] [--out FILE]

BEFORE and AFTER are programs `ekiden-lab`. Each round runs each row in a process of its own, first with one build and
then with the other; the next round begins with the other one. The ratio of a row is the median of the rounds' ratios.
A row is lost if it takes more than its share and its lower quartile is above 1 as well.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from user_rows import OF_USERS, OTHERS

SMOKE, QUICK = 0, 1  # lab::scale
LIMIT_S = 60


def settings_of(lab):
    """(workers, turns_per_us): what the lab itself finds out about this machine."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        subprocess.run([lab, "timer-cancel", "--smoke", "--out", results], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        found = json.loads(results.read_text())
        return found["workers"], found["run"]["turns_per_us"]


def run_cell(lab, cell, index, settings, scale):
    """The figures of one process, by name: medians of its repetitions. Or the reason why there are none."""
    experiment, variant, implementation = cell
    reader, writer = os.pipe()
    request = {"experiment": experiment, "implementation": implementation, "report_descriptor": writer,
               "variant": variant, "scale": scale, "workers": settings[0], "repetitions": 1, "round": index,
               "pinned": False, "turns_per_us": settings[1], "input": ""}
    with subprocess.Popen([lab, "--run-cell", json.dumps(request)], pass_fds=[writer],
                          stdout=subprocess.DEVNULL) as process:
        os.close(writer)
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return f"took more than {LIMIT_S} s"
        finally:
            with open(reader, encoding="utf-8") as pipe:
                lines = [json.loads(line) for line in pipe]
    repetitions = [line["repetition"]["figures"] for line in lines if "repetition" in line]
    if process.returncode != 0 or not repetitions:
        return next((str(line) for line in lines if "repetition" not in line), f"exit status {process.returncode}")
    return {name: statistics.median(r[name] for r in repetitions) for name in repetitions[0]}


def measure(before, after, rows, rounds, settings, scale):
    """{cell: [(figures before, figures after), ...]}, and the reasons of cells that failed."""
    cells = list(dict.fromkeys((row.experiment, row.variant, row.implementation) for row in rows))
    pairs, failures = {cell: [] for cell in cells}, {}
    for index in range(rounds):
        for number, cell in enumerate(cells):
            if sys.stderr.isatty():
                print(f"\rround {index + 1} of {rounds}: {number + 1} of {len(cells)} cells   ", end="", file=sys.stderr)
            first, second = (before, after) if index % 2 == 0 else (after, before)
            found = [run_cell(lab, cell, index, settings, scale) for lab in (first, second)]
            bad = [reason for reason in found if isinstance(reason, str)]
            if bad:
                failures[cell] = bad[0]
            else:
                pairs[cell].append(tuple(found if first == before else reversed(found)))
    return pairs, failures


def summary(row, pairs):
    """What the table says of a row; None without figures."""
    values = [(b[row.figure], a[row.figure]) for b, a in pairs if b.get(row.figure) and a.get(row.figure)]
    if not values:
        return None
    ratios = sorted(b / a if row.higher_is_better else a / b for b, a in values)
    low, high = (statistics.quantiles(ratios, n=4, method="inclusive")[::2] if len(ratios) > 1 else ratios * 2)
    cpu = [a[row.cpu] / b[row.cpu] for b, a in pairs if row.cpu and b.get(row.cpu) and a.get(row.cpu)]
    return {"before": statistics.median(b for b, _ in values), "after": statistics.median(a for _, a in values),
            "ratio": statistics.median(ratios), "low": low, "high": high,
            "cpu": statistics.median(cpu) if cpu else None, "rounds": len(values)}


def print_table(title, rows, pairs, failures, allowed):
    """A table in Markdown. Returns the rows that have lost more than `allowed`."""
    print(f"\n### {title}\n\n| row | before | after | ratio of times (quartiles) | CPU | |\n|---|---|---|---|---|---|")
    lost = []
    for row in rows:
        cell = (row.experiment, row.variant, row.implementation)
        name = f"{row.experiment}, {row.variant}"
        name += f", {row.figure} us" if row.higher_is_better else ""
        name += f", {row.implementation}" if row.implementation != "ekiden" else ""
        found = summary(row, pairs[cell])
        if found is None:
            failures.setdefault(cell, f"no figure {row.figure}")
            print(f"| {name} | | | | | {failures[cell]} |")
            continue
        is_lost = found["ratio"] > allowed and found["low"] > 1
        lost += [name] if is_lost else []
        cpu = f"{found['cpu']:.2f}" if found["cpu"] is not None else ""
        print(f"| {name} | {found['before']:.4g} | {found['after']:.4g} | {found['ratio']:.2f} "
              f"({found['low']:.2f} – {found['high']:.2f}) | {cpu} | {'**lost**' if is_lost else ''} |")
    return lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="rows whose experiment contains this text")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: shows that each row can be measured")
    parser.add_argument("--out", type=Path, help="the figures of all rounds as JSON")
    asked = parser.parse_args()
    users, others = ([row for row in rows if asked.only in row.experiment] for rows in (OF_USERS, OTHERS))
    before, after = asked.before.resolve(), asked.after.resolve()
    pairs, failures = measure(before, after, [*users, *others], asked.rounds, settings_of(after),
                              SMOKE if asked.smoke else QUICK)
    if asked.out:
        asked.out.write_text(json.dumps([{"cell": cell, "rounds": found} for cell, found in pairs.items()]))
    lost = [*print_table("Rows of users", users, pairs, failures, 1.1), *print_table("Other rows", others, pairs, failures, 1.3)]
    print(f"\n{len(lost)} lost" + "".join(f"\n* {name}" for name in lost)
          + "".join(f"\n* {', '.join(cell)}: {reason}" for cell, reason in failures.items()))
    return 1 if failures or (lost and not asked.smoke) else 0


if __name__ == "__main__":
    sys.exit(main())
