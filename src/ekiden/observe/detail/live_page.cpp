#include <ekiden/observe/live_page.hpp>

namespace ekiden::inline EKIDEN_ABI {

namespace {

// Every text that comes from the program reaches the document as textContent, so it is never read as HTML.
// The figures are named only in the element `figures`. tools/top_page.py reads this element from this file.
constexpr std::string_view page = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>ekiden</title>
<style>
:root {
  --back: #f5f6f8; --card: #ffffff; --text: #1c2330; --faint: #5c6778; --line: #dde1e8; --alarm: #b3261e;
  --c0: #2563c9; --c1: #b35900; --c2: #a21c6e; --c3: #12805c; --c4: #6b7280;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #12151b; --card: #1b2029; --text: #e4e8ef; --faint: #98a2b3; --line: #313948; --alarm: #ff8a80;
    --c0: #74a9ff; --c1: #ffb35c; --c2: #ff8ccb; --c3: #57d3a4; --c4: #a3acba;
  }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 16px; background: var(--back); color: var(--text); font: 15px/1.4 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: baseline; margin-bottom: 12px; }
h1 { font-size: 20px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 15px; margin: 0 0 6px; }
#status { color: var(--faint); }
#status.lost { color: var(--alarm); font-weight: 600; }
main { display: grid; gap: 12px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px; min-width: 0; }
svg { display: block; width: 100%; height: 130px; }
svg text { fill: var(--faint); font-size: 11px; }
svg line { stroke: var(--line); }
svg path { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
ul { list-style: none; margin: 0 0 6px; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 16px; }
li { white-space: nowrap; }
li i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; }
b, td.number { font-variant-numeric: tabular-nums; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; }
th { white-space: nowrap; text-align: left; color: var(--faint); font-weight: 400; font-size: 13px; }
th, td { padding: 3px 8px 3px 0; vertical-align: top; }
td { border-top: 1px solid var(--line); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; unicode-bidi: isolate; }
th.number, td.number { text-align: right; width: 6.5em; }
.none { color: var(--faint); margin: 0; }
pre { margin: 0; overflow-x: auto; font-size: 14px; }
</style>
</head>
<body>
<header><h1>ekiden</h1><span id="status" role="status">waits for the first data</span></header>
<main id="all"></main>
<script type="application/json" id="figures">
{
  "charts": [
    {"title": "work per second", "unit": "number", "series": [
      {"name": "requests", "rate": "*_requests_total"},
      {"name": "records", "rate": "ekiden_worker_records_done_total"},
      {"name": "tasks run", "rate": "ekiden_pool_tasks_run_total"},
      {"name": "tasks stolen", "rate": "ekiden_pool_tasks_stolen_total"}]},
    {"title": "queue delay", "unit": "time", "series": [
      {"name": "P50", "quantile": 0.5, "of": "ekiden_pool_queue_delay_seconds"},
      {"name": "P99", "quantile": 0.99, "of": "ekiden_pool_queue_delay_seconds"},
      {"name": "P99.9", "quantile": 0.999, "of": "ekiden_pool_queue_delay_seconds"}]},
    {"title": "threads", "unit": "number", "series": [
      {"name": "running", "value": "ekiden_pool_threads_at_work"},
      {"name": "blocked", "value": "ekiden_pool_threads_blocked"},
      {"name": "standing by", "value": "ekiden_pool_threads_standing_by"},
      {"name": "wanted", "value": "ekiden_pool_threads_wanted"},
      {"name": "all", "value": "ekiden_pool_threads"}]},
    {"title": "tasks", "unit": "number", "series": [
      {"name": "queued or running", "value": "ekiden_pool_tasks_pending"},
      {"name": "active lanes", "value": "*_lanes_active"}]},
    {"title": "reports since the start", "unit": "number", "series": [
      {"name": "stalls", "value": "ekiden_pool_stalls_total"},
      {"name": "slow tasks", "value": "ekiden_pool_slow_tasks_total"}]}
  ],
  "lists": [
    {"title": "hot lanes", "metric": "*_lane_longest_wait_seconds", "order": "largest",
     "columns": [["key", "key"]], "number": "longest wait", "none": "no lane has waited"},
    {"title": "the last slow tasks", "metric": "ekiden_pool_slow_task_seconds", "order": "given",
     "columns": [["task", "task"], ["thread", "thread"], ["waits for", "waits_for"]], "number": "ran for",
     "none": "no slow task"}
  ]
}
</script>
)html"
                                  R"html(<script>
'use strict';
const figures = JSON.parse(document.getElementById('figures').textContent);
const interval = 1000, points = 120, mostRows = 20;
let before = null, changes = 0, answered = 0;

// ---- the metrics: text of Prometheus

const unescaped = { '\\n': '\n', '\\"': '"', '\\\\': '\\' };
function parse(text) {
  const found = [];
  for (const one of text.split('\n')) {
    const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/s.exec(one);
    if (!m) continue;
    const labels = {};
    for (const [, name, value] of (m[2] || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      labels[name] = value.replace(/\\./g, (c) => unescaped[c] ?? c);
    found.push({ name: m[1], labels, key: m[1] + '{' + (m[2] || ''), value: Number(m[3].replace('Inf', 'Infinity')) });
  }
  return found;
}
const fits = (name, pattern) => pattern[0] === '*' ? name.endsWith(pattern.slice(1)) : name === pattern;

/// The difference of two pages. tools/top_page.py has the same class.
class Change {
  constructor(from, to, seconds) {
    this.old = new Map(from.map((s) => [s.key, s.value]));
    this.from = from;
    this.now = to;
    this.seconds = seconds;
  }
  of(pattern) { return this.now.filter((s) => fits(s.name, pattern)); }
  growth(s) { // a counter that has become smaller belongs to a new process
    const was = this.old.get(s.key) ?? 0;
    return s.value >= was ? s.value - was : s.value;
  }
  before(metric, key) { // a lane can change its rank
    return this.from.find((s) => s.labels.key === key && fits(s.name, metric))?.value ?? 0;
  }
  quantile(histogram, share) {
    const counts = new Map();
    for (const s of this.of(histogram + '_bucket')) {
      const bound = Number(s.labels.le.replace('+Inf', 'Infinity'));
      counts.set(bound, (counts.get(bound) ?? 0) + this.growth(s));
    }
    const total = counts.get(Infinity) ?? 0;
    if (total === 0) return null;
    return [...counts.keys()].sort((a, b) => a - b).find((b) => counts.get(b) >= share * total) ?? Infinity;
  }
  /// Returns the number of a series, null if there is none now, and undefined if the program has no such metric.
  figure(series) {
    if (series.quantile !== undefined)
      return this.of(series.of + '_count').length ? this.quantile(series.of, series.quantile) : undefined;
    const all = this.of(series.rate ?? series.value);
    if (!all.length) return undefined;
    return series.rate ? all.reduce((sum, s) => sum + this.growth(s), 0) / this.seconds : all.reduce((sum, s) => sum + s.value, 0);
  }
}

// ---- texts

function timeText(seconds) {
  if (seconds === Infinity) return 'over 17 s';
  const [size, unit] = [[1, 's'], [1e-3, 'ms'], [1e-6, 'us']].find(([size, unit]) => seconds >= size || unit === 'us');
  return String(Number((seconds / size).toPrecision(3))) + ' ' + unit;
}
const numberText = (value) => Math.round(value).toLocaleString('en-US');
const textOf = { time: timeText, number: numberText };

// ---- the document

const svgNames = 'http://www.w3.org/2000/svg';
function element(parent, name, attributes = {}, text = '') {
  const made = name === 'svg' || parent?.namespaceURI === svgNames
    ? document.createElementNS(svgNames, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== '') made.textContent = text;
  parent?.append(made);
  return made;
}
const all = document.getElementById('all');
const status = document.getElementById('status');

const width = 320, height = 130, top0 = 8, bottom = height - 4, left = 62;
class Chart {
  constructor(of) {
    this.of = of;
    this.past = of.series.map(() => []);
    const card = element(all, 'section', { 'data-chart': of.title });
    element(card, 'h2', {}, of.title);
    this.legend = element(card, 'ul');
    this.now = of.series.map((s, i) => {
      const item = element(this.legend, 'li', { hidden: '' });
      element(item, 'i', { style: `background: var(--c${i})` });
      item.append(s.name + ' ');
      return element(item, 'b', { 'data-series': s.name });
    });
    this.svg = element(card, 'svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': of.title });
    this.marks = [0, 1, 2].map(() => [element(this.svg, 'line'), element(this.svg, 'text', { x: left - 6, 'text-anchor': 'end' })]);
    this.paths = of.series.map((_, i) => element(this.svg, 'path', { style: `stroke: var(--c${i})` }));
  }
  add(change) {
    this.of.series.forEach((series, i) => {
      const value = change ? change.figure(series) : null;
      const past = this.past[i];
      past.push(value ?? null);
      if (past.length > points) past.shift();
      if (!change) return;
      this.now[i].parentNode.hidden = value === undefined;
      this.now[i].dataset.value = value ?? '';
      this.now[i].textContent = value == null ? '-' : textOf[this.of.unit](value);
    });
    this.draw();
  }
  draw() {
    const isTime = this.of.unit === 'time';
    const known = this.past.flat().filter((v) => v !== null).map((v) => isTime ? Math.min(Math.max(v, 1e-6), 34) : v);
    if (!known.length) return;
    let [low, high] = [0, Math.max(1, ...known)];
    if (isTime) { // a logarithmic scale, of two powers of ten or more
      low = Math.floor(Math.log10(Math.min(...known)));
      high = Math.max(low + 2, Math.ceil(Math.log10(Math.max(...known))));
    } else {
      const step = 10 ** Math.floor(Math.log10(high));
      high = [1, 2, 4, 6, 10].map((n) => n * step).find((n) => n >= high);
      if (high === 1) high = 2; // the middle is a whole number
    }
    const y = (v) => bottom - (bottom - top0) * ((isTime ? Math.log10(Math.min(Math.max(v, 1e-6), 34)) : v) - low) / (high - low);
    const x = (i, length) => width - (length - 1 - i) * (width - left) / (points - 1);
    this.marks.forEach(([line, text], i) => {
      const value = isTime ? 10 ** Math.round(low + (high - low) * i / 2) : low + (high - low) * i / 2;
      const at = y(value);
      for (const [key, v] of Object.entries({ x1: left, x2: width, y1: at, y2: at })) line.setAttribute(key, v);
      text.setAttribute('y', Math.min(at + 4, bottom));
      text.textContent = isTime ? timeText(value * 1.0000001) : numberText(value);
    });
    this.paths.forEach((path, s) => {
      const past = this.past[s];
      let shape = '', isDown = false;
      past.forEach((v, i) => {
        if (v === null) { isDown = false; return; }
        const at = `${x(i, past.length).toFixed(1)} ${y(v).toFixed(1)}`;
        shape += isDown ? `L${at}` : `M${at}h.01`;
        isDown = true;
      });
      path.setAttribute('d', shape);
    });
  }
}

class List {
  constructor(of) {
    this.of = of;
    this.card = element(all, 'section', { 'data-list': of.title });
    element(this.card, 'h2', {}, of.title);
    this.body = element(this.card, 'div');
    element(this.body, 'p', { class: 'none' }, of.none);
  }
  add(change) {
    if (!change) return;
    const rows = change.of(this.of.metric);
    if (this.of.order === 'largest') rows.sort((a, b) => b.value - a.value);
    const made = element(null, 'div');
    if (!rows.length) {
      element(made, 'p', { class: 'none' }, this.of.none);
    } else {
      const table = element(made, 'table');
      const shown = this.of.columns.filter(([, label]) => rows.some((r) => r.labels[label]));
      const head = element(element(table, 'thead'), 'tr');
      for (const [title] of shown) element(head, 'th', {}, title);
      element(head, 'th', { class: 'number' }, this.of.number);
      const body = element(table, 'tbody');
      for (const r of rows.slice(0, mostRows)) {
        const row = element(body, 'tr');
        for (const [, label] of shown) {
          const text = (r.labels[label] ?? '').slice(0, 200).replace(/\p{C}/gu, '?');
          element(row, 'td', { title: text }, text);
        }
        const has_grown = this.of.order === 'largest' && r.value > change.before(this.of.metric, r.labels.key);
        element(row, 'td', { class: 'number', 'data-value': r.value }, (has_grown ? '+ ' : '') + timeText(r.value));
      }
      if (rows.length > mostRows) element(made, 'p', { class: 'none' }, `and ${numberText(rows.length - mostRows)} more`);
    }
    this.body.replaceWith(made);
    this.body = made;
  }
}

const parts = [...figures.charts.map((c) => new Chart(c)), ...figures.lists.map((l) => new List(l))];
)html"
                                  R"html(
// ---- the connection

function received(text, at) {
  const now = { samples: parse(text), at };
  if (!now.samples.length) throw new Error('these are no metrics');
  answered = Date.now();
  if (before) {
    const change = new Change(before.samples, now.samples, (at - before.at) / 1000);
    for (const one of parts) one.add(change);
    document.body.dataset.changes = ++changes;
    document.body.dataset.seconds = change.seconds;
  }
  before = now;
  status.className = '';
  status.textContent = `live, ${new Date().toLocaleTimeString('en-GB')}`;
}
function lost(reason) {
  status.className = 'lost';
  status.textContent = (answered ? `no data since ${new Date(answered).toLocaleTimeString('en-GB')}` : 'no data yet') + `: ${reason}; trying again`;
  for (const one of parts) one.add(null);
}
async function ask() {
  try {
    const answer = await fetch('metrics', { cache: 'no-store', signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    received(await answer.text(), performance.now());
  } catch (e) {
    lost(e.name === 'TypeError' ? 'the program does not answer' : e.name === 'TimeoutError' ? 'no answer for 5 s' : e.message);
  }
}
(async () => {
  document.querySelector('h1').textContent = `ekiden ${location.host}`;
  for (;;) {
    const next = performance.now() + interval;
    await ask();
    await new Promise((done) => setTimeout(done, Math.max(0, next - performance.now())));
  }
})();
</script>
</body>
</html>
)html";

} // namespace

std::string_view live_page() noexcept { return page; }

} // namespace ekiden::inline EKIDEN_ABI
