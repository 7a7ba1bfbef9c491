"""Shows the activity of the ordered server or of workers, from their pages of metrics:
top.py [--address A] [--port N] [--interval S] [--count N] [FILE...]

Redraws the screen on a terminal. Elsewhere, and with TERM=dumb, it prints a line each time.
"""

import argparse
import http.client
import os
import re
import shutil
import signal
import sys
import time

import top_server
import top_workers
from top_page import Change

SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
ESCAPED = {r'\n': "\n", r'\"': '"', r'\\': "\\"}
SILENT = 10  # seconds after which a file without news is left out


class Server:
    """A page of metrics that a program serves by HTTP."""

    def __init__(self, address, port):
        self.address, self.port = address, port
        self.name = f"metrics from port {port}"

    def texts(self):
        connection = http.client.HTTPConnection(self.address, self.port, timeout=5)
        try:
            connection.request("GET", "/metrics")
            return [connection.getresponse().read().decode("utf-8", "replace")]
        except http.client.HTTPException as e:
            raise OSError(f"no answer in HTTP ({type(e).__name__})") from e
        finally:
            connection.close()


class Files:
    """Pages of metrics that programs write to files again and again, one file for each program."""

    def __init__(self, paths):
        self.paths = paths
        self.name = f"metrics from {paths[0]}" + (" ..." if len(paths) > 1 else "")

    def texts(self):
        found = []
        for path in self.paths:
            try:
                if time.time() - os.stat(path).st_mtime < SILENT:
                    with open(path, encoding="utf-8", errors="replace", newline="") as page:  # a key can contain a carriage return
                        found.append(page.read())
            except FileNotFoundError:
                pass  # its program has not begun
        if not found:
            raise OSError(f"no file has changed for {SILENT} s")
        return found


def read(source):
    """Returns the samples as a dictionary from (name, labels) to value, and their screen. Raises OSError."""
    page = {}
    for text in source.texts():
        for name, labels, value in (m.groups() for m in map(SAMPLE.fullmatch, text.split("\n")) if m):
            pairs = ((k, re.sub(r"\\.", lambda m: ESCAPED.get(m[0], m[0]), v)) for k, v in LABEL.findall(labels or ""))
            page[name, tuple(pairs)] = float(value)
    names = {name for name, _ in page}
    for shows in (top_server, top_workers):
        if shows.REQUIRED in names:
            return page, shows
    raise OSError("these are no metrics of an ordered server or of a worker")


def draw(lines):
    """Draws over the old content, so that the screen does not flicker."""
    width, height = shutil.get_terminal_size()
    shown = [text[:width - 1] for text in lines][:height - 1]
    sys.stdout.write("\033[H" + "".join(text + "\033[K\n" for text in shown) + "\033[J")


def show(source, chosen, is_screen):
    (before, _), then = read(source), time.monotonic()
    count = 0
    while count != chosen.count:
        time.sleep(chosen.interval)
        try:
            (now, shows), moment = read(source), time.monotonic()
        except OSError as e:
            text = f"no {source.name}: {e}; trying again"
            draw([text]) if is_screen else print(text)
        else:
            change = Change(before, now, moment - then)
            draw(shows.screen(change, source.name)) if is_screen else print(shows.line(change))
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
    parser = argparse.ArgumentParser(prog="./dev top", description="Shows what the ordered server or workers do. Ctrl-C ends it.")
    parser.add_argument("--address", default="127.0.0.1", help="the server's (default: 127.0.0.1)")
    parser.add_argument("--port", type=positive(int), default=9121, help="that of the server's metrics (default: 9121)")
    parser.add_argument("--interval", type=positive(float), default=1, help="seconds from look to look (default: 1)")
    parser.add_argument("--count", type=positive(int), default=-1, help="ends after so many looks")
    parser.add_argument("files", metavar="FILE", nargs="*", help="metrics of workers, one file for each worker")
    chosen = parser.parse_args()
    source = Files(chosen.files) if chosen.files else Server(chosen.address, chosen.port)
    is_screen = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the terminal is restored then, too
    status = 0
    sys.stdout.reconfigure(errors="replace")  # a key can have what the terminal's encoding lacks
    try:
        if is_screen:
            sys.stdout.write("\033[?1049h\033[?25l")  # another screen, no cursor
        show(source, chosen, is_screen)
    except BrokenPipeError:  # nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as e:
        status = f"no {source.name}: {e}" + ("" if chosen.files else "; './dev serve' starts a server")
    except KeyboardInterrupt:
        status = 130
    finally:
        if is_screen:
            sys.stdout.write("\033[?25h\033[?1049l")
            sys.stdout.flush()
    sys.exit(status)


main()
