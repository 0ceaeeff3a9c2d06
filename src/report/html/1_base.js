"use strict";
/* The page of heddle's HTML report. Data comes from the element #data; everything that is shown is
 * made as nodes and text, never as HTML, so that no text of a finding or a source file is obeyed. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const HEAD = DATA.head;
/* Events and steps that findings have in common are there once. */
const shared = (number) => DATA.shared[number];
function unfold(finding) {
  if (finding.unfolded) return;
  finding.unfolded = true;
  const schedule = finding.schedule;
  if (!schedule) return;
  for (const order of [schedule, schedule.observed || {}])
    for (const name of ["steps", "arrows", "sections"]) order[name] = (order[name] || []).map(shared);
}
document.getElementById("data").remove();

/* h("p", {class: "x", onclick: f}, "text", node, [nodes]) */
function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}
const h = (tag, properties, ...children) =>
  fill(document.createElement(tag), properties, children);
const svg = (tag, properties, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const shortFile = (path) => (path || "").slice((path || "").lastIndexOf("/") + 1);
const placeOf = (item) => (item.file ? `${shortFile(item.file)}${item.line ? ":" + item.line : ""}` : shortFile(item.site || ""));
function clip(text, most) {
  return text.length <= most ? text : text.slice(0, Math.max(1, most - 1)) + "\u2026";
}

/* Long names of fields tell most at their end. */
function clipMiddle(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return text.slice(0, most - 1 - tail) + "\u2026" + text.slice(text.length - tail);
}
/* "a.c:26 :36 b.c:4" */
function placesOf(events) {
  let file = null;
  const out = [];
  for (const event of events) {
    const same = event.file && event.file === file && event.line;
    const place = same ? ":" + event.line : placeOf(event);
    file = event.file;
    if (place && !out.includes(place) && !(same && out.some((x) => x.endsWith(place)))) out.push(place);
  }
  return out.join(" ");
}

const VERDICTS = ["confirmed", "feasible", "possible", "undecided", "infeasible"];
const HARMS = { itself: "harmful", likely: "likely a bug", unlikely: "probably intended",
  exercised: "did no harm in a passing run" };

/* ---- findings ---- */

const FINDINGS = DATA.findings.map((finding, number) => {
  const files = new Set();
  finding.events = finding.events.map(shared);
  for (const event of finding.events) if (event.file) files.add(event.file);
  const first = finding.events[0];
  return {
    number,
    finding,
    files: [...files],
    title: (HEAD.kinds[finding.kind] || finding.kind) + (finding.variable ? ` on ${finding.variable}` : ""),
    place: placesOf(finding.events.slice(0, 3)),
    functions: [...new Set(finding.events.map((event) => event.function).filter(Boolean))].join(", "),
    file: first && first.file ? first.file : "",
    text: null,
  };
});

function textOf(row) {
  if (row.text === null) {
    const f = row.finding;
    row.text = [row.title, f.kind, f.verdict, f.fingerprint, f.pattern, f.explanation, f.engine,
      row.files.join(" "), row.functions, (f.variables || []).join(" "),
      f.events.map((event) => event.site + " " + (event.locks || []).join(" ")).join(" ")]
      .join("\n").toLowerCase();
  }
  return row.text;
}

/* What the list shows. */
const STATE = { text: "", kind: "", verdict: "", file: "", sort: "report", group: "" };

const SORTS = {
  report: ["worst first", (a, b) => a.number - b.number],
  kind: ["kind", (a, b) => a.finding.kind.localeCompare(b.finding.kind) || a.number - b.number],
  file: ["file and line", (a, b) => a.file.localeCompare(b.file) ||
    ((a.finding.events[0] || {}).line || 0) - ((b.finding.events[0] || {}).line || 0) || a.number - b.number],
  variable: ["variable", (a, b) => a.finding.variable.localeCompare(b.finding.variable) || a.number - b.number],
  instances: ["instances", (a, b) => b.finding.instances - a.finding.instances || a.number - b.number],
};
const GROUPS = {
  "": ["no groups", null],
  kind: ["kind", (row) => HEAD.kinds[row.finding.kind] || row.finding.kind],
  verdict: ["verdict", (row) => row.finding.verdict],
  file: ["file", (row) => row.file || "(no file)"],
  variable: ["variable", (row) => row.finding.variable],
  harm: ["harm", (row) => HARMS[row.finding.harm] || row.finding.harm],
};

/* The rows of the list in order: {heading, count} or {row}. */
function chosenRows() {
  const words = STATE.text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = FINDINGS.filter((row) =>
    (!STATE.kind || row.finding.kind === STATE.kind) &&
    (!STATE.verdict || row.finding.verdict === STATE.verdict) &&
    (!STATE.file || row.files.includes(STATE.file)) &&
    words.every((word) => textOf(row).includes(word)));
  rows.sort(SORTS[STATE.sort][1]);
  const groupOf = GROUPS[STATE.group][1];
  if (!groupOf) return rows.map((row) => ({ row }));
  const groups = new Map();
  for (const row of rows) {
    const name = groupOf(row);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(row);
  }
  const out = [];
  for (const [heading, members] of groups) {
    out.push({ heading, count: members.length });
    for (const row of members) out.push({ row });
  }
  return out;
}

function counted(valueOf) {
  const counts = new Map();
  for (const row of FINDINGS)
    for (const value of [valueOf(row)].flat()) counts.set(value, (counts.get(value) || 0) + 1);
  return counts;
}

/* ---- copying ---- */

async function copyText(text, button) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch (error) { /* file: pages of some browsers have no clipboard */
    const area = h("textarea", { class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    try { done = document.execCommand("copy"); } catch (again) { done = false; }
    area.remove();
  }
  if (!button) return;
  const before = button.textContent;
  button.textContent = done ? "copied" : "select it by hand";
  setTimeout(() => { button.textContent = before; }, 1200);
}
function copyButton(text, label) {
  const button = h("button", { class: "copy", type: "button", title: "copy to the clipboard",
    onclick: () => copyText(text, button) }, label || "copy");
  return button;
}
