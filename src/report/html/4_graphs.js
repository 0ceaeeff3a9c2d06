/* ---- other pictures: causes in source code, a whole witness, coverage ---- */

/* A finding from source code: what one thread does in two blocks, how a value gets from the first to
 * the second, and what another thread does in between. */
function causalGraph(finding) {
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
    return svg("g", { class: "cause-box" + (box.other ? " other" : "") + (event.role ? " block" : "") },
      svg("rect", { x: box.x, y: box.y, width: WIDE, height: HIGH, rx: 4 }),
      locks.length ? svg("rect", { class: "section l0", x: box.x, y: box.y, width: 5, height: HIGH, rx: 2 }) : null,
      svg("text", { class: "strong", x: box.x + 14, y: box.y + 18 }, clip(`${event.verb} ${event.variable}`, 42)),
      svg("text", { x: box.x + 14, y: box.y + 33 }, clip(`in ${event.function || "?"}  ${placeOf(event)}`, 44)),
      svg("text", { class: "faint", x: box.x + 14, y: box.y + 48 }, clip(locks.length ? "under " + locks.join(", ") : event.role ? "in its block" : "no lock", 44)),
      svg("title", {}, `${event.function} ${event.verb} ${event.variable} at ${event.site}`));
  });
  const width = between.length ? COLUMN + WIDE + 8 : WIDE + 8;
  return h("div", { class: "scroll", tabindex: "0", "aria-label": "causal graph" },
    svg("svg", { class: "causal", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "how the value gets from one block to the other" },
      svg("text", { class: "thread", x: 4, y: 14 }, "one thread"),
      between.length ? svg("text", { class: "thread", x: COLUMN, y: 14 }, "another, in between") : null, edges, nodes));
}

/* Who runs when in a witness of many thousand events, from left to right. */
function turnStrip(finding) {
  const turns = finding.turns;
  if (!turns || !turns.length) return null;
  const total = turns.reduce((sum, [, events]) => sum + events, 0);
  const threads = [...new Set(turns.map(([thread]) => thread))];
  const shown = threads.slice(0, 24), WIDTH = 800, HIGH = 12, columns = 800;
  /* each pixel column of a thread: how much of it is that thread's */
  const share = shown.map(() => new Float64Array(columns));
  let at = 0;
  for (const [thread, events] of turns) {
    const lane = shown.indexOf(thread);
    const from = (at / total) * columns, to = ((at + events) / total) * columns;
    at += events;
    if (lane < 0) continue;
    for (let c = Math.floor(from); c < Math.min(columns, Math.ceil(to)); c++)
      share[lane][c] += Math.min(to, c + 1) - Math.max(from, c);
  }
  const bars = [];
  share.forEach((column, lane) => {
    for (let c = 0; c < columns;) {
      const level = Math.round(column[c] * 4);
      let end = c + 1;
      while (end < columns && Math.round(column[end] * 4) === level) end++;
      if (column[c] > 0)
        bars.push(svg("rect", { class: "turn", x: 50 + c, y: lane * (HIGH + 3), width: end - c, height: HIGH, opacity: Math.max(0.25, Math.min(1, level / 4)) }));
      c = end;
    }
  });
  const height = shown.length * (HIGH + 3);
  return h("details", { class: "strip" },
    h("summary", {}, `The whole witness: ${plural(total, "event")} in ${plural(turns.length, "turn")} of ${plural(threads.length, "thread")}`),
    h("div", { class: "scroll" }, svg("svg", { width: WIDTH + 54, height, viewBox: `0 0 ${WIDTH + 54} ${height}`, role: "img", "aria-label": "who runs when" },
      shown.map((thread, lane) => svg("text", { class: "thread", x: 0, y: lane * (HIGH + 3) + 10 }, clip(thread, 6))), bars)),
    threads.length > shown.length ? h("p", { class: "faint" }, `${plural(threads.length - shown.length, "more thread")} not drawn`) : null);
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
