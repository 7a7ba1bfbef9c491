"""`./dev lab` in a tree whose build does nothing: what a signal leaves, and which arguments are refused before a build.

dev_lab_test.py DEV LAB REPORT
"""

import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def make_tree(tree, dev, lab, report):
    shutil.copy(dev, tree / "dev")
    shutil.copytree(pathlib.Path(report).parent, tree / "lab/report")
    (tree / "lab/experiments/slow").mkdir(parents=True)
    (tree / "tools").mkdir()
    (tree / "tools/packages.txt").touch()
    shutil.copy(pathlib.Path(dev).parent / "tools/stages.sh", tree / "tools")
    program = tree / "build/release/lab/ekiden-lab"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{lab}" --smoke --limit 600 "$@"\n')
    cmake = tree / "bin/cmake"
    cmake.parent.mkdir()
    cmake.write_text('#!/bin/sh\ntouch "$BUILT"\n')
    for file in (program, cmake):
        file.chmod(0o755)
    return {**os.environ, "PATH": f"{cmake.parent}:{os.environ['PATH']}", "BUILT": str(tree / "built")}


def check_refused(tree, environment):
    for arguments in (["--quick", "--full"], ["--tour", "slow", "--quick"], ["nothing"], ["--rounds", "3"],
                      ["--list", "slow"], ["--list", "--quick"], ["replay", "nothing.csv"], ["replay", "lab"],
                      ["replay", "dev", "--rounds"], ["replay", "dev", "--rate"], ["replay", "--tour", "x"]):
        done = subprocess.run([tree / "dev", "lab", *arguments], env=environment, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 2 and done.stderr.startswith("ekiden: lab: "), (arguments, done)
    assert not (tree / "built").exists()


def check_interrupted(tree, environment, how, to_group):
    for leftover in (tree / "results", tree / "report.html"):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink(missing_ok=True)
    process = subprocess.Popen([tree / "dev", "lab", "slow"], env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True)
    while not any('"first"' in file.read_text() for file in tree.glob("results/*.json")):
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.01)
    if to_group:  # as a terminal does it
        os.killpg(process.pid, how)
    else:
        process.send_signal(how)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, (process.returncode, output)
    assert "interrupted; what was measured before is in" in output, output
    assert "The run was interrupted" in (tree / "report.html").read_text(), output


def main(dev, lab, report):
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        environment = make_tree(tree, dev, lab, report)
        check_refused(tree, environment)
        if not (importlib.util.find_spec("pandas") and importlib.util.find_spec("matplotlib")):
            print("signals were not checked: pandas or matplotlib is missing")
            return
        check_interrupted(tree, environment, signal.SIGINT, to_group=True)
        check_interrupted(tree, environment, signal.SIGTERM, to_group=False)


main(*sys.argv[1:])
