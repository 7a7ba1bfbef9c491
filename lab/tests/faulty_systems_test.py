"""Runs the lab with systems that break the rules, and checks that it reports them: faulty_systems_test.py LAB REPORT."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

EXPECTED = {
    ("faulty", "right"): ("ok", ""),
    ("faulty", "loses"): ("FAILED", "lost tasks: "),
    ("faulty", "doubles"): ("FAILED", "ran 2 times"),
    ("faulty", "doubles-and-loses"): ("FAILED", "ran "),
    ("faulty", "crashes"): ("FAILED", "crashed: Aborted"),
    ("faulty", "hangs"): ("FAILED", "hung: stopped after 12 s"),
    ("faulty", "throws"): ("FAILED", "threw: on purpose"),
    ("faulty", "not-built"): ("not installed", "no-such-program"),
    ("faulty", "absent"): ("not installed", "no-such-package"),
    ("faulty-hops", "right"): ("ok", ""),
    ("faulty-hops", "loses"): ("FAILED", " hops counted where there were 5000"),
    ("faulty-hops", "doubles"): ("FAILED", " hops counted where there were 5000"),
    ("faulty-lanes", "right"): ("ok", ""),
    ("faulty-lanes", "loses"): ("FAILED", "19999 tasks ran where 20000 were posted"),
    ("faulty-lanes", "doubles"): ("FAILED", "20001 tasks ran where 20000 were posted"),
    ("faulty-models", "right"): ("ok", ""),
    ("faulty-models", "loses"): ("FAILED", " tasks ran where "),
    ("faulty-strand", "right"): ("ok", ""),
    ("faulty-strand", "loses"): ("FAILED", "handler 1000 came out of turn"),
    ("faulty-strand", "doubles"): ("FAILED", "handler 999 came out of turn"),
    ("faulty-strand", "reorders"): ("FAILED", "handler 1000 came out of turn"),
    ("faulty-results", "right"): ("ok", ""),
    ("faulty-results", "wrong"): ("FAILED", "returned 101, not 100"),
}


def main(lab, report):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "results.json"
        done = subprocess.run([lab, "--smoke", "--limit", "12", "--out", out], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stderr
        results = json.loads(out.read_text())
        found = {(e["name"], c["implementation"]): c for e in results["experiments"] for c in e["cells"]}
        assert set(found) == set(EXPECTED), sorted(found)
        for key, (status, reason) in EXPECTED.items():
            cell = found[key]
            assert cell["status"] == status and reason in cell["reason"], (key, cell["status"], cell["reason"])
            assert ("figures" in cell) == (status == "ok"), key
        for words in ("FAILED: crashed: Aborted", "not installed: package no-such-package"):
            assert words in done.stdout, done.stdout
        wrong = subprocess.run([lab, "no-such-experiment"], capture_output=True, text=True, check=False)
        assert wrong.returncode == 2, wrong.returncode
        assert "no experiment 'no-such-experiment'; there are: faulty, faulty-hops, " in wrong.stderr, wrong.stderr
        if not (importlib.util.find_spec("pandas") and importlib.util.find_spec("matplotlib")):
            print("the report was not checked: pandas or matplotlib is missing")
            return
        page = pathlib.Path(folder) / "report.html"
        shown = subprocess.run([sys.executable, report, out, "-o", page, "--page"], check=True, text=True,
                               stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": "80"}).stdout
        failed = [name for (_, name), (status, _) in EXPECTED.items() if status == "FAILED"]
        assert shown.count("FAILED ") == len(failed), shown
        for name in failed:
            assert f"FAILED {name} in faulty" in shown, (name, shown)
        assert all(len(line) <= 80 for line in shown.splitlines()), shown
        text = page.read_text()
        assert text.count("<b>FAILED</b>") == len(failed), text.count("<b>FAILED</b>")
        assert text.count("<b>not installed</b>") == 2, text.count("<b>not installed</b>")
        empty = pathlib.Path(folder) / "empty.json"
        empty.write_text("{}")
        bad = subprocess.run([sys.executable, report, empty, "-o", page], capture_output=True, text=True, check=False)
        assert bad.returncode == 1 and "cannot read" in bad.stderr, bad.stderr


main(*sys.argv[1:])
