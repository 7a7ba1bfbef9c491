"""The screen of ./dev top for the ordered server."""

import time

from top_page import delay_text, fits, key_text, list_of, number, series_of, time_text

REQUIRED = "ordered_server_keys"  # a metric that every page of such a server has
DELAY = series_of("queue delay", "P50")["of"]
NO_DELAY = "no task has waited"


def slowest_lanes(change):
    """Returns (seconds, key, whether it has grown) of some lanes, slowest first."""
    metric = list_of("hot lanes")["metric"]
    before = {dict(labels)["key"]: v for (n, labels), v in change.before.items() if fits(n, metric)}
    found = [(v, dict(labels)["key"]) for (n, labels), v in change.now.items() if fits(n, metric)]
    return [(v, key, v > before.get(key, 0)) for v, key in sorted(found, key=lambda one: -one[0])]


def threads_text(change):
    return (f"{change.shown('threads', 'running')} of {change.shown('threads', 'all')} running, "
            f"{change.shown('threads', 'blocked')} blocked")


def line(change):
    slowest = slowest_lanes(change)[:1]
    return (f"{change.shown('work per second', 'requests')} requests/s | delay: {delay_text(change, DELAY) or NO_DELAY} | "
            f"{threads_text(change)}, {change.shown('tasks', 'queued or running')} tasks | slowest lane: "
            + (f"{key_text(slowest[0][1])} {time_text(slowest[0][0])}" if slowest else "none"))


def screen(change, source):
    rate = change.rate
    verbs = sorted(((rate("ordered_server_requests_total", verb=v), v)
                    for v in change.by_label("ordered_server_requests_total", "verb")), reverse=True)
    total, _ = change.delays(DELAY)
    yield f"ordered server, {source}   {time.strftime('%H:%M:%S')}   Ctrl-C ends"
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
    yield (f"tasks         {change.shown('tasks', 'queued or running')} queued or running, "
           f"{change.shown('work per second', 'tasks run')}/s run, {change.shown('work per second', 'tasks stolen')}/s stolen")
    yield (f"reports       {change.shown('reports since the start', 'stalls')} stalls, "
           f"{change.shown('reports since the start', 'slow tasks')} slow tasks since the start")
    yield f"queue delay   {delay_text(change, DELAY) or NO_DELAY}" + (f"   (of {number(total)} tasks)" if total else "")
    yield ""
    yield f"lanes         {change.shown('tasks', 'active lanes')} active; the longest waits since the start:"
    for seconds, key, has_grown in slowest_lanes(change):
        yield f"  {time_text(seconds):>9} {'+' if has_grown else ' '} {key_text(key)}"
