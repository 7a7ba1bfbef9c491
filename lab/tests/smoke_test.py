"""Runs every experiment at the smallest scale and makes the report: smoke_test.py LAB REPORT."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.dom.minidom


def main(lab, report):
    listed = subprocess.run([lab, "--list"], capture_output=True, text=True, check=True).stdout.split()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "results.json"
        done = subprocess.run([lab, "--smoke", "--limit", "60", "--out", out], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        results = json.loads(out.read_text())
        assert {e["name"] for e in results["experiments"]} == set(listed), listed
        folders = pathlib.Path(report).resolve().parents[1] / "experiments"
        assert {f.name for f in folders.iterdir() if f.is_dir()} == set(listed), listed  # what ./dev takes as names
        for experiment in results["experiments"]:
            cells = experiment["cells"]
            failed = [(c["implementation"], c["variant"], c["reason"]) for c in cells if c["status"] == "FAILED"]
            assert not failed, (experiment["name"], failed)
            headlines = [v["headline"] for v in experiment["variants"] if v["headline"]]
            assert len(headlines) == 1 and len(headlines[0]) <= 16, (experiment["name"], headlines)
            for variant in experiment["variants"]:
                own = [c for c in cells if c["implementation"] == "ekiden" and c["variant"] == variant["name"]]
                assert own and all(c["status"] == "ok" and variant["primary"] in c["figures"]
                                   or "built without" in c["reason"] or c["status"] == "not installed"
                                   for c in own), variant
        if not (importlib.util.find_spec("pandas") and importlib.util.find_spec("matplotlib")):
            print("the report was not checked: pandas or matplotlib is missing")
            return
        page = pathlib.Path(folder) / "report.html"
        csv = pathlib.Path(folder) / "request-order.csv"
        # The report is drawn once: that takes longer than all the rest of it.
        narrow = subprocess.run([sys.executable, report, out, "-o", page, "--csv", csv, "--page"], check=True, text=True,
                                stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": "80"}).stdout
        head, *rows = csv.read_text().splitlines()
        assert head == "method,N,second,id diff count,max lock size,max queue size", head
        assert {"orderlock", "queue", "queue_new", "mainthread", "q_orderlock", "q_queue"} <= {
            row.split(",")[0] for row in rows if row.split(",")[1] == "5000"}, rows
        sys.path.insert(0, str(pathlib.Path(report).resolve().parent))
        import model  # pylint: disable=import-outside-toplevel
        import terminal  # pylint: disable=import-outside-toplevel
        for columns in (80, 100, 200, None):
            shown = narrow if columns == 80 else terminal.page(model.load(out), columns, False, str(page))
            lines = shown.splitlines()
            assert len([line for line in lines if not line.startswith("  ")]) <= len(listed) + 7, shown
            if columns is None:
                assert ".." not in shown, shown # nothing is cut
            else:
                assert all(len(line) <= min(columns, 100) for line in lines), shown
            assert [line.split()[0] for line in lines if line.split()[0] in listed] == listed, shown
            assert "FAILED" not in shown, shown
            # An experiment that needs a server can have no cell that this machine can run.
            absent = {e["name"] for e in results["experiments"] if all(c["status"] != "ok" for c in e["cells"])}
            assert all("not measured" not in line or line.split()[0] in absent for line in lines), shown
        text = page.read_text()
        for name in listed:
            assert f'<section id="{name}">' in text, name
        for outside in ("src=", "<script", "<link", "@import", "url("):
            assert outside not in text.replace("url(#", ""), outside  # nothing is fetched from anywhere
        plots = text.split("<svg")[1:]
        assert len(plots) >= 2 * 5, len(plots)
        for plot in plots:
            xml.dom.minidom.parseString("<svg" + plot[:plot.index("</svg>")] + "</svg>")


main(*sys.argv[1:])
