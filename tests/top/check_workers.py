"""Checks that ./dev top shows workers from the files of their metrics: check_workers.py WORKER_PAGE DEV"""

import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import threading

from prometheus_client.parser import text_string_to_metric_families


def check(holds, what):
    if not holds:
        sys.exit(f"check_workers: {what}")


def page(program, name, done):
    return subprocess.run([program, name, str(done)], capture_output=True, check=True).stdout.decode()


def check_page(text):
    samples = [s for f in text_string_to_metric_families(text) for s in f.samples]
    lines = [one for one in text.split("\n") if one and not one.startswith("#")]
    check(len(samples) == len(lines), f"{len(lines)} lines are {len(samples)} samples")
    check(len({(s.name, tuple(s.labels.items())) for s in samples}) == len(samples), "a sample stands there twice")


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as to:
        to.write(text)
    os.replace(path + ".new", path)


def keep_writing(program, folder, ended):
    """Writes the pages of two workers again and again. Each page counts 10 more records."""
    done = 0
    while not ended.is_set():
        for name in ("w1", "w2"):
            write(f"{folder}/{name}", page(program, name, done))
        done += 10
        ended.wait(0.05)


def main(program, dev):
    check_page(page(program, "w1", 5))
    with tempfile.TemporaryDirectory() as folder:
        top = [dev, "top", "--no-install", "--interval", "0.3"]
        said = subprocess.run([*top, "missing"], capture_output=True, text=True, cwd=folder, check=False)
        check(said.returncode == 1 and "no metrics from missing" in said.stderr, f"a missing file: {said}")
        write(f"{folder}/other", "up 1\n")
        said = subprocess.run([*top, "other"], capture_output=True, text=True, cwd=folder, check=False)
        check(said.returncode == 1 and "no metrics of an ordered server or of a worker" in said.stderr, f"other: {said}")
        for name in ("w1", "w2"):
            write(f"{folder}/{name}", page(program, name, 0))
        ended = threading.Event()
        writer = threading.Thread(target=keep_writing, args=(program, folder, ended))
        writer.start()
        try:
            said = subprocess.run([*top, "--count", "2", "w1", "w2", "not-yet"], capture_output=True, text=True,
                                  cwd=folder, check=False)
            check(said.returncode == 0, f"top ended with {said.returncode}: {said.stderr}")
            for one in said.stdout.split("\n")[:-1]:
                check_line(one)
            check_rate([*top, "w1", "w2"], folder)
            check_screen([*top, "w1", "w2"], folder)
        finally:
            ended.set()
            writer.join()


def check_line(one):
    check("2 partitions, lag 20,000" in one and 'oldest: 2.5 s odd?"key"?[2J' in one, f"a line: {one!r}")


def check_rate(command, folder):
    """Reads lines until one counts records. On a busy machine, no page may be written between two lines."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, start_new_session=True) as process:
        one = process.stdout.readline()
        while one.startswith("0 records/s"):
            one = process.stdout.readline()
        check_line(one)
        os.killpg(process.pid, signal.SIGTERM)


def check_screen(command, folder):
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell starts what it does not wait for with SIGINT ignored
        os.chdir(folder)
        os.environ["TERM"] = "xterm"
        os.environ["COLUMNS"] = "120"
        os.environ["LINES"] = "30"
        os.execv(command[0], command)
    shown = b""
    for text in (b"2 workers, metrics from w1 ...", b"orders/1", b"paused: window", b"20,000", b'2.5 s odd?"key"?[2J'):
        while text not in shown:
            check(select.select([terminal], [], [], 60)[0], f"the screen shows no {text}: {shown}")
            some = os.read(terminal, 65536)
            check(some, f"the screen ends without {text}: {shown}")
            shown += some
    check(shown.count(b"\033[2J") == 0, "a key reaches the terminal as it is")
    os.write(terminal, b"\003")
    check(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 130, "interrupted, top did not end with 130")
    os.close(terminal)


main(*sys.argv[1:])
