"""The screen of ./dev top for workers that handle records of Kafka or PostgreSQL."""

import time

from top_page import delay_text, key_text, number, time_text

REQUIRED = "ekiden_worker_records_done_total"  # a metric that every page of a worker has
COLUMNS = (("lag", "lag_records"), ("held", "held_records"), ("running", "running_records"),
           ("retrying", "retrying_keys"), ("parked", "parked_keys"))


def metric(name):
    return f"ekiden_worker_{name}"


def partitions(change):
    """Returns the labels and the values of each partition, as a dictionary from (worker, topic, partition)."""
    found = {}
    for (name, labels), value in change.now.items():
        if "partition" in (labels := dict(labels)):
            place = labels["worker"], labels["topic"], int(labels["partition"])
            one = found.setdefault(place, {})
            one[name] = value
            one.update((k, v) for k, v in labels.items() if k in ("state", "paused"))
            if name == metric("oldest_age_seconds"):
                one["key"] = labels["key"]
    return found


def oldest_text(one):
    age = one.get(metric("oldest_age_seconds"))
    return "" if age is None else f"{time_text(age)} {key_text(one['key'])}"


def line(change):
    rate = change.rate
    shown = partitions(change)
    lags = {}
    for (_, *place), one in shown.items():  # All workers of a queue in PostgreSQL show the same lag.
        lags[tuple(place)] = max(lags.get(tuple(place), 0), one.get(metric("lag_records"), 0))
    _, oldest = max(((one.get(metric("oldest_age_seconds"), 0), oldest_text(one)) for one in shown.values()), default=(0, ""))
    return (f"{number(rate(metric('records_done_total')))} records/s | in lanes: "
            f"{delay_text(change, metric('lane_seconds')) or 'no record'} | "
            f"{len(lags)} partitions, lag {number(sum(lags.values()))} | {number(rate(metric('retries_total')))} retries/s | oldest: "
            + (oldest or "none"))


def screen(change, source):
    rate, value = change.rate, change.value
    workers = {dict(labels)["worker"] for (name, labels) in change.now if name == REQUIRED}
    yield f"{len(workers)} workers, {source}   {time.strftime('%H:%M:%S')}   Ctrl-C ends"
    yield ""
    yield (f"records/s     {number(rate(metric('records_done_total')))}   retries {number(rate(metric('retries_total')))}   "
           f"dead letters {number(rate(metric('dead_letters_total')))}")
    yield (f"commits/s     {number(rate(metric('commits_total')))}   since the start: aborts {number(value(metric('aborts_total')))}   "
           f"fenced {number(value(metric('fenced_total')))}   new connections {number(value(metric('reconnects_total')))}   "
           f"rebalances {number(value(metric('rebalances_total')))}")
    yield (f"repeated      {number(value(metric('repeated_total')))} records since the start   given up "
           f"{number(value(metric('given_up_total')))}")
    yield f"in lanes      {delay_text(change, metric('lane_seconds')) or 'no record has ended'}"
    yield ""
    rows = [["worker", "partition", "state", *(title for title, _ in COLUMNS), "oldest record"]]
    for (worker, topic, partition), one in sorted(partitions(change).items()):
        state = f"paused: {one['paused']}" if one.get("paused", "state") not in ("", "state") else one.get("state", "")
        numbers = ("?" if (v := one.get(metric(name))) is None else number(v) for _, name in COLUMNS)
        rows.append([key_text(worker, 16), f"{key_text(topic, 20)}/{partition}", state, *numbers, oldest_text(one)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = (cell.rjust(width) if 3 <= i < 3 + len(COLUMNS) else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths)))
        yield "  ".join(cells).rstrip()
