"""Shows the activity of the ordered server, from its page of metrics: top.py [--address A] [--port N] [--interval S]
[--count N]

Redraws the screen on a terminal. Elsewhere, and with TERM=dumb, it prints a line each time.
"""

import argparse
import collections
import http.client
import math
import os
import re
import shutil
import signal
import sys
import time

SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
ESCAPED = {r'\n': "\n", r'\"': '"', r'\\': "\\"}


def read(address, port):
    """Returns the page as a dictionary from (name, labels) to value. Raises OSError."""
    connection = http.client.HTTPConnection(address, port, timeout=5)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode("utf-8", "replace")
    except http.client.HTTPException as e:
        raise OSError(f"no answer in HTTP ({type(e).__name__})") from e
    finally:
        connection.close()
    page = {}
    for name, labels, value in (m.groups() for m in map(SAMPLE.fullmatch, text.split("\n")) if m):
        pairs = ((k, re.sub(r"\\.", lambda m: ESCAPED.get(m[0], m[0]), v)) for k, v in LABEL.findall(labels or ""))
        page[name, tuple(pairs)] = float(value)
    if ("ordered_server_keys", ()) not in page:
        raise OSError("what answers there is no ordered server")
    return page


class Change:
    """The difference of two pages."""

    def __init__(self, before, now, seconds):
        self.now, self.seconds = now, seconds
        # Counters only grow: where one has not, another server answers now.
        restarted = any(v < before.get(k, 0) for k, v in now.items() if k[0].endswith("_total"))
        self.before = {} if restarted else before

    def value(self, name):
        return sum(v for (n, _), v in self.now.items() if n == name)

    def rate(self, name, **labels):
        wanted = set(labels.items())
        return sum(v - self.before.get(k, 0) for k, v in self.now.items()
                   if k[0] == name and wanted <= set(k[1])) / self.seconds

    def by_label(self, name, label):
        return {dict(labels)[label]: v for (n, labels), v in self.now.items() if n == name}

    def delays(self):
        """Returns the number of tasks with a known waiting time, and a function from a share of them to seconds."""
        counts = collections.Counter()
        for (name, labels), value in self.now.items():
            if name == "ekiden_pool_queue_delay_seconds_bucket":
                counts[float(dict(labels)["le"].replace("Inf", "inf"))] += value - self.before.get((name, labels), 0)
        total = counts[math.inf]

        def quantile(share):  # at most so much: the bounds are powers of two
            return next((bound for bound in sorted(counts) if counts[bound] >= share * total), math.inf)
        return total, quantile

    def slowest(self):
        """Returns (seconds, key, whether it has grown) of some lanes, slowest first."""
        name = "ordered_server_lane_longest_wait_seconds"
        before = {dict(labels)["key"]: v for (n, labels), v in self.before.items() if n == name}
        found = [(v, dict(labels)["key"]) for (n, labels), v in self.now.items() if n == name]
        return [(v, key, v > before.get(key, 0)) for v, key in sorted(found, key=lambda one: -one[0])]


def time_text(seconds):
    if math.isinf(seconds):
        return "over 17 s"
    for size, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= size or unit == "us":
            return f"{seconds / size:.3g} {unit}"


def number(value):
    return f"{value:,.0f}"


def key_text(key, most=40):
    """Returns the text of a key. Replaces characters that control a terminal, because a key can contain any characters."""
    shown = "".join(c if c.isprintable() else "?" for c in key)
    return shown if len(shown) <= most else shown[:most - 3] + "..."


def threads_text(change):
    return (f"{number(change.value('ekiden_pool_threads_at_work'))} of {number(change.value('ekiden_pool_threads'))} running, "
            f"{number(change.value('ekiden_pool_threads_blocked'))} blocked")


def delay_text(change):
    total, quantile = change.delays()
    if total == 0:
        return "no task has waited"
    return " ".join(f"{name} {time_text(quantile(share))}" for name, share in (("P50", .5), ("P99", .99), ("P99.9", .999)))


def line(change):
    slowest = change.slowest()[:1]
    return (f"{number(change.rate('ordered_server_requests_total'))} requests/s | delay: {delay_text(change)} | "
            f"{threads_text(change)}, {number(change.value('ekiden_pool_tasks_pending'))} tasks | slowest lane: "
            + (f"{key_text(slowest[0][1])} {time_text(slowest[0][0])}" if slowest else "none"))


def screen(change, port):
    rate = change.rate
    verbs = sorted(((rate("ordered_server_requests_total", verb=v), v)
                    for v in change.by_label("ordered_server_requests_total", "verb")), reverse=True)
    total, _ = change.delays()
    yield f"ordered server, metrics on port {port}   {time.strftime('%H:%M:%S')}   Ctrl-C ends"
    yield ""
    yield (f"requests/s    {number(sum(r for r, _ in verbs))}   "
           + " ".join(f"{v} {number(r)}" for r, v in verbs if r > 0))
    yield (f"of them       {number(rate('ordered_server_on_the_spot_total'))} on the spot, "
           f"{number(rate('ordered_server_lanes_run_total'))} in lanes, "
           f"{number(rate('ordered_server_waits_for_room_total'))} waits for room")
    yield (f"connections   {number(change.value('ordered_server_open_connections'))}   keys "
           f"{number(change.value('ordered_server_keys'))}   in {number(rate('ordered_server_received_bytes_total'))} B/s   "
           f"out {number(rate('ordered_server_sent_bytes_total'))} B/s")
    yield ""
    yield f"threads       {threads_text(change)}"
    yield (f"tasks         {number(change.value('ekiden_pool_tasks_pending'))} queued or running, "
           f"{number(rate('ekiden_pool_tasks_run_total'))}/s run, {number(rate('ekiden_pool_tasks_stolen_total'))}/s stolen")
    yield f"queue delay   {delay_text(change)}" + (f"   (of {number(total)} tasks)" if total else "")
    yield ""
    yield f"lanes         {number(change.value('ordered_server_lanes_active'))} active; the longest waits since the start:"
    for seconds, key, has_grown in change.slowest():
        yield f"  {time_text(seconds):>9} {'+' if has_grown else ' '} {key_text(key)}"


def draw(lines):
    """Draws over the old content, so that the screen does not flicker."""
    width, height = shutil.get_terminal_size()
    shown = [text[:width - 1] for text in lines][:height - 1]
    sys.stdout.write("\033[H" + "".join(text + "\033[K\n" for text in shown) + "\033[J")


def show(chosen, is_screen):
    before, then = read(chosen.address, chosen.port), time.monotonic()
    count = 0
    while count != chosen.count:
        time.sleep(chosen.interval)
        try:
            now, moment = read(chosen.address, chosen.port), time.monotonic()
        except OSError as e:
            text = f"no metrics from port {chosen.port}: {e}; trying again"
            draw([text]) if is_screen else print(text)
        else:
            change = Change(before, now, moment - then)
            draw(screen(change, chosen.port)) if is_screen else print(line(change))
            before, then = now, moment
        sys.stdout.flush()
        count += 1


def positive(kind):
    def read_one(word):
        value = kind(word)
        if not 0 < value < 65536:
            raise ValueError
        return value
    read_one.__name__ = "number above 0"
    return read_one


def main():
    parser = argparse.ArgumentParser(prog="./dev top", description="Shows what the ordered server does. Ctrl-C ends it.")
    parser.add_argument("--address", default="127.0.0.1", help="the server's (default: 127.0.0.1)")
    parser.add_argument("--port", type=positive(int), default=9121, help="that of the server's metrics (default: 9121)")
    parser.add_argument("--interval", type=positive(float), default=1, help="seconds from look to look (default: 1)")
    parser.add_argument("--count", type=positive(int), default=-1, help="ends after so many looks")
    chosen = parser.parse_args()
    is_screen = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the terminal is restored then, too
    status = 0
    sys.stdout.reconfigure(errors="replace")  # a key can have what the terminal's encoding lacks
    try:
        if is_screen:
            sys.stdout.write("\033[?1049h\033[?25l")  # another screen, no cursor
        show(chosen, is_screen)
    except BrokenPipeError:  # nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as e:
        status = f"no metrics from port {chosen.port}: {e}; './dev serve' starts a server"
    except KeyboardInterrupt:
        status = 130
    finally:
        if is_screen:
            sys.stdout.write("\033[?25h\033[?1049l")
            sys.stdout.flush()
    sys.exit(status)


main()
