/* ---- the list of findings ----
 * Only the rows that are seen exist: ten thousand findings scroll like ten. */

const ROW_HEIGHT = 50, HEADING_HEIGHT = 28;
const LIST = { items: [], top: [], total: 0, selected: -1, shown: new Map() };

function layOut() {
  LIST.items = chosenRows();
  LIST.top = [];
  let top = 0;
  for (const item of LIST.items) {
    LIST.top.push(top);
    top += item.row ? ROW_HEIGHT : HEADING_HEIGHT;
  }
  LIST.total = top;
}

function firstAt(offset) {
  let low = 0, high = LIST.items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (LIST.top[middle] + ROW_HEIGHT < offset) low = middle + 1; else high = middle;
  }
  return low;
}

function rowNode(item, index) {
  if (!item.row)
    return h("div", { class: "heading", role: "presentation" }, h("span", {}, item.heading), h("span", { class: "count" }, String(item.count)));
  const { row } = item, finding = row.finding;
  const forced = finding.forced;
  const end = forced && forced.failed ? forced.words : forced ? "no visible failure" : finding.harm === "itself" ? "" : HARMS[finding.harm] || "";
  return h("div", {
    class: "row" + (index === LIST.selected ? " selected" : ""), role: "option", id: "row-" + row.number,
    "aria-selected": index === LIST.selected ? "true" : "false",
    onclick: () => select(index, true),
  },
  h("span", { class: "dot v-" + finding.verdict, title: finding.verdict }),
  h("div", {}, h("span", { class: "what" }, row.title), h("span", { class: "end" }, finding.verdict)),
  h("div", {}, h("span", { class: "where" }, [row.place, row.functions].filter(Boolean).join(" in ")), h("span", { class: "end" }, clip(end, 24))));
}

function drawList() {
  const pane = VIEW.list;
  const from = firstAt(pane.scrollTop - 200);
  const until = pane.scrollTop + pane.clientHeight + 200;
  const wanted = new Set();
  for (let i = from; i < LIST.items.length && LIST.top[i] < until; i++) wanted.add(i);
  for (const [index, node] of LIST.shown)
    if (!wanted.has(index)) { node.remove(); LIST.shown.delete(index); }
  for (const index of wanted) {
    if (LIST.shown.has(index)) continue;
    const node = rowNode(LIST.items[index], index);
    node.style.top = LIST.top[index] + "px";
    VIEW.rows.append(node);
    LIST.shown.set(index, node);
  }
}

function refreshList(keep) {
  const before = keep && LIST.items[LIST.selected] ? LIST.items[LIST.selected].row : null;
  layOut();
  for (const node of LIST.shown.values()) node.remove();
  LIST.shown.clear();
  VIEW.rows.style.height = LIST.total + "px";
  const found = LIST.items.filter((item) => item.row).length;
  VIEW.found.textContent = found === FINDINGS.length ? plural(found, "finding")
    : `${found.toLocaleString("en")} of ${plural(FINDINGS.length, "finding")}`;
  VIEW.none.hidden = found > 0;
  LIST.selected = before ? LIST.items.findIndex((item) => item.row === before) : -1;
  if (LIST.selected < 0) VIEW.list.scrollTop = 0;
  drawList();
  if (LIST.selected < 0 && found > 0) select(LIST.items.findIndex((item) => item.row), false);
  else if (LIST.selected >= 0) scrollToRow(LIST.selected);
  if (found === 0) showNothing();
}

function scrollToRow(index) {
  const top = LIST.top[index], pane = VIEW.list;
  if (top < pane.scrollTop) pane.scrollTop = top - HEADING_HEIGHT;
  else if (top + ROW_HEIGHT > pane.scrollTop + pane.clientHeight)
    pane.scrollTop = top + ROW_HEIGHT - pane.clientHeight + 8;
}

function select(index, open) {
  if (!LIST.items[index] || !LIST.items[index].row) return;
  const before = LIST.selected;
  LIST.selected = index;
  for (const changed of [before, index]) {
    const node = LIST.shown.get(changed);
    if (!node) continue;
    node.classList.toggle("selected", changed === index);
    node.setAttribute("aria-selected", changed === index ? "true" : "false");
  }
  scrollToRow(index);
  drawList();
  VIEW.list.setAttribute("aria-activedescendant", "row-" + LIST.items[index].row.number);
  showFinding(LIST.items[index].row);
  if (open) document.body.classList.add("reading");
}

function selectNear(step) {
  for (let i = LIST.selected + step; i >= 0 && i < LIST.items.length; i += step)
    if (LIST.items[i].row) { select(i, false); return; }
}

/* ---- filters ---- */

function choice(name, label, options) {
  const node = h("select", { "aria-label": label, title: label, id: "filter-" + name,
    onchange: () => { STATE[name] = node.value; refreshList(true); } },
  options.map(([value, text]) => h("option", { value }, text)));
  return node;
}

function filters() {
  const withCounts = (counts, names) => [...counts].sort((a, b) => b[1] - a[1])
    .map(([value, count]) => [value, `${names ? names(value) : value} (${count})`]);
  const kinds = withCounts(counted((row) => row.finding.kind), (kind) => HEAD.kinds[kind] || kind);
  const verdicts = withCounts(counted((row) => row.finding.verdict));
  verdicts.sort((a, b) => VERDICTS.indexOf(a[0]) - VERDICTS.indexOf(b[0]));
  const files = withCounts(counted((row) => row.files), (file) => clip(shortFile(file), 40));
  const search = h("input", { type: "search", id: "filter-text", placeholder: "Filter: text, file, function, variable  ( / )",
    "aria-label": "filter by text", autocomplete: "off", spellcheck: "false",
    oninput: () => { STATE.text = search.value; refreshList(true); } });
  return h("div", { class: "filters" }, search,
    choice("kind", "kind", [["", "all kinds"], ...kinds]),
    choice("verdict", "verdict", [["", "all verdicts"], ...verdicts]),
    choice("file", "file", [["", "all files"], ...files]),
    choice("sort", "sort", Object.entries(SORTS).map(([value, [text]]) => [value, "sort: " + text])),
    choice("group", "group", Object.entries(GROUPS).map(([value, [text]]) => [value, value ? "group: " + text : text])));
}
