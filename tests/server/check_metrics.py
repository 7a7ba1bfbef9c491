"""Checks the metrics of the ordered server: check_metrics.py SERVER DEV

The parser of Prometheus' own client reads the page. `./dev top` shows it, as lines and on a terminal.
"""

import math
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

KEY = b'odd "key" \\ \xff\x1b[2J'


def check(holds, what):
    if not holds:
        sys.exit(f"check_metrics: {what}")


def ask(port):
    """Sends requests that lanes run, and one request of each other kind."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        work = b"*3\r\n$4\r\nWORK\r\n$%d\r\n%s\r\n$4\r\n2000\r\n" % (len(KEY), KEY)
        client.sendall(work * 200 + b"ADD a 1\r\nPING\r\nNOSUCH\r\nQUIT\r\n")
        while client.recv(65536):
            pass


def page_of(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        check(answer.headers["Content-Type"] == "text/plain; version=0.0.4", "another content type")
        return answer.read().decode()


def check_page(text):
    families = {f.name: f for f in text_string_to_metric_families(text)}
    samples = [s for f in families.values() for s in f.samples]
    lines = [one for one in text.split("\n") if one and not one.startswith("#")]
    check(len(samples) == len(lines), f"{len(lines)} lines are {len(samples)} samples")
    check(len(families) == text.count("# TYPE ") == text.count("# HELP "), "a metric has two heads, or none")
    check(len({(s.name, tuple(s.labels.items())) for s in samples}) == len(samples), "a sample stands there twice")
    values = {(s.name, *s.labels.values()): s.value for s in samples}
    check(values["ordered_server_requests_total", "work"] == 200, "200 WORK are not counted")
    check(values["ordered_server_requests_total", "error"] == 1, "the wrong request is not counted")
    check(values["ordered_server_lanes_run_total",] == 200, "the lanes have not run 200 requests")
    check(values["ekiden_pool_threads", "work"] == 2, "the pool has not 2 threads")
    check(values["ekiden_pool_tasks_run_total", "work"] >= 1, "the pool has run nothing")
    waits = families["ordered_server_lane_longest_wait_seconds"].samples
    check([s.labels["key"] for s in waits] == [KEY.decode("utf-8", "replace")], f"other keys than the one: {waits}")
    check(0 < waits[0].value < 60, f"a strange wait: {waits}")
    delay = families["ekiden_pool_queue_delay_seconds"]
    check(delay.type == "histogram", "the delay is no histogram")
    buckets = [(float(s.labels["le"]), s.value) for s in delay.samples if s.name.endswith("_bucket")]
    check(buckets == sorted(buckets) and buckets[-1][0] == math.inf, f"the buckets do not grow: {buckets}")
    count = next(s.value for s in delay.samples if s.name.endswith("_count"))
    check(count == buckets[-1][1] >= 1, f"{count} delays, {buckets[-1][1]} in buckets")
    check(next(s.value for s in delay.samples if s.name.endswith("_sum")) > 0, "the delays have no sum")


def top(dev, port, *more):
    return [dev, "top", "--no-install", "--port", str(port), *more]


def check_lines(dev, port):
    for environment in ({"TERM": "xterm"}, {"TERM": "dumb"}):
        said = subprocess.run(top(dev, port, "--interval", "0.1", "--count", "2"), capture_output=True, text=True,
                              env={**os.environ, **environment}, check=False)
        check(said.returncode == 0, f"top ended with {said.returncode}: {said.stderr}")
        lines = said.stdout.split("\n")[:-1]
        check(len(lines) == 2, f"2 lines are {len(lines)}: {said.stdout}")
        for one in lines:
            check(re.fullmatch(r"[\d,]+ requests/s \| delay: .+ \| \d of 2 running, 0 blocked, 0 tasks \| "
                               r"slowest lane: odd \"key\" \\ .\?\[2J \S+ [mu]?s", one), f"a strange line: {one!r}")


def check_refusals(dev, unused):
    for arguments, status, reason in (((unused,), 1, "no metrics from port"), (("x",), 2, "invalid number above 0"),
                                      (("0",), 2, "invalid number above 0"), ((unused, "--x"), 2, "unrecognized")):
        said = subprocess.run(top(dev, *arguments), capture_output=True, text=True, check=False)
        check(said.returncode == status and reason in said.stderr, f"{arguments}: {said.returncode}, {said.stderr}")
        check(said.stdout == "", f"{arguments}: {said.stdout}")


def check_screen(dev, port, how_to_end):
    """Checks the output on a separate terminal, and that the terminal is restored."""
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell starts what it does not wait for with SIGINT ignored
        os.execve(dev, top(dev, port, "--interval", "0.1"), {**os.environ, "TERM": "xterm"})
    shown = b""

    def read_until(text):
        nonlocal shown
        while text not in shown:
            check(select.select([terminal], [], [], 60)[0], f"the screen shows no {text}: {shown}")
            try:
                some = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                some = b""
            check(some, f"the screen ends without {text}: {shown}")
            shown += some

    read_until(b"queue delay")
    read_until(b"the longest waits since the start")
    read_until(b'odd "key" \\')
    check(shown.count(b"\033[2J") == 0, "a key reaches the terminal as it is")
    check(shown.startswith(b"\033[?1049h\033[?25l"), f"it begins with {shown[:40]}")
    how_to_end(process, terminal)
    read_until(b"\033[?25h\033[?1049l")
    check(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 130, "interrupted, top did not end with 130")
    os.close(terminal)


def main(server, dev):
    with subprocess.Popen([server, "--port", "0", "--metrics-port", "0", "--threads", "2"], stdout=subprocess.PIPE,
                          text=True) as running:
        try:
            port, metrics_port = map(int, re.findall(r"\d+", running.stdout.readline()))
            ask(port)
            check_page(page_of(metrics_port))
            check_lines(dev, metrics_port)
            check_screen(dev, metrics_port, lambda _, terminal: os.write(terminal, b"\x03"))
            check_screen(dev, metrics_port, lambda process, _: os.kill(process, signal.SIGTERM))
        finally:
            running.terminate()
    check_refusals(dev, metrics_port)  # where nobody listens any more


main(*sys.argv[1:])
