"""Changes figures of a results file, and reads the page for the terminal: terminal_test.py REPORT_FOLDER RESULTS_GZ."""

import copy
import gzip
import importlib.util
import json
import pathlib
import sys
import tempfile


def scale(results, experiment, implementation, figure, median):
    """Sets the figure of each cell of an implementation, without a spread."""
    for e in results["experiments"]:
        for cell in e["cells"] if e["name"] == experiment else []:
            if cell["implementation"] == implementation and figure in cell.get("figures", {}):
                for part in ("median", "lower_quartile", "upper_quartile", "minimum", "maximum"):
                    cell["figures"][figure][part] = median


def check_manners(run, page, line):
    """A peer that spins is compared with our row that spins, on a line of its own, with the processor time of both. The
    first line leaves it out."""
    changed = copy.deepcopy(run)
    for e in changed["experiments"]:
        for cell in e["cells"] if e["name"] == "bursts" else []:
            cell["manner"] = "spins" if cell["implementation"] in ("ekiden-awake", "openmp-libomp") else ""
    for implementation, us, cpu in (("ekiden", 30.0, 40.0), ("ekiden-awake", 8.0, 90.0), ("openmp-libomp", 4.0, 95.0)):
        scale(changed, "bursts", implementation, "us", us)
        scale(changed, "bursts", implementation, "cpu_us", cpu)
    text = page(changed)
    shown = line(text, "bursts")
    assert "30.0 us" in shown and "OpenMP (libomp)" not in shown, shown
    shown = text.splitlines()[text.splitlines().index(shown) + 1]
    assert shown.split() == ("ekiden, spin_time 1 ms 8.00 us 4.00 us OpenMP (libomp), spins 0.50x "
                             "CPU 90.0 us|95.0 us").split(), shown
    # Without such a row of ours, the first line has the peer, with its word.
    for e in changed["experiments"]:
        for cell in e["cells"] if e["name"] == "bursts" else []:
            cell["manner"] = "spins" if cell["implementation"] == "openmp-libomp" else ""
    shown = line(page(changed), "bursts")
    assert "OpenMP (libomp), spins" in shown and "CPU 40.0 us|95.0 us" in shown, shown


def main(folder, results):
    if not importlib.util.find_spec("pandas"):
        print("skipped: pandas is missing")
        sys.exit(77)
    sys.path.insert(0, folder)
    import model  # pylint: disable=import-outside-toplevel
    import terminal  # pylint: disable=import-outside-toplevel
    run = json.loads(gzip.open(results).read())

    def page(changed, width=None, colour=False):
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "results.json"
            file.write_text(json.dumps(changed))
            return terminal.page(model.load(file), width, colour, "report.html")

    def line(text, name):
        return next(one for one in text.splitlines() if one.startswith(name + " "))

    # A goal beside another peer than the best one is met, although the best peer is four times faster.
    changed = copy.deepcopy(run)
    scale(changed, "rw-starvation", "ekiden", "longest_wait_us", 400.0)
    for e in changed["experiments"]:
        for cell in e["cells"] if e["name"] == "rw-starvation" else []:
            if cell["implementation"] not in ("ekiden", "pthread-rwlock-writers"):
                scale(changed, "rw-starvation", cell["implementation"], "longest_wait_us", 100.0)
    scale(changed, "rw-starvation", "pthread-rwlock-writers", "longest_wait_us", 800.0)
    text = page(changed)
    shown = line(text, "rw-starvation")
    assert "0.25x" in shown and shown.endswith("goals 1/1*"), shown
    assert "\ngoals*: beside a peer" in text, text
    # The goals are beside the best peer, so there is no star.
    scale(changed, "rw-starvation", "pthread-rwlock-writers", "longest_wait_us", 50.0)
    assert line(page(changed), "rw-starvation").endswith("goals 0/1"), page(changed)

    # A ratio that rounds to 1 is a draw, even if the quartiles do not overlap.
    for median in (100.4, 99.6):
        changed = copy.deepcopy(run)
        for e in changed["experiments"]:
            for cell in e["cells"] if e["name"] == "spin-vs-mutex" else []:
                for figure in cell.get("figures", {}):
                    scale(changed, "spin-vs-mutex", cell["implementation"], figure,
                          median if cell["implementation"].startswith("ekiden") else 100.0)
        shown = line(page(changed, colour=True), "spin-vs-mutex")
        assert "~1.00x" in shown and terminal.RED not in shown and terminal.GREEN not in shown, shown

    check_manners(run, page, line)

    # Without a terminal, all names are whole. A narrow terminal cuts them.
    for width, is_whole in ((None, True), (80, False)):
        text = page(run, width)
        assert ("two semaphores and a mutex" in text) == is_whole and (".." in text) != is_whole, text


main(*sys.argv[1:])
