"""Tests the smallest replay, its page, and the recommendations for artificial cases: replay_test.py LAB REPORT."""

import json
import pathlib
import subprocess
import sys
import tempfile
import types
import xml.dom.minidom

FACTS = {"asked_rate": 1000.0, "rate": 1000.0, "peak_rate": 2000.0, "need": "order", "bound_of_hottest_key": 4000.0,
         "bound_of_processors": 90000.0}


def results_of(rows, **facts):
    """rows: [(name, promise, runs' P99 in us or None, keeps up to)]."""
    cells = []
    for name, promise, p99, _ in rows:
        one = {"implementation": name, "title": name, "note": "", "status": "ok", "reason": ""}
        usual = {"promise": promise, "overtaken": 0}
        flat = {**usual, "rate": 50000, "cpu_us": 20, "memory_kib": 100}
        cells.append({**one, "variant": "as fast as possible", "repetitions": [],
                      "figures": {k: {"median": v} for k, v in flat.items()}})
        runs = [{"figures": {"p50_us": x / 2, "p99_us": x, "p999_us": 2 * x} if x else {}} for x in p99]
        paced = {**usual, "sustained": 1 if all(p99) else 0, "lag_p99_us": 1}
        cells.append({**one, "variant": "1000 requests/s", "repetitions": runs,
                      "figures": {k: {"median": v} for k, v in paced.items()}})
    saturation = {name: {"sustained": keeps_up, "not": 2 * keeps_up} for name, _, _, keeps_up in rows}
    return types.SimpleNamespace(experiments=[{"name": "replay", "cells": cells}],
                                 replay={**FACTS, "saturation": saturation, **facts})


def check_advice(recommend):
    order, exclusive, nothing = 2, 1, 0
    fast, slow, mixed = [100, 110, 120], [200, 210, 220], [90, 220, 230]

    def advise(*rows, **facts):
        return recommend.advise(results_of(rows, **facts))

    # The promise comes first, then the margin, then P99.
    a = advise(("ekiden-pool", nothing, fast, 9000), ("ekiden", order, slow, 9000), ("x-strand-per-key", order, fast, 2500))
    assert a.pick.name == "ekiden" and a.has_margin and a.runner_up is None, a
    a = advise(("ekiden-pool", nothing, fast, 9000), ("ekiden", order, slow, 9000), need="nothing")
    assert a.pick.name == "ekiden-pool" and a.runner_up.name == "ekiden", a
    a = advise(("ekiden-mutex-per-key", exclusive, fast, 9000), ("ekiden", order, slow, 9000), need="exclusive")
    assert a.pick.name == "ekiden-mutex-per-key", a
    # Where not all runs agree, the simpler one is taken, and the sentence says so.
    a = advise(("ekiden", order, slow, 9000), ("ekiden-fifo-lock", order, mixed, 9000))
    assert a.pick.name == "ekiden-fifo-lock" and a.is_tie, a
    assert "no difference that all runs agree on" in recommend.sentence(a, FACTS, str), recommend.sentence(a, FACTS, str)
    a = advise(("ekiden", order, fast, 9000), ("ekiden-fifo-lock", order, slow, 9000))
    assert a.pick.name == "ekiden" and not a.is_tie, a
    a = advise(("ekiden-elastic-lanes", order, slow, 9000), ("ekiden-strand-per-key", order, mixed, 9000))
    assert a.pick.name == "ekiden-strand-per-key", a
    # A point without one whole run is none.
    a = advise(("ekiden", order, [100, None, 100], 9000), ("ekiden-fifo-lock", order, slow, 9000))
    assert a.pick.name == "ekiden-fifo-lock", a
    # Nobody has the margin: the one that comes nearest, and no false promise.
    a = advise(("ekiden", order, fast, 2400), ("ekiden-fifo-lock", order, slow, 1200))
    assert a.pick.name == "ekiden" and not a.has_margin, a
    assert "No model was seen to keep up" in recommend.sentence(a, FACTS, str)
    # Twice the rate: the same, another one, or why none can.
    a = advise(("ekiden", order, fast, 5200))
    assert "still right" in a.doubled, a.doubled
    a = advise(("ekiden", order, fast, 3000), ("ekiden-context-per-thread", order, slow, 6000))
    assert "At twice the rate take ekiden-context-per-thread" in a.doubled, a.doubled
    a = advise(("ekiden", order, fast, 3000))
    assert "one key has too much work" in a.doubled and "processors" not in a.doubled, a.doubled
    a = advise(("ekiden-pool", nothing, fast, 3000), need="nothing")
    assert "one key" not in a.doubled, a.doubled
    # The rate asked for scales the peak with it.
    a = advise(("ekiden", order, fast, 9000), asked_rate=1000.0, rate=500.0)
    assert a.peak == 4000 and a.has_margin, a
    assert advise(("ekiden-pool", nothing, fast, 9000)).pick is None


def check_run(lab, report, folder):
    trace = folder / "trace.jsonl"
    lines = [json.dumps({"arrival_us": 40 * i, "key": f"k{i % 7}", "service_us": 5, "block_us": 100 if i % 50 == 0 else 0})
             for i in range(200)]
    trace.write_text("\n".join(lines) + "\n")
    out = folder / "replay.json"
    done = subprocess.run([lab, "replay", trace, "--smoke", "--cores", "4", "--out", out], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(f.name for f in folder.iterdir()) == ["replay.json", "trace.jsonl"], list(folder.iterdir())
    results = json.loads(out.read_text())
    cells = results["experiments"][0]["cells"]
    assert not [c for c in cells if c["status"] == "FAILED"], cells
    flat = {c["implementation"] for c in cells if c["variant"] == "as fast as possible"}
    assert {"ekiden", "ekiden-fifo-lock", "std-async", "std-mutex-per-key"} <= flat, flat
    assert results["replay"]["requests"] == 200 and results["replay"]["keys"] == 7
    assert 0 < results["replay"]["bound_of_hottest_key"] < results["replay"]["bound_of_processors"] * 7
    predicted = results["replay"]["predicted"]
    measured = {c["implementation"] for c in cells if c["variant"] == "as fast as possible" and c["status"] == "ok"}
    assert {p["model"] for p in predicted if p["cores"] == 4} == measured == set(results["replay"]["costs"]), predicted
    assert all(p["measured"]["rate"] > 0 and p["predicted_over_measured"]["rate"] > 0 for p in predicted
               if p["rate"] == 0 and "measured" in p), predicted
    assert "predicted / measured" in done.stdout, done.stdout

    broken = folder / "broken.csv"
    broken.write_text("arrival_us,key,service_us\n1,a,2\n0,a,2\n")
    done = subprocess.run([lab, "replay", broken, "--out", folder / "none.json"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "broken.csv:3:1: " in done.stderr, done
    assert not (folder / "none.json").exists()
    for wrong in (["--need", "speed"], ["--rate", "-1"], ["--rate", "nan"], ["--rate", "1e300"], ["--out", trace], ["--service", "3"], ["--class", "x"], ["--cores", "0"],
                  ["--cores", "1025"], ["--quick", "--full"]):
        done = subprocess.run([lab, "replay", trace, *wrong], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr, (wrong, done)

    assert trace.read_text() == "\n".join(lines) + "\n"
    done = subprocess.run([lab, "replay", trace, "--smoke", "--out", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no regular file" in done.stderr, done

    # Requests that only wait have no bound, and the page says so.
    waiting = folder / "waiting.csv"
    waiting.write_text("arrival_us,key,service_us,block_us\n" + "".join(f"{50 * i},a,0,200\n" for i in range(100)))
    subprocess.run([lab, "replay", waiting, "--smoke", "--out", folder / "waiting.json"], capture_output=True, check=True)
    shown = subprocess.run([sys.executable, report, folder / "waiting.json", "-o", folder / "waiting.html"], check=True,
                           capture_output=True, text=True)
    assert "there is no work" in (folder / "waiting.html").read_text(), shown

    page = folder / "replay.html"
    shown = subprocess.run([sys.executable, report, out, "-o", page, "--page"], check=True, text=True,
                           stdout=subprocess.PIPE, env={"COLUMNS": "80", "PATH": "/usr/bin:/bin"}).stdout
    assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith("Curves")), shown
    assert "A smoke run" in shown and "lanes" in shown, shown
    text = page.read_text()
    for outside in ("src=", "<script", "<link", "@import", "url("):
        assert outside not in text.replace("url(#", ""), outside
    for heading in ("What to write", "All models at", "Predicted: on 4 processors"):
        assert heading in text, heading
    for plot in text.split("<svg")[1:]:
        xml.dom.minidom.parseString("<svg" + plot[:plot.index("</svg>")] + "</svg>")


def main(lab, report):
    sys.path.insert(0, str(pathlib.Path(report).resolve().parent))
    import recommend  # pylint: disable=import-outside-toplevel
    check_advice(recommend)
    with tempfile.TemporaryDirectory() as folder:
        check_run(lab, report, pathlib.Path(folder))


main(*sys.argv[1:])
