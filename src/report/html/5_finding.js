/* ---- one finding ---- */

const CONTROL = { orders: null, replay: "", scroll: false };

/* The orders of a finding that can be compared: what was observed beside what is possible. */
function ordersOf(finding) {
  const schedule = finding.schedule;
  if (!schedule || !schedule.steps.length) return [];
  const executed = schedule.events - schedule.next;
  const bad = { name: finding.observed ? "What the run did" : "The order that goes wrong", bad: true, steps: schedule.steps,
    arrows: schedule.arrows || [], about: `${plural(executed, "step")}${schedule.next > 1 ? `, then ${schedule.next} at once` : ""}` };
  if (!schedule.observed || !schedule.observed.steps.length) return [bad];
  return [{ name: "Observed order", steps: schedule.observed.steps, arrows: schedule.observed.arrows, about: "the run that was recorded" }, bad];
}

/* Orders of real runs that hunt or expose made: lines without events. */
function forcedOrders(finding) {
  const forced = finding.forced;
  if (!forced || !forced.failing_order || !forced.failing_order.length) return [];
  const order = (name, lines, bad) => ({ name, bad, arrows: [], about: "the accesses that matter",
    steps: lines.map((line) => {
      const event = finding.events.find((one) => one.file && placeOf(one) === line.site) || {};
      return { thread: line.thread, does: line.does, site: line.site, event: null, file: event.file, line: event.line };
    }) });
  const failing = order("A run that fails", forced.failing_order, true);
  return forced.passing_order && forced.passing_order.length ? [order("A run that passes", forced.passing_order), failing] : [failing];
}
const lanesOf = (orders) => [...new Set(orders.flatMap((order) => order.steps.map((step) => step.thread)).filter(Boolean))].sort(
  (a, b) => a.localeCompare(b, "en", { numeric: true }));

/* ---- source ---- */

/* Windows of the files that a finding names; show(step) lights its line. */
function sourcePanel(finding, numbers) {
  const places = [];
  const add = (item, number, text) => { if (item.file && item.line) places.push({ file: item.file, line: item.line, number, text }); };
  finding.events.forEach((event, i) => add(event, i + 1, `${event.thread || event.function || ""} ${event.verb} ${event.variable}`));
  if (finding.schedule)
    for (const step of [...finding.schedule.steps, ...((finding.schedule.observed || {}).steps || [])])
      add(step, numbers.get(stepId(step)), `${step.thread} ${step.does}`);
  for (const rule of finding.rules || []) for (const keeper of rule.kept_by.slice(0, 3)) add(keeper, undefined, keeper.function);
  const files = [...new Set(places.map((place) => place.file))], lines = new Map(), nodes = [];
  let missing = 0;
  for (const file of files) {
    const source = HEAD.sources[file];
    if (!source || !source.lines) {
      if (source && source.changed) nodes.push(h("p", { class: "faint" }, `${shortFile(file)} changed after the run: its lines are not shown.`));
      else missing++;
      continue;
    }
    const here = places.filter((place) => place.file === file);
    const body = [];
    let last = 0;
    for (const [first, text] of source.lines) {
      const wanted = text.map((_, i) => here.some((place) => Math.abs(place.line - (first + i)) <= 5));
      text.forEach((line, i) => {
        if (!wanted[i]) return;
        const number = first + i;
        if (last && number > last + 1) body.push(h("div", { class: "gap" }, "\u22ef"));
        last = number;
        const marks = [...new Set(here.filter((place) => place.line === number && place.number).map((place) => place.number))].sort();
        const node = h("div", { class: "code" + (marks.length ? " marked" : "") },
          h("span", { class: "marks" }, marks.map((mark) => h("b", {}, String(mark)))),
          h("span", { class: "line" }, String(number)), h("span", { class: "text" }, line || " "));
        lines.set(file + ":" + number, node);
        body.push(node);
      });
    }
    nodes.push(h("div", { class: "file" }, h("h4", { title: file }, shortFile(file), h("small", {}, file)), h("div", { class: "scroll listing", tabindex: "0", "aria-label": "source of " + shortFile(file) }, h("div", { class: "lines" }, body))));
  }
  if (missing) nodes.push(h("p", { class: "faint" }, `${plural(missing, "file")} could not be read when this page was made: ${files.filter((f) => !HEAD.sources[f]).map(shortFile).join(", ")}`));
  if (!nodes.length) return null;
  const show = (step) => {
    for (const node of lines.values()) node.classList.remove("lit");
    const node = step && step.file ? lines.get(step.file + ":" + step.line) : null;
    if (!node) return;
    node.classList.add("lit");
    const box = node.closest(".listing");
    if (node.offsetTop < box.scrollTop || node.offsetTop + 20 > box.scrollTop + box.clientHeight)
      box.scrollTop = Math.max(0, node.offsetTop - box.clientHeight / 2);
  };
  /* long listings begin where the finding is */
  const ready = () => {
    for (const file of nodes) {
      const box = file.querySelector(".listing"), marked = file.querySelector(".code.marked");
      if (box && marked && marked.offsetTop > box.clientHeight - 60) box.scrollTop = marked.offsetTop - 80;
    }
  };
  return { node: h("section", {}, h("h3", {}, "Source"), h("div", { class: "files" }, nodes)), show, ready };
}

/* ---- events ---- */

function eventCard(event, number, onpick) {
  const locks = event.locks === null ? null : event.locks.length === 0 ? "no lock"
    : event.locks.map((lock) => lock + ((event.locks_for_reading || []).includes(lock) ? " (for reading)" : "")).join(", ");
  const stack = shared(event.stack) || [];
  return h("div", { class: "card" },
    h("div", { class: "head" }, h("button", { type: "button", class: "no", title: "light its line", onclick: () => onpick(event) }, String(number)),
      h("span", {}, h("strong", {}, `${event.thread ? event.thread + " " : ""}${event.verb} ${event.variable}`),
        event.role ? h("span", { class: "chip" }, event.role === "between" ? "in between, another thread" : event.role + " block") : null)),
    h("div", { class: "where" }, `${event.site || ""}${event.function ? " in " + event.function : ""}`,
      event.thread && event.event !== null ? h("span", { class: "faint" }, `  ${event.put_in ? "before " : ""}event ${event.event}`) : null),
    event.about ? h("div", { class: "faint" }, event.about) : null,
    locks === null ? null : h("div", {}, h("span", { class: "label" }, "holds "), locks),
    stack.length ? h("ol", { class: "stack", start: "0" }, stack.map((frame) => h("li", {}, h("span", { class: "function" }, frame.function || "?"),
      frame.file ? h("span", { class: "faint" }, ` ${frame.file}${frame.line ? ":" + frame.line : ""}`) : frame.module ? h("span", { class: "faint" }, " " + frame.module) : null,
      frame.inlined ? h("span", { class: "faint" }, " (inlined)") : null))) : null);
}

function ruleTable(finding) {
  if (!finding.rules || !finding.rules.length) return null;
  return h("section", {}, h("h3", {}, "Variables that belong together"), h("div", { class: "scroll" },
    h("table", { class: "rules" }, h("thead", {}, h("tr", {}, ["where a function does", "it also does", "support", "confidence", "kept by"].map((text) => h("th", {}, text)))),
      h("tbody", {}, finding.rules.map((rule) => h("tr", {}, h("td", { class: "mono" }, rule.first), h("td", { class: "mono" }, rule.second),
        h("td", { class: "n" }, `${rule.support} of ${rule.functions}`),
        h("td", { class: "n" }, rule.functions ? Math.round((100 * rule.support) / rule.functions) + "%" : "-"),
        h("td", {}, h("details", { open: finding.rules.length === 1 }, h("summary", {}, plural(rule.support, "function")),
          h("ul", { class: "plain" }, rule.kept_by.map((keeper) => h("li", {}, h("span", { class: "function" }, keeper.function),
            h("span", { class: "faint" }, ` ${placeOf(keeper)}`)))),
          rule.support > rule.kept_by.length ? h("div", { class: "faint" }, `and ${rule.support - rule.kept_by.length} more`) : null))))))));
}

function commandLine(label, command) {
  return h("div", { class: "command" }, h("span", { class: "label" }, label), h("code", {}, command), copyButton(command));
}

function facts(finding) {
  const rows = [];
  const add = (name, text) => { if (text) rows.push([name, text]); };
  const forced = finding.forced;
  if (forced) {
    add("Forced", forced.words + (forced.runs ? `; reproduced ${forced.reproduced} of ${forced.runs}` : "") +
      (forced.switches ? `, with ${forced.switches} context switch${forced.switches === 1 ? "" : "es"}` : ""));
    add("Same failure as", forced.same_as);
    const tried = forced.experiment;
    if (tried)
      add("Cause tried", `this schedule fails ${forced.reproduced} of ${forced.runs} times; with only ${tried.order} ` +
        `it passes ${tried.passed} of ${tried.runs} times` + (tried.holds ? "" : "; heddle could not tell which order causes it"));
  }
  add("Seen", finding.seen);
  add("Possible", finding.possible);
  add("Support", finding.support);
  if (finding.harm !== "itself") add(`${HARMS[finding.harm]} (score ${finding.score})`, finding.ranking);
  add("How it was decided", finding.how);
  add("Usual repairs", finding.repair);
  const m = finding.manifestation;
  if (m && m.threads) add("Involved", `${plural(m.threads, "thread")}, ${plural(m.variables, finding.kind === "deadlock" ? "lock" : "variable")}, ` +
    (finding.kind === "deadlock" ? plural(m.accesses, "acquisition") : `${m.accesses} access${m.accesses === 1 ? "" : "es"}`));
  add("Engine", finding.engine);
  return rows.length ? h("dl", { class: "facts" }, rows.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])) : null;
}

/* The command that does it again; of a prediction, the one that forces it. */
function replayOf(finding) {
  if (finding.forced && finding.forced.command) return ["Replay", finding.forced.command];
  if (!finding.forced && finding.schedule && HEAD.command && HEAD.format === "binary") return ["Force it", `heddle hunt -- ${HEAD.command}`];
  return null;
}

function showFinding(row) {
  const finding = row.finding, numbers = new Map();
  unfold(finding);
  finding.events.forEach((event, i) => { if (stepId(event) !== undefined && event.thread && !numbers.has(stepId(event))) numbers.set(stepId(event), i + 1); });
  const source = sourcePanel(finding, numbers);
  const orders = ordersOf(finding), forced = forcedOrders(finding);
  const light = (step) => { if (source) source.show(step); };
  CONTROL.orders = null;
  CONTROL.scroll = false;
  const replay = replayOf(finding);
  CONTROL.replay = replay ? replay[1] : "";
  const pictures = [];
  if (orders.length) {
    const compared = compareOrders(finding, orders, finding.schedule.threads, numbers, light);
    CONTROL.orders = compared.control;
    pictures.push(h("section", {}, h("h3", {}, "Interleaving"), compared.node, turnStrip(finding)));
  }
  if (forced.length) {
    const compared = compareOrders({ schedule: null }, forced, lanesOf(forced), new Map(), light);
    if (!CONTROL.orders) CONTROL.orders = compared.control;
    pictures.push(h("section", {}, h("h3", {}, "Runs of the program"), compared.node));
  }
  const graph = causalGraph(finding, light);
  if (graph && !CONTROL.orders) CONTROL.orders = graph.control;
  const chips = [h("span", { class: "chip v-" + finding.verdict }, finding.verdict),
    finding.harm !== "itself" ? h("span", { class: "chip" }, HARMS[finding.harm]) : null,
    finding.pattern ? h("span", { class: "chip" }, finding.pattern) : null,
    finding.observed ? h("span", { class: "chip" }, "seen in this run") : null,
    finding.instances > 1 ? h("span", { class: "chip" }, plural(finding.instances, "instance")) : null,
    finding.fingerprint ? h("span", { class: "chip mono" }, finding.fingerprint) : null];
  VIEW.detail.replaceChildren(h("article", {},
    h("button", { class: "back", type: "button", onclick: () => document.body.classList.remove("reading") }, "\u2190 all findings"),
    h("h2", {}, row.title), h("div", { class: "chips" }, chips),
    finding.explanation ? h("p", { class: "explanation" }, finding.explanation) : null,
    replay ? commandLine(replay[0], replay[1]) : null,
    pictures,
    graph ? h("section", {}, h("h3", {}, "Causes"), graph.node) : null,
    ruleTable(finding),
    source ? source.node : null,
    finding.events.length ? h("section", {}, h("h3", {}, "Events"), h("div", { class: "cards" }, finding.events.map((event, i) => eventCard(event, i + 1, light)))) : null,
    facts(finding) ? h("section", {}, h("h3", {}, "More"), facts(finding)) : null));
  VIEW.detail.scrollTop = 0;
  if (source) source.ready();
  CONTROL.scroll = true;
  if (finding.fingerprint)
    try { history.replaceState(null, "", "#" + finding.fingerprint); } catch (error) { /* some browsers refuse it for files */ }
}

function showNothing() {
  CONTROL.orders = null;
  VIEW.detail.replaceChildren(h("article", {}, h("button", { class: "back", type: "button", onclick: () => document.body.classList.remove("reading") }, "\u2190 all findings"),
    h("p", { class: "faint" }, HEAD.failed ? "heddle could not do its job: " + HEAD.failed
    : FINDINGS.length ? "No finding fits the filters." : "Nothing was found.")));
}
