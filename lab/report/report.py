#!/usr/bin/python3
"""Makes one self-contained page of a results file of the lab.

    report.py results/<host>.json -o report.html [--csv request-order.csv] [--page]
"""

import argparse
import os
import pathlib
import shutil
import sys

import model
import page
import replay
import request_order
import terminal


def main():
    parser = argparse.ArgumentParser(description="Makes one self-contained page of a results file of the lab.")
    parser.add_argument("results", help="a file that ekiden-lab wrote")
    parser.add_argument("-o", "--output", default="report.html", help="the page (default: report.html)")
    parser.add_argument("--csv", help="write the repetitions of request-order there, in its source's columns")
    parser.add_argument("--page", action="store_true", help="show the run's headlines in the terminal, on one page")
    arguments = parser.parse_args()
    try:
        results = model.load(arguments.results)
    except (OSError, ValueError) as error:
        print(f"report.py: cannot read '{arguments.results}': {error}", file=sys.stderr)
        return 1
    form = replay if results.replay else page
    texts = {arguments.output: form.render(results)}
    if arguments.csv:
        found = [e for e in results.experiments if e["name"] == "request-order"]
        if not found:
            print(f"report.py: --csv: '{arguments.results}' holds no request-order", file=sys.stderr)
            return 1
        texts[arguments.csv] = request_order.csv(found[0])
    for path, text in texts.items():
        try:
            pathlib.Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            print(f"report.py: cannot write '{path}': {error}", file=sys.stderr)
            return 1
    if arguments.page:
        # Nothing is cut in a file or a pipe, unless the environment states a width.
        has_width = sys.stdout.isatty() or "COLUMNS" in os.environ
        columns = shutil.get_terminal_size().columns if has_width else None
        lines = replay.page if results.replay else terminal.page
        print(lines(results, columns, sys.stdout.isatty(), arguments.output), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
