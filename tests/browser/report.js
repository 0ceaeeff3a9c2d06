// report.js BROWSER DIRECTORY: opens the reports that tests/cli/report_browser.test made, in Chromium,
// and uses every control. Prints what is wrong; exit status 1 if anything is. With SCREENSHOTS=DIR
// leaves pictures there.
"use strict";
const { chromium } = require("playwright-core");
const path = require("path");

const [executablePath, directory] = process.argv.slice(2);
let failures = 0;
let where = "";
function check(good, what) {
  if (good) return;
  failures++;
  console.log(`${where}: ${what}`);
}
const same = (is, wanted, what) => check(is === wanted, `${what}: ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`);

async function open(browser, file, options = {}) {
  where = file;
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") check(false, `console: ${message.text()}`);
  });
  page.on("pageerror", (error) => check(false, `error: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) check(false, `asked the network for ${request.url()}`);
  });
  await page.goto("file://" + path.resolve(directory, file));
  return page;
}
const count = (page, selector) => page.locator(selector).count();
const text = (page, selector) => page.locator(selector).first().innerText();

// Nothing is wider than the window: what is long scrolls in a box of its own.
async function fits(page, what) {
  const wide = await page.evaluate(() => {
    const out = [], width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) out.push("the page scrolls sideways");
    for (const node of document.querySelectorAll("#app *")) {
      const box = node.getBoundingClientRect();
      if (box.width === 0 || box.right <= width + 1) continue;
      let inside = false;
      for (let up = node.parentElement; up && up.id !== "app"; up = up.parentElement) {
        const style = getComputedStyle(up);
        // cut off on purpose, or in a box that scrolls; that box itself must fit
        if (style.overflowX !== "visible" && !up.matches(".detail, .list, .side")) inside = true;
      }
      if (!inside && !node.closest(".offscreen, dialog")) out.push(`${node.tagName}.${node.getAttribute("class")}`);
    }
    return out.slice(0, 5);
  });
  check(wide.length === 0, `${what}: overflows: ${wide.join(", ")}`);
}

async function picture(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: path.join(process.env.SCREENSHOTS, name + ".png") });
}

// Sizes and themes: every finding of a file is opened, and fits.
async function sizes(browser, file) {
  for (const width of [1280, 400])
    for (const colorScheme of ["light", "dark"]) {
      const page = await open(browser, file, { viewport: { width, height: 900 }, colorScheme });
      where = `${file} ${width} ${colorScheme}`;
      await fits(page, "list");
      const rows = Math.min(await count(page, ".row"), 8);
      for (let i = 0; i < rows; i++) {
        await page.locator(".row").nth(i).click();
        await fits(page, `finding ${i + 1}`);
        if (i === 0) await picture(page, `${file}-${width}-${colorScheme}`);
        if (width === 400) {
          check(await page.locator(".side").isHidden(), "the list is not hidden");
          await page.locator(".back").click();
        }
      }
      const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      same(back === "rgb(255, 255, 255)", colorScheme === "light", "light background");
      await page.context().close();
    }
}

async function filtersAndList(browser) {
  const page = await open(browser, "all.html");
  const all = await count(page, ".row");
  check(all >= 6, `only ${all} findings`);
  const found = () => text(page, ".found");
  same(await found(), `${all} findings`, "count");
  for (const name of ["kind", "verdict", "file"]) {
    const options = await page.locator(`#filter-${name} option`).evaluateAll((nodes) => nodes.map((node) => [node.value, node.textContent]));
    check(options.length > 2, `${name} has one value only`);
    let sum = 0;
    for (const [value, label] of options.slice(1)) {
      await page.selectOption(`#filter-${name}`, value);
      const wanted = Number(/\((\d+)\)$/.exec(label)[1]);
      same(await count(page, ".row"), wanted, `${name}=${value}`);
      sum += wanted;
    }
    if (name !== "file") same(sum, all, `${name}: all together`);
    await page.selectOption(`#filter-${name}`, "");
  }
  // text
  await page.keyboard.press("/");
  await page.keyboard.type("DEADLOCK lock");
  check((await count(page, ".row")) >= 1, "no deadlock by text");
  for (const title of await page.locator(".row .what").allInnerTexts()) check(/deadlock/i.test(title), `'${title}' is no deadlock`);
  await page.fill("#filter-text", "no such word anywhere");
  same(await count(page, ".row"), 0, "rows for nonsense");
  check(await page.locator(".none").isVisible(), "does not say that nothing fits");
  await page.fill("#filter-text", "");
  same(await count(page, ".row"), all, "rows again");
  await page.keyboard.press("Escape");
  // the verdicts in the head are filters too
  await page.locator("header .tally .chip").first().click();
  check((await count(page, ".row")) < all, "the head's verdict is no filter");
  await page.locator("header .tally .chip").first().click();
  same(await count(page, ".row"), all, "the head's verdict again");
  // sort and group
  await page.selectOption("#filter-sort", "variable");
  const names = await page.locator(".row").evaluateAll((nodes) => nodes.sort((a, b) => a.offsetTop - b.offsetTop).map((node) => node.querySelector(".what").textContent.replace(/^.* on /, "")));
  same(names.join(), [...names].sort((a, b) => a.localeCompare(b)).join(), "sorted by variable");
  for (const group of ["kind", "verdict", "file", "variable", "harm"]) {
    await page.selectOption("#filter-group", group);
    const counts = await page.locator(".heading .count").allInnerTexts();
    same(counts.reduce((sum, one) => sum + Number(one), 0), all, `group ${group}`);
  }
  await page.selectOption("#filter-group", "");
  await page.selectOption("#filter-sort", "report");
  // keys
  const title = () => text(page, ".detail h2");
  await page.locator(".list").focus();
  await page.locator(".row").first().click();
  const first = await title();
  await page.keyboard.press("j");
  check((await title()) !== first || all === 1, "j does not go on");
  await page.keyboard.press("k");
  same(await title(), first, "k");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  same(await title(), first, "arrows");
  await page.keyboard.press("?");
  check(await page.locator("dialog").isVisible(), "no help");
  await page.locator("dialog button").click();
  check(await page.locator("dialog").isHidden(), "help stays");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await background();
  await page.keyboard.press("t");
  check((await background()) !== before, "t does not change the theme");
  await page.locator("#theme").click();
  same(await background(), before, "theme by button");
  // a link to a finding
  const address = page.url();
  check(address.includes("#"), "no link to a finding");
  await page.keyboard.press("j");
  const second = page.url();
  await page.goto("about:blank");
  await page.goto(second);
  same(page.url(), second, "a link opens its finding");
  // coverage
  await page.locator("#coverage").click();
  check((await count(page, "polyline.growth")) === 4, "no growth of four criteria");
  await fits(page, "coverage");
  await page.context().close();
}

async function orders(browser) {
  const page = await open(browser, "deadlock.html");
  same(await count(page, "svg.order"), 2, "orders side by side");
  check((await count(page, ".panel.bad")) === 1, "which order goes wrong is not said");
  check((await count(page, "rect.section")) >= 4, "no critical sections");
  check((await count(page, ".legend .swatch")) === 2, "two locks have no colours");
  check((await count(page, "path.arrow.sync")) >= 2, "no arrows of synchronisation");
  same(await count(page, ".panel.bad .step.next"), 2, "steps that are next");
  same(await count(page, ".panel.bad .mark"), 2, "marked steps");
  const boxes = await page.locator(".panel").evaluateAll((nodes) => nodes.map((node) => node.getBoundingClientRect().top));
  same(boxes[0], boxes[1], "side by side");
  // the slider, the keys and a click step; source lines are lit
  const current = () => page.locator(".panel.active .step.current").getAttribute("data-row");
  await page.locator(".slider").first().fill("3");
  same(await current(), "2", "slider");
  await page.locator(".slider").first().evaluate((node) => node.blur());
  await page.keyboard.press("ArrowRight");
  same(await current(), "3", "right");
  await page.keyboard.press("ArrowLeft");
  same(await current(), "2", "left");
  await page.keyboard.press("End");
  const rows = await count(page, ".panel.active .step");
  same(await current(), String(rows - 1), "end");
  same(await count(page, ".code.lit"), 1, "lit lines");
  const lit = await text(page, ".code.lit .text");
  check(/lock/.test(lit), `the lit line is '${lit}'`);
  await page.keyboard.press("Home");
  same(await current(), "0", "home");
  check((await count(page, ".panel.active .step.later")) === rows - 1, "later steps are not faint");
  await page.keyboard.press("o");
  check((await count(page, ".panel.bad.active")) === 0, "o does not change the order");
  await page.locator(".panel.bad .step.marked").first().click();
  check((await count(page, ".panel.bad.active")) === 1, "a click does not choose the order");
  same(await count(page, ".panel:not(.active) .band.linked"), 1, "the same event in the other order");
  await page.locator(".steps button").first().click();
  await page.locator(".steps button").last().click();
  // stacks, locks, words
  const body = await text(page, ".detail");
  for (const word of ["holds", "Each waits for the other", "Usual repairs", "transfer"]) check(body.includes(word), `'${word}' is not there`);
  await page.context().close();
}

async function replay(browser) {
  const page = await open(browser, "hunt.html", { permissions: ["clipboard-read", "clipboard-write"] });
  const command = await text(page, ".command code");
  check(/^heddle replay .* -- /.test(command), `replay command '${command}'`);
  await page.locator(".command .copy").click();
  await page.waitForFunction(() => document.querySelector(".command .copy").textContent === "copied");
  same(await page.evaluate(() => navigator.clipboard.readText()), command, "copied");
  await page.waitForFunction(() => document.querySelector(".command .copy").textContent === "copy");
  await page.keyboard.press("y");
  await page.waitForFunction(() => document.querySelector(".command .copy").textContent === "copied");
  same(await count(page, "svg.order"), 4, "observed, wrong, passing, failing");
  check((await count(page, "path.arrow.reads")) >= 1, "no reads-from");
  await page.context().close();
}

async function fromSource(browser) {
  let page = await open(browser, "lint.html");
  check((await count(page, ".causal .cause-box")) >= 3, "no causal graph");
  check((await count(page, ".causal .conflict")) >= 1, "nothing comes in between");
  await page.keyboard.press("ArrowRight");
  same(await count(page, ".cause-box.current"), 1, "causes step");
  same(await count(page, ".code.lit"), 1, "lit line of a cause");
  await page.locator(".card .no").last().click();
  same(await count(page, ".code.lit"), 1, "lit line of an event");
  await page.context().close();
  page = await open(browser, "mine.html");
  check((await count(page, "table.rules tbody tr")) >= 1, "no rules");
  check((await count(page, "table.rules li")) >= 5, "no functions that keep the rule");
  await page.context().close();
}

// What others wrote is shown as it is and obeyed nowhere.
async function hostile(browser) {
  const page = await open(browser, "hostile.html");
  same(await page.evaluate(() => window.hit === undefined && document.querySelectorAll("img, iframe, script[src], object").length), 0, "something ran or was made");
  const body = await text(page, ".detail");
  check(body.includes("</script><script>window.hit=1</script>"), "the source line is not shown");
  check(body.includes("\\u2028") && body.includes("\\x01") && body.includes("\\xff") && body.includes("\\u202e"), "odd characters are not shown as numbers");
  check((await text(page, ".detail h2")).includes("<img src=x onerror=window.hit=2>"), "the variable is not shown");
  await page.context().close();
  const plain = await open(browser, "hostile.html", { javaScriptEnabled: false });
  const noscript = await text(plain, "noscript pre");
  check(noscript.includes("</script><script>window.hit=1</script>"), "without JavaScript the line is not shown");
  check(noscript.includes("Schedule"), "without JavaScript there is no schedule");
  await plain.context().close();
}

async function many(browser) {
  const start = Date.now();
  const page = await open(browser, "many.html");
  same(await text(page, ".found"), "10,000 findings", "findings");
  const loaded = Date.now() - start;
  check((await count(page, ".row")) < 100, "rows that are not seen exist");
  await page.locator(".list").evaluate((node) => { node.scrollTop = node.scrollHeight; });
  await page.waitForFunction(() => [...document.querySelectorAll(".row .what")].some((node) => node.textContent.endsWith("_9999")));
  await page.fill("#filter-text", "_7777");
  same(await count(page, ".row"), 1, "one by text");
  if (process.env.SCREENSHOTS) console.log(`10,000 findings: ${loaded} ms until they are shown`);
  await page.context().close();
  const long = await open(browser, "long.html");
  await long.locator(".strip summary").click();
  check((await count(long, "rect.turn")) > 10, "the whole witness is not drawn");
  check((await count(long, ".step")) < 150, "a long witness is not folded");
  await fits(long, "long witness");
  await long.context().close();
}

(async () => {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  try {
    for (const file of ["deadlock.html", "hunt.html", "lint.html", "mine.html", "all.html"]) await sizes(browser, file);
    await filtersAndList(browser);
    await orders(browser);
    await replay(browser);
    await fromSource(browser);
    await hostile(browser);
    await many(browser);
  } catch (error) {
    check(false, error.stack);
  }
  await browser.close();
  process.exit(failures === 0 ? 0 : 1);
})();
