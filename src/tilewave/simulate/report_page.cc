#include "tilewave/simulate/report_page.h"

namespace tilewave::simulate {
namespace {

constexpr std::string_view kHead = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tilewave run</title>
<style>
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6675; --paper: #fff; --line: #d9dee6;
  --bar: #2f6fb5; --bar2: #d9822b; --warn: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #9aa6b5; --paper: #14181f;
  --line: #323a46; --bar: #6aa7e8; --bar2: #f0a95a; --warn: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; color: var(--ink); background: var(--paper);
  font: 16px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .5rem; border-bottom: 1px solid var(--line); }
p.note { color: var(--soft); margin: .3rem 0; font-size: .9rem; }
p.warning { color: var(--warn); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .5rem; margin: 0; }
dt { color: var(--soft); font-size: .8rem; }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; width: 100%; }
th { text-align: left; color: var(--soft); font-weight: normal; }
td, th { padding: .15rem .5rem .15rem 0; white-space: nowrap; }
td.bar { width: 60%; min-width: 6rem; }
td.bar div { background: var(--bar); height: .8rem; border-radius: 2px; min-width: 1px; }
td.key { font-family: ui-monospace, monospace; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--soft); font-size: 11px; }
pre { overflow-x: auto; font-size: .8rem; border: 1px solid var(--line); padding: .5rem; }
</style>
</head>
<body>
<main id="page"></main>
<script type="application/json" id="run">)page";

constexpr std::string_view kScript = R"page(</script>
<script>
"use strict";
const run = JSON.parse(document.getElementById("run").textContent);
const page = document.getElementById("page");
const kMostRows = 64;
function add(parent, name, text, attributes) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  parent.appendChild(e);
  return e;
}
function inUnits(x, units, base) {
  let k = 0;
  while (Math.abs(x) >= base && k < units.length - 1) { x /= base; ++k; }
  return (k ? x.toPrecision(4) : String(+x.toPrecision(4))) + " " + units[k];
}
const bytes = (x) => inUnits(x, ["B", "kB", "MB", "GB", "TB", "PB"], 1000);
const rate = (x) => inUnits(x, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"], 1000);
const seconds = (x) => x < 1e-3 ? (x * 1e6).toPrecision(3) + " us"
  : x < 1 ? (x * 1e3).toPrecision(4) + " ms" : x.toPrecision(4) + " s";
const share = (x) => (100 * x).toFixed(2) + " %";
// A number as text, with its exact value and its place in the JSON.
function number(parent, name, text, key, value) {
  return add(parent, name, text, {"data-key": key, "data-value": String(value)});
}
function section(title) { add(page, "h2", title); return page; }
function facts(list) {
  const dl = add(page, "dl");
  for (const [label, text, key, value] of list) {
    const box = add(dl, "div");
    add(box, "dt", label);
    number(box, "dd", text, key, value);
  }
}
// " +- 0.0012" where a number is a mean over trajectories.
const error = (errors, k) =>
  errors && errors[k] !== null ? " \u00b1 " + errors[k].toPrecision(2) : "";
const digits = (x) => String(+x.toPrecision(10));
// How far the norm is from 1, where it is near.
function norm(x) {
  const off = x - 1;
  if (off === 0 || Math.abs(off) > 1e-4) return String(x);
  return (off < 0 ? "1 - " : "1 + ") + Math.abs(off).toPrecision(2);
}
// Bars are relative to `full`, or to the longest.
function bars(rows, heads, full) {
  const table = add(add(page, "div", undefined, {class: "wide"}), "table");
  const head = add(table, "tr");
  for (const h of heads) add(head, "th", h);
  const most = full || rows.reduce((m, r) => Math.max(m, Math.abs(r.size)), 1e-300);
  for (const r of rows.slice(0, kMostRows)) {
    const tr = add(table, "tr");
    add(tr, "td", r.label, {class: "key"});
    number(tr, "td", r.text, r.key, r.value);
    const bar = add(tr, "td", undefined, {class: "bar"});
    if (r.size) add(bar, "div").style.width = (100 * Math.abs(r.size) / most) + "%";
  }
  if (rows.length > kMostRows) {
    add(page, "p", (rows.length - kMostRows) + " further rows are in the JSON", {class: "note"});
  }
}
function svg(parent, name, attributes) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  parent.appendChild(e);
  return e;
}
// Two lanes over one axis of time: what the plan predicted above, what was measured below.
function timeline(steps, limit) {
  const total = (name) => steps.reduce((sum, s) => sum + s[name], 0);
  const length = Math.max(total("predicted_s"), total("measured_s"), 1e-12);
  const picture = svg(page, "svg", {viewBox: "0 0 720 96", role: "img",
    "aria-label": "time line of the passes"});
  [["predicted_s", 18, "--bar"], ["measured_s", 56, "--bar2"]].forEach(([name, y, colour]) => {
    let at = 0;
    for (const [k, s] of steps.entries()) {
      const width = 720 * s[name] / length;
      const box = svg(picture, "rect", {x: at, y: y, width: Math.max(width - .5, .2), height: 22, rx: 2});
      box.style.fill = `var(${colour})`;
      svg(box, "title", {}).textContent =
        `${s.step} ${k + 1}: ${seconds(s[name])}, ${bytes(s.bytes)}`;
      at += width;
    }
    svg(picture, "text", {x: 0, y: y - 4}).textContent =
      (name === "predicted_s" ? "predicted " : "measured ") + seconds(total(name));
  });
  svg(picture, "text", {x: 0, y: 92}).textContent = "0";
  svg(picture, "text", {x: 720, y: 92, "text-anchor": "end"}).textContent = seconds(length);
  const table = add(add(page, "div", undefined, {class: "wide"}), "table");
  const head = add(table, "tr");
  for (const h of ["pass", "bytes", "predicted", "measured", "rate", "of the limit"]) add(head, "th", h);
  steps.slice(0, 4 * kMostRows).forEach((s, k) => {
    const tr = add(table, "tr");
    add(tr, "td", s.step + " " + (k + 1));
    number(tr, "td", bytes(s.bytes), `steps.${k}.bytes`, s.bytes);
    number(tr, "td", seconds(s.predicted_s), `steps.${k}.predicted_s`, s.predicted_s);
    number(tr, "td", seconds(s.measured_s), `steps.${k}.measured_s`, s.measured_s);
    const r = s.measured_s > 0 ? s.bytes / s.measured_s : 0;
    add(tr, "td", s.measured_s > 0 ? rate(r) : "-");
    add(tr, "td", limit > 0 && s.measured_s > 0 ? share(r / limit) : "-");
  });
}

add(page, "h1", run.title || "Tilewave run");
facts([["qubits", String(run.num_qubits), "num_qubits", run.num_qubits],
  ["engine", run.engine, "engine", run.engine],
  ["precision", run.precision, "precision", run.precision],
  ["device", run.device, "device", run.device],
  ["shots", String(run.shots), "shots", run.shots],
  ["seed", String(run.seed), "seed", run.seed],
  ["trajectories", String(run.trajectories), "trajectories", run.trajectories],
  ["norm", norm(run.norm), "norm", run.norm],
  ["memory", bytes(run.memory_bytes), "memory_bytes", run.memory_bytes],
  ["planning", seconds(run.timings_s.plan), "timings_s.plan", run.timings_s.plan],
  ["execution", seconds(run.timings_s.execute), "timings_s.execute", run.timings_s.execute],
  ["observation", seconds(run.timings_s.observe), "timings_s.observe", run.timings_s.observe]]
  .filter((fact) => fact[3] !== undefined));
if (run.engine_choice) add(page, "p", run.engine_choice, {class: "note"});
for (const w of run.warnings || []) add(page, "p", w, {class: "warning"});
const counts = Object.entries(run.counts || {});
if (counts.length) {
  section("Counts");
  add(page, "p", "The rightmost character is the first bit of a register (qubit 0 where " +
    "nothing is measured), the rightmost group the first register.", {class: "note"});
  counts.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  bars(counts.map(([k, n]) => ({label: k, text: n + "  (" + share(n / run.shots) + ")", size: n,
    key: "counts." + k, value: n})), ["outcome", "shots", ""]);
}
if (run.probabilities) {
  section("Marginals");
  const qubits = run.probability_qubits || run.probabilities.map((_, q) => q);
  bars(run.probabilities.map((p, k) => ({label: "qubit " + qubits[k],
    text: share(p) + (run.probability_errors && run.probability_errors[k] !== null
      ? " \u00b1 " + share(run.probability_errors[k]) : ""),
    size: p, key: "probabilities." + k, value: p})), ["", "P(1)", ""], 1);
  if (run.joint_probabilities && run.probability_qubits) {
    add(page, "p", "Jointly, as " + qubits.map((q) => "q" + q).reverse().join(" "), {class: "note"});
    bars(run.joint_probabilities.map((p, x) => ({label: x.toString(2).padStart(qubits.length, "0"),
      text: share(p), size: p, key: "joint_probabilities." + x, value: p})), ["", "P", ""], 1);
  }
}
if (run.amplitudes) {
  section("Amplitudes");
  bars(run.amplitudes.map((a, k) => ({label: a.index.toString(2).padStart(run.num_qubits, "0"),
    text: a.re.toPrecision(6) + (a.im < 0 ? " - " : " + ") + Math.abs(a.im).toPrecision(6) + " i",
    size: a.re * a.re + a.im * a.im, key: `amplitudes.${k}.re`, value: a.re})),
    ["state", "amplitude", "P"], 1);
}
if (run.expectations) {
  section("Expectations");
  bars(run.expectations.map((e, k) => ({
    label: run.observables ? run.observables[k] : "term " + (k + 1),
    text: digits(e) + error(run.expectation_errors, k), size: e,
    key: "expectations." + k, value: e})), ["term", "value", ""]);
  facts([["sum", digits(run.expectation_sum) + error(run.expectation_errors && [run.expectation_sum_error], 0),
    "expectation_sum", run.expectation_sum]]);
}
section("Plan");
const limit = run.limit_bytes_per_s || 0;
const plan = [["gates", String(run.plan.gates), "plan.gates", run.plan.gates],
  ["passes", String(run.plan.passes), "plan.passes", run.plan.passes],
  ["bytes", bytes(run.plan.bytes), "plan.bytes", run.plan.bytes],
  ["predicted", seconds(run.plan.predicted_s), "plan.predicted_s", run.plan.predicted_s]];
if (limit) plan.push(["limit of this machine", rate(limit), "limit_bytes_per_s", limit]);
facts(plan);
if (run.steps && run.steps.length) timeline(run.steps, limit);
if (run.plan.text) add(page, "pre", run.plan.text);
document.documentElement.setAttribute("data-ready", "yes");
</script>
</body>
</html>
)page";

}  // namespace

std::string report_page(std::string_view json) {
  std::string page(kHead);
  // "</script>" or "<!--" in a string would end the block; \\u003c reads as the same character.
  for (const char c : json) {
    if (c == '<') {
      page += "\\u003c";
    } else {
      page += c;
    }
  }
  page += kScript;
  return page;
}

}  // namespace tilewave::simulate
