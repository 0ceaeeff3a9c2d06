/* ---- the page ---- */

const VIEW = {};

function setTheme(theme) {
  if (theme) document.documentElement.setAttribute("data-theme", theme);
  else document.documentElement.removeAttribute("data-theme");
  try { localStorage.setItem("heddle-theme", theme); } catch (error) { /* no storage: until it is closed */ }
}
function isDark() {
  const chosen = document.documentElement.getAttribute("data-theme");
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
const toggleTheme = () => setTheme(isDark() ? "light" : "dark");

function showCoverage() {
  CONTROL.orders = null;
  document.body.classList.add("reading");
  VIEW.detail.replaceChildren(h("article", {}, h("button", { class: "back", type: "button", onclick: () => document.body.classList.remove("reading") }, "\u2190 all findings"), coveragePage(HEAD.coverage)));
}

const KEYS = [["j  \u2193", "next finding"], ["k  \u2191", "previous finding"], ["\u2190  \u2192", "one step back or on"],
  ["Home  End", "first or last step"], ["o", "step through the other order"], ["y", "copy the replay command"], ["/", "filter by text"],
  ["t", "dark or light"], ["Esc", "back to the list"], ["?", "this help"]];

function build() {
  const verdicts = counted((row) => row.finding.verdict);
  VIEW.found = h("span", { class: "found", "aria-live": "polite" });
  VIEW.rows = h("div", { class: "rows" });
  VIEW.none = h("p", { class: "faint none", hidden: true }, FINDINGS.length ? "No finding fits the filters." : "Nothing was found.");
  VIEW.list = h("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": "findings", onscroll: drawList }, VIEW.none, VIEW.rows);
  VIEW.detail = h("main", { class: "detail", tabindex: "-1" });
  VIEW.help = h("dialog", { class: "help" }, h("h2", {}, "Keys"), h("dl", { class: "facts" }, KEYS.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("form", { method: "dialog" }, h("button", {}, "close")));
  const about = [HEAD.command || HEAD.path, HEAD.events ? plural(HEAD.events, "event") : null, HEAD.threads ? plural(HEAD.threads, "thread") : null].filter(Boolean).join(" \u00b7 ");
  const notes = [...HEAD.warnings, ...HEAD.notes];
  if (HEAD.not_shown) notes.push(`${plural(HEAD.not_shown, "more finding")} not in this page (--max)`);
  if (HEAD.hidden) notes.push(`${plural(HEAD.hidden, "finding")} hidden by suppressions or the baseline`);
  if (HEAD.failed) notes.unshift(HEAD.failed);
  document.getElementById("app").append(markers(),
    h("header", {}, h("h1", {}, "heddle"), h("span", { class: "about", title: HEAD.path }, about),
      h("span", { class: "tally" }, VERDICTS.filter((verdict) => verdicts.get(verdict)).map((verdict) =>
        h("button", { type: "button", class: "chip v-" + verdict, title: "show these only", onclick: () => {
          STATE.verdict = STATE.verdict === verdict ? "" : verdict;
          document.getElementById("filter-verdict").value = STATE.verdict;
          refreshList(true);
        } }, `${verdicts.get(verdict).toLocaleString("en")} ${verdict}`))),
      h("span", { class: "buttons" }, HEAD.coverage ? h("button", { type: "button", id: "coverage", onclick: showCoverage }, "coverage") : null,
        h("button", { type: "button", id: "theme", title: "dark or light (t)", onclick: toggleTheme }, "\u25d0"),
        h("button", { type: "button", id: "help", title: "keys (?)", onclick: () => VIEW.help.showModal() }, "?"))),
    h("nav", { class: "side" }, filters(), h("div", { class: "line" }, VIEW.found),
      notes.length ? h("details", { class: "notes" }, h("summary", {}, plural(notes.length, "note")), h("ul", { class: "plain" }, notes.map((note) => h("li", {}, note)))) : null,
      VIEW.list),
    VIEW.detail, VIEW.help);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || VIEW.help.open) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  const slider = event.target.type === "range";
  if (event.key === "Escape") {
    if (typing && !slider) event.target.blur();
    else document.body.classList.remove("reading");
    return;
  }
  if (typing && !slider) return;
  const orders = CONTROL.orders;
  const does = {
    j: () => selectNear(1), k: () => selectNear(-1), ArrowDown: () => selectNear(1), ArrowUp: () => selectNear(-1),
    ArrowLeft: () => orders && orders.move(-1), ArrowRight: () => orders && orders.move(1),
    Home: () => orders && orders.ends(false), End: () => orders && orders.ends(true), o: () => orders && orders.other(),
    y: () => CONTROL.replay && copyText(CONTROL.replay, document.querySelector(".command .copy")),
    "/": () => document.getElementById("filter-text").focus(), t: toggleTheme, "?": () => VIEW.help.showModal(),
    Enter: event.target === VIEW.list ? () => document.body.classList.add("reading") : null,
  }[event.key];
  if (!does || (slider && /^(Arrow|Home|End)/.test(event.key))) return;
  if (/^Arrow(Down|Up)$/.test(event.key) && VIEW.detail.contains(event.target) && event.target !== VIEW.detail) return;
  event.preventDefault();
  does();
}

try { setTheme(localStorage.getItem("heddle-theme") || ""); } catch (error) { /* no storage */ }
const WANTED = location.hash.slice(1); /* a finding that a link names */
build();
document.addEventListener("keydown", onKey);
addEventListener("resize", drawList);
refreshList(false);
if (WANTED) {
  const wanted = LIST.items.findIndex((item) => item.row && item.row.finding.fingerprint === WANTED);
  if (wanted >= 0) select(wanted, true);
}
