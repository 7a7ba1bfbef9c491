"""Checks the live page in headless Chromium: check_live_page.py SERVER [FOLDER_FOR_PICTURES]

The page is shown beside the ordered server under load, and beside a program with made-up metrics.
"""

import http.server
import json
import math
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import browser  # noqa: E402
import top_page  # noqa: E402

KEY = b'<img/src=x onerror="hit=1">'
LABELS = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
SERIES = "document.querySelector('[data-chart=\"%s\"] [data-series=\"%s\"]')"


def check(holds, what):
    if not holds:
        sys.exit(f"check_live_page: {what}")


def get(address):
    with urllib.request.urlopen(address, timeout=60) as answer:
        return answer.read().decode()


def number_of(page, chart, name):
    text = page.get(SERIES % (chart, name) + ".dataset.value")
    return float(text) if text else None


def has_hidden(page, chart, name):
    return page.get(SERIES % (chart, name) + ".parentNode.hidden")


def wait_for_changes(page, more):
    now = int(page.get("document.body.dataset.changes") or 0)
    check(page.until(f"(document.body.dataset.changes ?? 0) >= {now + more}"), "the page gets no new data")


def rows_of(page, title):
    return page.get(f"""[...document.querySelectorAll('[data-list="{title}"] tbody tr')]
                        .map((row) => [...row.cells].map((cell) => cell.textContent))""")


# ---- the ordered server

def keep_asking(port, ended):
    """Sends requests of several keys until `ended` is set."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        number = 0
        while not ended.is_set():
            number += 1
            key = KEY + b"%d" % (number % 6)
            one = b"*3\r\n$4\r\nWORK\r\n$%d\r\n%s\r\n$6\r\n200000\r\n" % (len(key), key)
            client.sendall(one * 20 + b"WORK a 1000\r\nADD b 1\r\n" * 20)
            replies = b""
            # A reply is an array of two numbers, or an error because the total would overflow.
            while replies.count(b"*2\r\n") + replies.count(b"-ERR") < 60 or not replies.endswith(b"\r\n"):
                some = client.recv(65536)
                if not some:
                    raise RuntimeError("the server has closed the connection")
                replies += some


def check_server(page, server, pictures):
    command = [server, "--port", "0", "--metrics-port", "0", "--threads", "2", "--slow-task", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        ended = threading.Event()
        try:
            port, metrics = map(int, re.findall(r"\d+", running.stdout.readline()))
            page.open(f"http://127.0.0.1:{metrics}/")
            wait_for_changes(page, 1)
            check(number_of(page, "work per second", "requests") == 0, "an idle server has requests")
            check(page.get(SERIES % ("queue delay", "P50") + ".textContent") == "-", "an idle server has delays")
            check(has_hidden(page, "work per second", "records"), "the server has no records")
            asking = threading.Thread(target=keep_asking, args=(port, ended))
            asking.start()
            try:
                moves(page)
                loaded = page.get("[...new Set(performance.getEntriesByType('resource').map((one) => one.name))]")
                check(loaded == [f"http://127.0.0.1:{metrics}/metrics"], f"the page loads other files: {loaded}")
                if pictures:
                    time.sleep(20)
                    for name, width, height, scheme in (("light", 1100, 900, "light"), ("dark", 1100, 900, "dark"),
                                                        ("narrow", 390, 1500, "light"), ("narrow-dark", 390, 1500, "dark")):
                        page.picture(f"{pictures}/{name}.png", width, height, scheme)
            finally:
                ended.set()
                asking.join()
            agrees(page, f"http://127.0.0.1:{metrics}/metrics")
        finally:
            ended.set()
            running.terminate()
        check(page.until("document.getElementById('status').className === 'lost'"), "a lost connection is not shown")
        check("no data since" in page.get("document.getElementById('status').textContent"), "the time of the last data is missing")


def moves(page):
    check(page.until(f"Number({SERIES % ('work per second', 'requests')}.dataset.value) > 0"), "no requests are shown")
    check(page.until(f"Number({SERIES % ('queue delay', 'P99')}.dataset.value) > 0"), "no delay is shown")
    check(page.until(f"Number({SERIES % ('reports since the start', 'slow tasks')}.dataset.value) > 0"), "no slow task is counted")
    shape = "document.querySelector('[data-chart=\"work per second\"] path').getAttribute('d')"
    before = page.get(shape)
    wait_for_changes(page, 2)
    check(page.get(shape) != before, "the chart does not move")


def agrees(page, address):
    """Compares the page with the metrics when nothing changes any more."""
    page.until(f"Number({SERIES % ('work per second', 'requests')}.dataset.value) === 0")
    wait_for_changes(page, 1)
    now = top_page.Change({}, samples(get(address)), 1)
    for chart in top_page.figures()["charts"]:
        for series in chart["series"]:
            if "value" in series and chart["title"] != "threads":
                shown = number_of(page, chart["title"], series["name"])
                check(shown == now.figure(series), f"{chart['title']}, {series['name']}: {shown}, not {now.figure(series)}")
    check(number_of(page, "threads", "wanted") == 2, "the server has not 2 threads")
    lanes = [dict(labels)["key"] for (name, labels) in now.now if name.endswith("_lane_longest_wait_seconds")]
    rows = rows_of(page, "hot lanes")
    check(sorted(row[0] for row in rows) == sorted(lanes) and any(one.startswith(KEY.decode()) for one in lanes), f"other lanes: {rows}, {lanes}")
    check(page.get("window.hit") is None and not page.get("document.querySelector('img')"), "a key has become HTML")
    tasks = [dict(labels)["task"] for (name, labels) in now.now if name == "ekiden_pool_slow_task_seconds"]
    check([row[0] for row in rows_of(page, "the last slow tasks")] == [t[:200] for t in tasks] and tasks, "other slow tasks")


# ---- a program with made-up metrics

def samples(text):
    found = {}
    for line in text.split("\n"):
        if m := re.fullmatch(r"([a-z_]\w*)(?:\{(.*)\})? (\S+)", line):
            labels = tuple((k, v.replace(r"\"", '"').replace(r"\\", "\\")) for k, v in LABELS.findall(m[2] or ""))
            found[m[1], labels] = float(m[3])
    return found


def page_text(counter, workers, lanes):
    """Returns a page of two pools. The counters grow with `counter`."""
    lines = [f'x_requests_total{{verb="a"}} {7 * counter}', f'x_requests_total{{verb="b"}} {5 * counter}']
    for pool in ("first", "second"):
        label = f'{{pool="{pool}"}}'
        lines += [f"ekiden_pool_threads{label} {workers}", f"ekiden_pool_threads_wanted{label} {workers}",
                  f"ekiden_pool_threads_at_work{label} {workers - 1}", f"ekiden_pool_threads_blocked{label} 1",
                  f"ekiden_pool_threads_standing_by{label} 0", f"ekiden_pool_tasks_pending{label} {counter % 9}",
                  f"ekiden_pool_tasks_run_total{label} {1000 * counter}", f"ekiden_pool_tasks_stolen_total{label} {3 * counter}",
                  f"ekiden_pool_stalls_total{label} 2", f"ekiden_pool_slow_tasks_total{label} 3"]
        total = 0
        for exponent, count in ((-19, 60), (-12, 39), (-3, 1)):
            total += count * counter
            lines.append(f'ekiden_pool_queue_delay_seconds_bucket{{pool="{pool}",le="{2.0 ** exponent}"}} {total}')
        lines += [f'ekiden_pool_queue_delay_seconds_bucket{{pool="{pool}",le="+Inf"}} {total}',
                  f"ekiden_pool_queue_delay_seconds_count{label} {total}"]
        lines.append(f'ekiden_pool_slow_task_seconds{{pool="{pool}",rank="1",thread="3",task="<script>hit=1</script>",'
                     f'waits_for="a \\"quoted\\" \\\\ lock"}} 1.5')
    lines += [f'x_lane_longest_wait_seconds{{rank="{i}",key="</td><b>key\r{i}"}} {i * 1e-6}' for i in range(lanes)]
    return "\n".join(lines) + "\n"


class Program(http.server.BaseHTTPRequestHandler):
    page, text, counter = "", None, 0

    def do_GET(self):
        kind = "text/html; charset=utf-8" if self.path == "/" else "text/plain"
        body = Program.page
        if self.path != "/":
            if Program.text is None:
                self.send_error(503)
                return
            Program.counter += 1
            body = Program.text(Program.counter)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def check_program(page, pictures):
    Program.page = top_page.live_page()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Program) as program:
        threading.Thread(target=program.serve_forever, daemon=True).start()
        page.open(f"http://127.0.0.1:{program.server_address[1]}/")
        check(page.until("document.getElementById('status').textContent.startsWith('no data yet: status 503')"), "no data yet")
        Program.text = lambda counter: ""
        check(page.until("document.getElementById('status').textContent.includes('these are no metrics')"), "other data")
        Program.text = lambda counter: page_text(counter, 64, 1000)
        wait_for_changes(page, 2)
        # What ./dev top would show after the same pages:
        shown = json.loads(page.get("JSON.stringify([Number(document.body.dataset.seconds), [...document.querySelectorAll('[data-chart]')].map("
                                    "(c) => [...c.querySelectorAll('b')].map((b) => b.dataset.value))])"))
        change = top_page.Change(samples(page_text(8, 64, 0)), samples(page_text(9, 64, 0)), shown[0])
        for chart, values in zip(top_page.figures()["charts"], shown[1]):
            for series, value in zip(chart["series"], values):
                expected = change.figure(series)
                if series.get("value") == "ekiden_pool_tasks_pending":
                    continue  # it depends on the number of the page
                check(value == "" if expected is None else math.isclose(float(value), expected, rel_tol=1e-6),
                      f"{chart['title']}, {series['name']}: {value}, not {expected}")
        rows = rows_of(page, "hot lanes")
        check(len(rows) == 20 and rows[0] == ["</td><b>key?999", "999 us"], f"the hot lanes: {rows[:2]}, {len(rows)} rows")
        check("and 980 more" in page.get("document.querySelector('[data-list=\"hot lanes\"]').textContent"), "1000 lanes")
        check(rows_of(page, "the last slow tasks") == [["<script>hit=1</script>", "3", 'a "quoted" \\ lock', "1.5 s"]] * 2,
              f"the slow tasks: {rows_of(page, 'the last slow tasks')}")
        check(page.get("window.hit") is None, "a name has become a script")
        for wide in (390, 1100):
            page.picture(f"{pictures}/many-{wide}.png" if pictures else "/dev/null", wide, 1500, "light")
            check(page.get("document.documentElement.scrollWidth <= innerWidth"), f"the page is wider than {wide} pixels")
        Program.counter = 0  # another process, whose counters begin again
        wait_for_changes(page, 1)
        check(0 <= number_of(page, "work per second", "requests") < 1000, "the rate after a new start")
        Program.text = None
        check(page.until("document.getElementById('status').className === 'lost'"), "a failure is not shown")
        Program.text = lambda counter: page_text(counter, 1, 0)
        check(page.until("document.getElementById('status').className === ''"), "the page does not come back")
        check(page.until("document.querySelector('[data-list=\"hot lanes\"]').textContent.includes('no lane has waited')"), "no lane")
        program.shutdown()


def main(server, pictures=None):
    if browser.PROGRAM is None:
        print("skipped: Chromium is not installed (Debian: chromium)")
        sys.exit(77)
    with browser.Browser() as page:
        check_server(page, server, pictures)
        check_program(page, pictures)


main(*sys.argv[1:])
