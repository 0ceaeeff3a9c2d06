/* ---- other pictures: causes in source code, a whole witness, coverage ---- */

/* A finding from source code: what one thread does in two blocks, how a value gets from the first to
 * the second, and what another thread does in between. */
function causalGraph(finding, onstep) {
  const between = finding.events.filter((event) => event.role === "between");
  const own = finding.events.filter((event) => event.role !== "between");
  if (!finding.events.some((event) => event.role)) return null;
  const WIDE = 310, HIGH = 56, GAP = 30, COLUMN = 400;
  const second = own.findIndex((event) => event.role === "second");
  const boxes = own.map((event, i) => ({ event, x: 4, y: 26 + (i + (second >= 0 && i >= second ? Math.max(0, between.length - 1) * 0.5 : 0)) * (HIGH + GAP) }));
  const first = boxes[0], last = boxes[boxes.length - 1];
  const centre = (first.y + last.y) / 2;
  between.forEach((event, i) => boxes.push({ event, other: true, x: COLUMN, y: Math.max(26, centre + (i - (between.length - 1) / 2) * (HIGH + 14)) }));
  const height = Math.max(...boxes.map((box) => box.y)) + HIGH + 10;
  const edges = [];
  const mine = boxes.filter((box) => !box.other);
  for (let i = 1; i < mine.length; i++) {
    const a = mine[i - 1], b = mine[i];
    edges.push(svg("path", { class: "cause", d: `M${a.x + 40},${a.y + HIGH} L${b.x + 40},${b.y - 3}`, "marker-end": "url(#head-cause)" }));
    if (i === 1)
      edges.push(svg("text", { class: "edge", x: a.x + 50, y: a.y + HIGH + 19 },
        finding.kind === "stale-value" ? `the ${finding.pattern || "value"} leaves the block` : "the block ends, another begins"));
  }
  for (const box of boxes.filter((x) => x.other))
    for (const end of mine.filter((x) => x.event.role === "first" || x.event.role === "second")) {
      if (end.event.variable !== box.event.variable && finding.kind === "view") continue;
      const down = end.event.role === "second";
      const from = down ? box : end, to = down ? end : box;
      const x1 = down ? from.x : from.x + WIDE, x2 = down ? to.x + WIDE : to.x;
      edges.push(svg("path", { class: "conflict", d: `M${x1},${from.y + HIGH / 2} C${(x1 + x2) / 2},${from.y + HIGH / 2} ${(x1 + x2) / 2},${to.y + HIGH / 2} ${x2},${to.y + HIGH / 2}`,
        "marker-end": "url(#head-cause)" }, svg("title", {}, "may come in between: both access " + box.event.variable)));
    }
  const nodes = boxes.map((box) => {
    const event = box.event, locks = event.locks || [];
    return svg("g", { class: "cause-box" + (box.other ? " other" : "") + (event.role ? " block" : ""), onclick: () => show(finding.events.indexOf(event)) },
      svg("rect", { x: box.x, y: box.y, width: WIDE, height: HIGH, rx: 4 }),
      locks.length ? svg("rect", { class: "section l0", x: box.x, y: box.y, width: 5, height: HIGH, rx: 2 }) : null,
      svg("text", { class: "strong", x: box.x + 14, y: box.y + 18 }, clip(`${event.verb} ${event.variable}`, 42)),
      svg("text", { x: box.x + 14, y: box.y + 33 }, clip(`in ${event.function || "?"}  ${placeOf(event)}`, 44)),
      svg("text", { class: "faint", x: box.x + 14, y: box.y + 48 }, clip(locks.length ? "under " + locks.join(", ") : event.role ? "in its block" : "no lock", 44)),
      svg("title", {}, `${event.function} ${event.verb} ${event.variable} at ${event.site}`));
  });
  const width = between.length ? COLUMN + WIDE + 8 : WIDE + 8;
  let at = -1;
  function show(number) {
    at = Math.max(0, Math.min(number, finding.events.length - 1));
    boxes.forEach((box, i) => nodes[i].classList.toggle("current", box.event === finding.events[at]));
    onstep(finding.events[at]);
  }
  const control = { move: (by) => show(at < 0 ? (by > 0 ? 0 : finding.events.length - 1) : at + by), ends: (last) => show(last ? finding.events.length - 1 : 0), other: () => {} };
  const node = h("div", { class: "scroll", tabindex: "0", "aria-label": "causal graph" },
    svg("svg", { class: "causal", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "how the value gets from one block to the other" },
      svg("text", { class: "thread", x: 4, y: 14 }, "one thread"),
      between.length ? svg("text", { class: "thread", x: COLUMN, y: 14 }, "another, in between") : null, edges, nodes));
  return { node, control };
}

/* Who runs when in a witness of many thousand events, from left to right: a digit a column. */
function turnStrip(finding) {
  const strip = finding.strip;
  if (!strip || !strip.threads.length) return null;
  const HIGH = 12, WIDE = 2, LABEL = 54, bars = [];
  strip.levels.forEach((levels, lane) => {
    for (let c = 0; c < levels.length;) {
      let end = c + 1;
      while (end < levels.length && levels[end] === levels[c]) end++;
      if (levels[c] !== "0")
        bars.push(svg("rect", { class: "turn", x: LABEL + c * WIDE, y: lane * (HIGH + 3), width: (end - c) * WIDE, height: HIGH, opacity: 0.2 + 0.8 * Number(levels[c]) / 9 }));
      c = end;
    }
  });
  const width = LABEL + strip.levels[0].length * WIDE, height = strip.threads.length * (HIGH + 3);
  return h("details", { class: "strip" },
    h("summary", {}, `The whole witness: ${plural(strip.events, "event")} in ${plural(strip.turns, "turn")}`),
    h("div", { class: "scroll", tabindex: "0", "aria-label": "who runs when" }, svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "who runs when" },
      strip.threads.map((thread, lane) => svg("text", { class: "thread", x: 0, y: lane * (HIGH + 3) + 10 }, clip(thread, 7))), bars)),
    strip.cut ? h("p", { class: "faint" }, "More threads are not drawn.") : null);
}

/* ---- coverage ---- */

function coverageChart(coverage) {
  const runs = coverage.runs, names = Object.keys(coverage.criteria || {});
  const WIDTH = 720, HIGH = 300, L = 46, R = 90, T = 12, B = 28;
  const x = (run) => L + (runs.length < 2 ? 0 : (run / (runs.length - 1)) * (WIDTH - L - R));
  const y = (part) => T + (1 - part) * (HIGH - T - B);
  const covered = (run, name) => (run[name] || {}).covered_so_far || 0;
  const part = (run, name) => covered(runs[run], name) / Math.max(1, coverage.criteria[name].properties);
  const ends = names.map((name, i) => ({ name, i, y: runs.length ? y(part(runs.length - 1, name)) : T })).sort((a, b) => a.y - b.y);
  for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + 13);
  const lines = names.map((name, i) => [
    svg("polyline", { class: "growth c" + i, points: runs.map((_, run) => `${x(run)},${y(part(run, name))}`).join(" ") }),
    runs.length <= 60 ? runs.map((run, at) => svg("circle", { class: "growth c" + i, cx: x(at), cy: y(part(at, name)), r: 2.5 },
      svg("title", {}, `${name} after ${run.name}: ${covered(run, name)} of ${coverage.criteria[name].properties}`))) : null]);
  return svg("svg", { class: "chart", width: WIDTH, height: HIGH, viewBox: `0 0 ${WIDTH} ${HIGH}`, role: "img", "aria-label": "coverage over runs" },
    [0, 0.25, 0.5, 0.75, 1].map((level) => [svg("line", { class: "grid", x1: L, x2: WIDTH - R, y1: y(level), y2: y(level) }),
      svg("text", { class: "axis", x: L - 6, y: y(level) + 4 }, `${level * 100}%`)]),
    svg("text", { class: "axis middle", x: (L + WIDTH - R) / 2, y: HIGH - 6 }, plural(runs.length, "run")), lines,
    ends.map((end) => svg("text", { class: "label c" + end.i, x: WIDTH - R + 8, y: end.y + 4 }, end.name)));
}

function coveragePage(coverage) {
  const rows = Object.entries(coverage.criteria || {}).map(([name, count]) => h("tr", {}, h("td", {}, name),
    ["properties", "covered", "infeasible"].map((key) => h("td", { class: "n" }, (count[key] || 0).toLocaleString("en"))),
    h("td", { class: "n" }, count.properties > 0 ? Math.round((100 * count.covered) / Math.max(1, count.properties - (count.infeasible || 0))) + "%" : "-")));
  return [h("h2", {}, "Interleaving coverage"),
    h("p", { class: "explanation" }, "How much of what threads can do to each other the runs have exercised, and how that grew from run to run."),
    coverage.runs.length ? h("div", { class: "scroll" }, coverageChart(coverage)) : null,
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ["criterion", "properties", "covered", "infeasible", "of what is feasible"].map((text) => h("th", {}, text)))), h("tbody", {}, rows)))];
}
