/* ---- the picture of an order ----
 * A column for each thread, time runs down. Sections are coloured spans beside the steps, arrows
 * show which write a read reads and which thread waits for which. */

const ROW = 24, TOP = 30, GUTTER = 40, LOCKS = 8, LETTER = 6.65;

const lockColor = (locks, name) => "l" + (locks.indexOf(name) % 8);

/* An order: {name, about, bad, steps, arrows}; steps and arrows as in the JSON. Each lane is as wide
 * as what it shows. If that is more than the panel has, lanes become narrow, for a step may reach
 * into the lanes at its right: they have nothing in its row. Only the last one keeps its width. */
function laneWidths(order, lanes, levels, room) {
  const wide = lanes.map((thread, lane) => {
    let longest = thread.length;
    for (const step of order.steps)
      if (!step.folded && step.thread === thread) longest = Math.max(longest, step.does.length + 1);
    return levels[lane] * LOCKS + 22 + Math.min(longest, 40) * LETTER;
  });
  const total = wide.reduce((sum, width) => sum + width, 0), free = room - GUTTER - 4;
  if (total <= free) return wide.map((width) => width + Math.min(40, (free - total) / lanes.length));
  const last = wide.length - 1;
  let limit = Math.max(...wide); /* the widest give first */
  const cut = () => wide.reduce((sum, width, lane) => sum + (lane === last ? width : Math.min(width, limit)), 0);
  while (limit > 64 && cut() > free) limit -= 2;
  return wide.map((width, lane) => (lane === last ? width : Math.min(width, limit)));
}

/* What tells a step from others. One that was put in stands before the event whose number it has. */
const idOf = (number, putIn) => (number === null || number === undefined ? undefined : putIn ? number - 0.5 : number);
const stepId = (step) => idOf(step.event, step.put_in);

/* Where a section's span begins and ends among the rows: around the shown steps that are in it. */
function spanOf(section, order) {
  const last = section.release === null ? Infinity : section.release;
  let from = -1, to = -1, acquired = false, released = false;
  order.steps.forEach((step, row) => {
    const id = stepId(step);
    if (step.folded || step.thread !== section.thread || id === undefined) return;
    if (id < section.acquire || id > last) return;
    if (step.next && id === section.acquire) return; /* it waits for the lock */
    if (from < 0) from = row;
    to = row;
    acquired = acquired || id === section.acquire;
    released = released || id === section.release;
  });
  if (from < 0) return null;
  const open = order.bad ? section.open : section.release === null;
  if (!released && open) to = order.steps.length - 1;
  return { from, to, acquired, released, open: !released };
}

/* The sections of an order with their spans, each with how many others it stands beside. */
function sectionSpans(finding, order, lanes) {
  const depth = lanes.map(() => []), out = [];
  const spans = ((finding.schedule && finding.schedule.sections) || [])
    .map((section) => ({ section, span: spanOf(section, order) })).filter((x) => x.span)
    .sort((a, b) => a.span.from - b.span.from || b.span.to - a.span.to);
  for (const { section, span } of spans) {
    const lane = lanes.indexOf(section.thread);
    if (lane < 0) continue;
    let level = 0;
    while (depth[lane][level] !== undefined && depth[lane][level] >= span.from) level++;
    depth[lane][level] = span.to;
    out.push({ section, span, lane, level: Math.min(level, 3) });
  }
  return { spans: out, levels: depth.map((used) => Math.min(used.length, 4)) };
}

function sectionNodes(spans, locks, laneX) {
  return spans.map(({ section, span, lane, level }) => {
    const y = TOP + span.from * ROW + (span.acquired ? 5 : 0);
    const bottom = TOP + (span.to + 1) * ROW - (span.released ? 5 : 0);
    return svg("rect", {
      class: `section ${lockColor(locks, section.lock)}${section.reading ? " shared" : ""}`,
      x: laneX(lane) + level * LOCKS, y, width: LOCKS - 2, height: Math.max(6, bottom - y), rx: 2,
    }, svg("title", {}, `${section.thread} holds ${section.lock}${section.reading ? " for reading" : ""}` +
      (span.open ? ", still held at the end" : "")));
  });
}

function arrowNodes(order, rowOf, dot) {
  const nodes = [];
  for (const arrow of order.arrows || []) {
    const from = rowOf.get(idOf(arrow.from, arrow.from_put_in)), to = rowOf.get(idOf(arrow.to, arrow.to_put_in));
    if (from === undefined || to === undefined) continue;
    const [x1, y1] = dot(from), [x2, y2] = dot(to);
    const reads = arrow.what === "reads-from";
    const bend = x1 === x2 ? 26 : 0;
    const middle = (y1 + y2) / 2;
    const path = x1 === x2
      ? `M${x1 - 5},${y1} C${x1 - bend},${y1} ${x2 - bend},${y2} ${x2 - 5},${y2}`
      : `M${x1},${y1 + 5} C${x1},${middle} ${x2},${middle} ${x2},${y2 - 6}`;
    nodes.push(svg("path", { class: reads ? "arrow reads" : "arrow sync", d: path, "data-rows": `${from},${to}`,
      "marker-end": reads ? "url(#head-reads)" : "url(#head-sync)" },
    svg("title", {}, reads ? "the read sees this write" : arrow.what)));
  }
  return nodes;
}

function stepNode(order, row, numbers, geometry) {
  const step = order.steps[row], { dot } = geometry;
  const y = TOP + row * ROW, middle = y + ROW / 2 + 4;
  const children = [svg("rect", { class: "touch", x: 0, y, width: geometry.total, height: ROW })];
  if (step.folded) {
    children.push(svg("text", { class: "folded", x: GUTTER - 12, y: middle }, "\u22ef " + clip(step.does.replace(/^\.\.\. | \.\.\.$/g, ""), 52)));
    return svg("g", { class: "step fold", "data-row": row }, children);
  }
  const [x, cy] = dot(row);
  const number = numbers.get(stepId(step));
  const room = Math.floor((geometry.total - x - 13) / LETTER);
  children.push(svg("text", { class: "number", x: GUTTER - 12, y: middle }, step.next ? "next" : String(row + 1)));
  if (number) {
    children.push(svg("circle", { class: "mark", cx: x, cy, r: 8 }));
    children.push(svg("text", { class: "marktext", x, y: cy + 3.5 }, String(number)));
  } else
    children.push(svg("circle", { class: /^a?w|^au|^free/.test(step.op || step.does) ? "point write" : "point", cx: x, cy, r: 3.5 }));
  children.push(svg("text", { class: "does", x: x + (number ? 12 : 9), y: middle }, clipMiddle(step.does, Math.max(8, room))));
  children.push(svg("title", {}, `${step.thread} ${step.does}${step.site ? " at " + step.site : ""}${step.next ? " (next, not executed)" : ""}`));
  return svg("g", { class: "step" + (step.next ? " next" : "") + (number ? " marked" : ""), "data-row": row }, children);
}

/* Draws an order; returns {node, show(row), rows, stepOf}. */
function drawOrder(finding, order, lanes, locks, numbers, onpick) {
  const { spans, levels } = sectionSpans(finding, order, lanes);
  const widths = laneWidths(order, lanes, levels, order.room);
  const starts = [GUTTER];
  for (const width of widths) starts.push(starts[starts.length - 1] + width);
  const laneX = (lane) => starts[lane];
  const total = Math.max(starts[lanes.length] + 4, order.room || 0);
  const height = TOP + order.steps.length * ROW + 6;
  const rowOf = new Map();
  order.steps.forEach((step, row) => {
    if (!step.folded && stepId(step) !== undefined) rowOf.set(stepId(step), row);
  });
  const pointX = (lane) => laneX(lane) + levels[lane] * LOCKS + 8;
  const dot = (row) => [pointX(Math.max(0, lanes.indexOf(order.steps[row].thread))), TOP + row * ROW + ROW / 2];
  const geometry = { total, dot };
  const bands = order.steps.map((step, row) => svg("rect", { class: "band", x: 0, y: TOP + row * ROW, width: total, height: ROW }));
  const steps = order.steps.map((step, row) => stepNode(order, row, numbers, geometry));
  const arrows = arrowNodes(order, rowOf, dot);
  const lines = lanes.map((thread, lane) => [
    svg("line", { class: "lane", x1: pointX(lane), x2: pointX(lane), y1: TOP - 4, y2: height }),
    svg("text", { class: "thread", x: pointX(lane) - 5, y: 16 }, clip(thread, Math.floor(widths[lane] / 7) - 2), svg("title", {}, thread)),
  ]);
  const firstNext = order.steps.findIndex((step) => step.next);
  const wrong = firstNext < 0 ? null
    : svg("line", { class: "wrong", x1: 0, x2: total, y1: TOP + firstNext * ROW, y2: TOP + firstNext * ROW });
  const picture = svg("svg", { class: "order", width: total, height, viewBox: `0 0 ${total} ${height}`, role: "img",
    "aria-label": `${order.name}: ${order.steps.length} rows, threads ${lanes.join(", ")}` },
  bands, lines, sectionNodes(spans, locks, laneX), wrong, arrows, steps);
  picture.addEventListener("click", (event) => {
    const step = event.target.closest(".step");
    if (step) onpick(Number(step.getAttribute("data-row")));
  });
  const show = (row, linked) => {
    steps.forEach((node, i) => {
      bands[i].classList.toggle("current", i === row);
      bands[i].classList.toggle("linked", i === linked);
      node.classList.toggle("current", i === row);
      node.classList.toggle("later", row !== null && i > row);
    });
    for (const node of arrows) {
      const [from, to] = node.getAttribute("data-rows").split(",").map(Number);
      node.classList.toggle("later", row !== null && Math.max(from, to) > row);
      node.classList.toggle("lit", from === row || to === row || from === linked || to === linked);
    }
  };
  return { node: h("div", { class: "scroll", tabindex: "0", "aria-label": order.name }, picture), show, rowOf, order };
}

/* Arrow heads, once for the page. */
function markers() {
  const head = (id) => svg("marker", { id, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
    svg("path", { d: "M0,0 L8,4 L0,8 z", class: id }));
  return svg("svg", { width: 0, height: 0, class: "offscreen", "aria-hidden": "true" }, svg("defs", {}, head("head-reads"), head("head-sync"), head("head-cause")));
}

/* Two orders side by side with one slider. onstep(step) is told what is looked at. */
function compareOrders(finding, orders, lanes, numbers, onstep) {
  const locks = [];
  for (const section of (finding.schedule && finding.schedule.sections) || [])
    if (!locks.includes(section.lock)) locks.push(section.lock);
  let active = orders.length - 1, row = orders[active].steps.length - 1, whole = true;
  /* what a panel has inside: as the style sheet lays them out, side by side if there is room */
  const inside = Math.min(VIEW.detail.clientWidth - 42, 1180), narrow = matchMedia("(max-width: 1080px)").matches;
  for (const order of orders) order.room = (orders.length > 1 && !narrow ? (inside - 12) / 2 : inside) - 4;
  const drawn = orders.map((order, index) => drawOrder(finding, order, lanes, locks, numbers,
    (picked) => { active = index; row = picked; whole = false; update(); }));
  const slider = h("input", { type: "range", min: "1", class: "slider", "aria-label": "step",
    oninput: () => { row = Number(slider.value) - 1; whole = false; update(); } });
  const said = h("output", { class: "said", "aria-live": "polite" });
  const panels = drawn.map((one, index) => h("section", { class: "panel" + (orders[index].bad ? " bad" : "") },
    h("h4", {}, h("button", { type: "button", class: "pick", title: "step through this order (o)",
      onclick: () => { active = index; row = orders[index].steps.length - 1; whole = true; update(); } }, orders[index].name),
    h("small", {}, orders[index].about || "")), one.node));
  function update() {
    const steps = orders[active].steps;
    row = Math.max(0, Math.min(row, steps.length - 1));
    slider.max = String(steps.length);
    slider.value = String(row + 1);
    const step = steps[row];
    drawn.forEach((one, index) => {
      if (index === active) one.show(whole ? null : row, -1);
      else {
        const other = step.folded ? undefined : one.rowOf.get(stepId(step));
        one.show(null, whole || other === undefined ? -1 : other);
      }
      panels[index].classList.toggle("active", index === active);
    });
    said.textContent = whole ? `${plural(steps.length, "row")}; step with \u2190 \u2192`
      : `${row + 1}/${steps.length}  ${step.thread || ""} ${step.does}${step.site ? "  " + step.site : ""}${step.next ? "  (next)" : ""}`;
    onstep(whole ? null : step);
    if (!whole) {
      const band = drawn[active].node.querySelector(`[data-row="${row}"]`);
      if (band && CONTROL.scroll) band.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }
  const move = (by) => {
    row = whole ? (by > 0 ? 0 : orders[active].steps.length - 1) : row + by;
    whole = false;
    update();
  };
  const control = {
    move,
    ends: (last) => { row = last ? orders[active].steps.length - 1 : 0; whole = false; update(); },
    other: () => { active = (active + 1) % orders.length; row = orders[active].steps.length - 1; whole = true; update(); },
  };
  const legend = h("div", { class: "legend" },
    locks.map((lock) => h("span", { class: "key" }, h("i", { class: "swatch " + lockColor(locks, lock) }), lock)),
    orders.some((order) => order.arrows.some((arrow) => arrow.what === "reads-from")) ? h("span", { class: "key" }, h("i", { class: "line reads" }), "a read sees this write") : null,
    orders.some((order) => order.arrows.some((arrow) => arrow.what !== "reads-from")) ? h("span", { class: "key" }, h("i", { class: "line sync" }), "synchronisation") : null);
  const node = h("div", { class: "orders" }, h("div", { class: "panels n" + orders.length }, panels),
    h("div", { class: "steps" },
      h("button", { type: "button", class: "small", title: "one step back (\u2190)", onclick: () => move(-1) }, "\u2039"), slider,
      h("button", { type: "button", class: "small", title: "one step on (\u2192)", onclick: () => move(1) }, "\u203a"), said), legend);
  update();
  return { node, control };
}
