#!/usr/bin/python3
"""Makes one self-contained page of a results file of the lab.

    report.py results/<host>.json -o report.html
"""

import argparse
import pathlib
import sys

import model
import page


def main():
    parser = argparse.ArgumentParser(description="Makes one self-contained page of a results file of the lab.")
    parser.add_argument("results", help="a file that ekiden-lab wrote")
    parser.add_argument("-o", "--output", default="report.html", help="the page (default: report.html)")
    arguments = parser.parse_args()
    try:
        results = model.load(arguments.results)
    except (OSError, ValueError) as error:
        print(f"report.py: cannot read '{arguments.results}': {error}", file=sys.stderr)
        return 1
    try:
        pathlib.Path(arguments.output).write_text(page.render(results), encoding="utf-8")
    except OSError as error:
        print(f"report.py: cannot write '{arguments.output}': {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
