"""Measures what a public header adds to a user's build time, beyond the standard headers that it includes.

    tools/parse_time.py [HEADER...]      default: ekiden/pool/thread_pool.hpp

The budget is 0.1 s for ekiden's own part, beyond the standard headers that the header and ekiden's headers behind it
include. The standard headers take most of the time. Compilations of both and of <thread> alternate. The medians of the
compiler's processor time are compared. Prints a table. The exit status is 1 if a header is over the budget.
"""

import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILER = ["g++", "-std=c++20", f"-I{ROOT}/src", "-x", "c++", "-"]
ROUNDS = 9
BUDGET_S = 0.1


def source(headers):
    return "".join(f"#include <{header}>\n" for header in headers)


def standard_headers(header):
    """Returns the standard headers that the header and ekiden's headers behind it include."""
    run = subprocess.run([*COMPILER, "-MM", "-MT", "x"], input=source([header]), text=True, check=True, capture_output=True)
    own = [Path(word) for word in run.stdout.split() if word.endswith(".hpp")]
    return sorted({name for path in own for name in re.findall(r"^#include <([a-z_]+)>", path.read_text(), re.MULTILINE)})


def seconds_to_parse(headers):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*COMPILER, "-fsyntax-only"], input=source(headers), text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(headers):
    subjects = {"<thread>": ["thread"]}
    for header in headers:
        subjects[f"standard headers of {header}"] = standard_headers(header)
        subjects[header] = [header]
    times = {subject: [] for subject in subjects}
    for _ in range(ROUNDS):
        for subject, included in subjects.items():
            times[subject].append(seconds_to_parse(included))
    median = {subject: statistics.median(of) for subject, of in times.items()}
    for subject, of in times.items():
        print(f"{subject:60} {median[subject]:.3f} s ({min(of):.3f} to {max(of):.3f})")
    return 1 if any(median[h] > median[f"standard headers of {h}"] + BUDGET_S for h in headers) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["ekiden/pool/thread_pool.hpp"]))
