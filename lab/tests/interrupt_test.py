"""Interrupts a run of the lab in several ways, and checks what is left: interrupt_test.py LAB REPORT."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time


def cells(out):
    """Returns {(experiment, implementation)} of the results file, which must be complete whenever it is read."""
    document = json.loads(out.read_text())
    return {(e["name"], c["implementation"]) for e in document["experiments"] for c in e["cells"]}


def run_until(lab, out, measured, how, **options):
    """Starts the slow experiment. Sends `how` when `measured` is in the results. Returns (process, output, its
    children)."""
    process = subprocess.Popen([lab, "slow", "--smoke", "--limit", "600", "--out", out], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, **options)
    children = []
    while not (out.exists() and measured in cells(out) and children):
        assert process.poll() is None, process.stdout.read()
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        time.sleep(0.01)
    process.send_signal(how)
    output, _ = process.communicate(timeout=60)
    return process, output, children


def check_gone(children):
    deadline = time.monotonic() + 60
    while any(pathlib.Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, f"still there: {children}"
        time.sleep(0.01)


def main(lab, report):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "results.json"
        # A shell starts what it does not wait for with SIGINT ignored; the lab must hear it all the same.
        for how, before in ((signal.SIGINT, None), (signal.SIGTERM, None),
                            (signal.SIGINT, lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))):
            out.unlink(missing_ok=True)
            process, output, children = run_until(lab, out, ("slow", "first"), how, preexec_fn=before)
            assert process.returncode == 130, (how, process.returncode, output)
            assert "interrupted; what was measured before is in" in output, output
            check_gone(children)
            document = json.loads(out.read_text())
            assert cells(out) == {("slow", "first")}, cells(out)
            assert document["run"]["finished"] is False
            assert not out.with_name("results.json.part").exists()
        # A later run of something else keeps it; so does a sudden death.
        subprocess.run([lab, "faulty-results", "--smoke", "--out", out], check=True, stdout=subprocess.DEVNULL)
        kept = {("slow", "first"), ("faulty-results", "right"), ("faulty-results", "wrong")}
        assert cells(out) == kept, cells(out)
        document = json.loads(out.read_text())
        document["experiments"] = [e for e in document["experiments"] if e["name"] != "slow"]
        out.write_text(json.dumps(document))
        process, output, children = run_until(lab, out, ("slow", "first"), signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL, process.returncode
        check_gone(children)
        assert cells(out) == kept, cells(out)
        if not (importlib.util.find_spec("pandas") and importlib.util.find_spec("matplotlib")):
            print("the report was not checked: pandas or matplotlib is missing")
            return
        page = pathlib.Path(folder) / "report.html"
        shown = subprocess.run([sys.executable, report, out, "-o", page, "--page"], check=True, text=True,
                               stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": "80"}).stdout
        assert "INTERRUPTED" in shown, shown
        assert "The run was interrupted" in page.read_text()


main(*sys.argv[1:])
