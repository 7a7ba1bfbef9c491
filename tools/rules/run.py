"""Runs one rule of the repository, or its self-test.

    run.py RULE               each violation is a line `file:line: what is wrong`; exit status 1 if there is one
    run.py --self-test RULE   the rule must accept its good sample and reject each bad one

A rule is a module rule_NAME.py with `check(root)`, which yields violations, and with the samples GOOD (path -> text)
and BAD (a list of such; each is laid over GOOD).
"""

import importlib
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def violations(rule, sample):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in sample.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return list(rule.check(Path(folder)))


def self_test(rule):
    failures = [f"the good sample is rejected: {line}" for line in violations(rule, rule.GOOD)]
    if not rule.BAD:
        failures.append("there is no bad sample")
    for bad in rule.BAD:
        if not violations(rule, {**rule.GOOD, **bad}):
            failures.append(f"a bad sample is accepted: {bad}")
    return failures


def main(arguments):
    testing = arguments[:1] == ["--self-test"]
    names = arguments[1:] if testing else arguments
    if len(names) != 1:
        raise SystemExit(__doc__)
    rule = importlib.import_module(f"rule_{names[0]}")
    failures = self_test(rule) if testing else list(rule.check(ROOT))
    for line in failures:
        print(line)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
