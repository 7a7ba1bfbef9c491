"""Measures what including a public header costs a user's build, beside <thread>.

    tools/parse_time.py [HEADER...]      default: ekiden/pool/thread_pool.hpp

Budget: at most the time of <thread> plus 0.2 s. Compilations of an empty file, <thread> and each header take turns;
medians of the compiler's processor time count. Prints a table; exit status 1 if a header is over the budget.
"""

import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILER = "g++"
ROUNDS = 9
BUDGET_S = 0.2


def seconds_to_parse(header):
    source = f"#include <{header}>\n" if header else ""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", f"-I{ROOT}", "-x", "c++", "-"],
                   input=source, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(headers):
    subjects = ["", "thread", *headers]
    times = {subject: [] for subject in subjects}
    for _ in range(ROUNDS):
        for subject in subjects:
            times[subject].append(seconds_to_parse(subject))
    base = statistics.median(times["thread"])
    over = False
    for subject in subjects:
        median = statistics.median(times[subject])
        spread = f"{min(times[subject]):.3f} to {max(times[subject]):.3f}"
        over = over or median > base + BUDGET_S
        print(f"{subject or '(nothing)':40} {median:.3f} s ({spread})  {median / base:.2f} of <thread>")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["ekiden/pool/thread_pool.hpp"]))
