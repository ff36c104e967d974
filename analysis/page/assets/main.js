// SPDX-License-Identifier: MIT OR Apache-2.0
// The page.

/** Seconds in which time passes the span that is shown. */
const PLAY_SECONDS = 10;

/** Cycles that are shown around a failure. */
const BEFORE = 1000;

/** Milliseconds after which statistics follow a span that has changed. */
const REST = 90;

const root = document.getElementById("page");
const parts = {};
let playing = false;

/** A sentence that says how it went. */
function verdictOf(head, run) {
  const { figures, failure } = head;
  if (failure) return failure.text.split("\n")[0];
  if (run.analysis) return run.analysis.verdict;
  const cycles = figures?.makespan_cycles ?? figures?.cycles;
  const count = head.runs.length;
  const without = run.unanalysed ? ` ${run.unanalysed}.` : "";
  if (figures?.makespan_cycles !== undefined) {
    const verified = figures.verified ? ", all verified" : "";
    return `The program took ${plural(cycles, "cycle")} (${seconds(cycles * run.cycle)}) for ${plural(figures.messages, "message")} with ${plural(figures.bytes, "byte")}${verified}. ${loadSentence(run)}${without}`;
  }
  const machine = count > 1 ? `Machine ${run.number + 1} of ${count} ran` : "The machine ran";
  const messages = run.message.count > 0 ? `, with ${plural(run.message.count, "message")}` : ", without a driver: the events are the hardware's alone";
  return `${machine} for ${plural((run.end - run.start) / run.cycle, "cycle")} (${seconds(run.end - run.start)})${messages}. ${loadSentence(run)}${without}`;
}

function loadSentence(run) {
  const [from, to] = extent(run);
  let most;
  let load = 0;
  for (const link of run.links) {
    const own = loadOf(run, link, from, to);
    if (own > load) [most, load] = [link, own];
  }
  return most ? `The busiest link, ${most.name} of node ${most.node}, carried a flit in ${percent(load)} of the cycles.` : "No link carried a flit.";
}

function tiles(head, run) {
  const tile = (name, value, more) => make("div", { class: "tile", "data-tile": name }, make("small", {}, name), make("b", {}, value), more ? make("small", {}, more) : "");
  const figures = head.figures ?? {};
  const list = [];
  if (figures.makespan_cycles !== undefined) list.push(tile("makespan", whole(figures.makespan_cycles), `cycles, ${seconds(figures.makespan_cycles * run.cycle)}`));
  else list.push(tile("recorded", whole((run.end - run.start) / run.cycle), `cycles, ${seconds(run.end - run.start)}`));
  if (run.threads.length > 0) list.push(tile("messages", whole(figures.messages ?? run.message.count), figures.bytes === undefined ? "" : `${whole(figures.bytes)} B`));
  list.push(tile("packets on links", whole(run.hop.begin.length), `${whole(run.used.length)} of ${plural(run.links.length, "link")} used`));
  if (figures.verified !== undefined) list.push(tile("verified", figures.verified ? "yes" : "no", ""));
  return list;
}

function build(head) {
  const several = head.runs.length > 1;
  parts.verdict = make("p", { id: "verdict" });
  parts.tiles = make("div", { id: "tiles" });
  parts.units = button("", "cycles or seconds (u)", toggleUnits);
  const machines = head.runs.map((run, number) => make("option", { value: String(number) }, `machine ${number + 1} of ${head.runs.length}`));
  parts.slider = make("input", { type: "range", min: "0", max: "100000", step: "1", "aria-label": "cursor", oninput: () => { const [from, to] = extent(view.run); moveCursor(from + (parts.slider.value / 100000) * (to - from)); } });
  parts.time = make("output", {});
  parts.play = button("▶", "let time pass (space)", togglePlay);
  const spans = [["0", "1/100 of the view"], ["64", "64 cycles"], ["256", "256 cycles"], ["1024", "1,024 cycles"], ["4096", "4,096 cycles"], ["16384", "16,384 cycles"], ["-1", "all that is shown"]];
  parts.span = make("small", {});
  parts.unused = make("span", {});
  parts.legend = make("canvas", { class: "ramp", width: "256", height: "1" });
  const check = (key, text) => make("label", { class: "check" }, make("input", { type: "checkbox", "data-look": key, checked: view[key], onchange: (event) => { view[key] = event.target.checked; changed("rows"); } }), text);
  const cat = (name) => make("span", {}, make("i", { class: `dot cat-${name}` }), CATEGORY_WORDS[name]);
  const stage = (name) => make("span", {}, make("i", { class: `dot stage-${name}` }), GROUPS[name]);
  const hasPath = head.runs.some((run) => run.analysis);
  parts.help = make("dialog", { id: "help" },
    make("h2", {}, "Keys and pointer"),
    make("table", { class: "grid" }, make("tbody", {},
      ...KEYS.map(([keys, text]) => make("tr", {}, make("td", {}, ...keys.split(" ").flatMap((key) => [make("kbd", {}, key), " "])), make("td", {}, text))),
      ...POINTER.map(([what, text]) => make("tr", {}, make("td", {}, what), make("td", {}, text))),
    )),
    button("close", "", () => parts.help.close()),
  );
  root.replaceChildren(
    make("header", { id: "top" },
      make("strong", {}, "Gyre"), make("h1", {}, head.title), make("span", { class: "chip" }, `${head.shape.join("x")} ${machineWords(head)}`),
      several ? make("select", { id: "machines", "aria-label": "machine", onchange: (event) => showRun(head.runs[Number(event.target.value)]) }, ...machines) : "",
      make("span", { class: "spacer" }), searchField(),
      parts.units, button("◐", "light or dark (t)", toggleScheme), button("?", "keys (?)", () => parts.help.showModal()),
    ),
    make("div", { id: "summary" }, parts.verdict, parts.tiles),
    make("main", {},
      make("div", { id: "lanes" },
        overviewPanel.element,
        make("div", { class: "legend of-ranks" }, ...CATEGORIES.slice(0, 4).map(cat), make("span", { class: "spacer" }), ...rowChoices(head), hasPath ? check("path", "critical path") : "", check("arrows", "arrows of messages")),
        threadsPanel.element,
        make("div", { class: "legend of-ranks" }, make("span", {}, "messages by their longest stage:"), ...Object.keys(GROUPS).map(stage)),
        splitter("divider", "row", () => stripPanel.element, 60),
        stripPanel.element,
        make("div", { class: "legend" }, make("span", {}, "load of a link, flits a cycle:"), make("span", { class: "scale" }, parts.legend, ...[0, 0.01, 0.1, 0.25, 0.5, 1].map((load) => make("i", { style: `left:${Math.sqrt(load) * 100}%` }, String(load)))), parts.unused),
      ),
      splitter("divider of columns", "column", () => parts.side, 300),
      parts.side = make("aside", {},
        torusPanel.element,
        splitter("divider of the torus", "row", () => torusPanel.element, 120, true),
        make("div", { id: "time" }, parts.play, parts.slider, parts.time),
        make("div", { class: "legend" }, make("label", {}, "load over ", make("select", { onchange: (event) => { loadCycles = Number(event.target.value); torusPanel.redraw(); spanText(); } }, ...spans.map(([value, text]) => make("option", { value, selected: Number(value) === loadCycles }, text)))), parts.span),
        tabs(head),
      ),
    ),
    tip, parts.help,
  );
}

function machineWords({ shape, mesh }) {
  const lines = shape.map((_, d) => mesh[d] === true);
  if (lines.every((line) => line)) return "mesh";
  const letters = lines.flatMap((line, d) => (line ? ["abcde"[d]] : []));
  return letters.length > 0 ? `torus, ${letters.join("")} without wrap` : "torus";
}

/** A bar that sizes a part along an axis; the part is before the bar, or behind it. */
function splitter(name, axis, part, least, before = false) {
  const bar = make("div", { class: `splitter ${axis}`, title: "drag to size; double click: as it was", role: "separator", "aria-label": name });
  const [place, length] = axis === "row" ? ["clientY", "offsetHeight"] : ["clientX", "offsetWidth"];
  const size = (pixels) => {
    const most = part().parentElement[length] - 160;
    part().style.flex = `0 0 ${Math.min(Math.max(pixels, least), most)}px`;
  };
  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    const [start, had] = [event[place], part()[length]];
    const move = (event) => size(had + (before ? event[place] - start : start - event[place]));
    const up = () => bar.removeEventListener("pointermove", move);
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", up, { once: true });
  });
  bar.addEventListener("dblclick", () => (part().style.flex = ""));
  return bar;
}

/** Choices of the order of rows, and of nodes that share one. */
function rowChoices(head) {
  const options = (list, chosen) => list.map(([value, text]) => make("option", { value: String(value), selected: String(value) === String(chosen) }, text));
  const together = [[-1, "what fits"], [0, "a rank"], ...togethers(head.shape).map((size) => [size, size === 1 ? "a node" : `${size} nodes`])];
  return [
    make("label", {}, "a row: ", make("select", { "data-rows": "together", onchange: (event) => arrange({ together: Number(event.target.value) }) }, ...options(together, rowing.together))),
    make("label", {}, "order: ", make("select", { "data-rows": "order", onchange: (event) => arrange({ order: event.target.value }) }, ...options(Object.entries(ORDERS).map(([key, [title]]) => [key, title]), rowing.order))),
  ];
}

/** Puts the cursor where the run has failed, and shows what came before. */
function showFailure() {
  const { failure } = view.head;
  if (!failure || typeof failure.ps !== "number") return;
  const { run } = view;
  const length = BEFORE * run.cycle;
  showRange(failure.ps - length * 0.85, failure.ps + length * 0.15);
  moveCursor(failure.ps);
  if (typeof failure.node === "number") Object.assign(view, { node: failure.node });
}

function tabs(head) {
  parts.figures = make("section", { "aria-label": "figures" });
  parts.failure = make("section", { "aria-label": "who waits for whom" });
  const messages = head.runs.some((run) => run.message.count > 0);
  const threads = head.runs.some((run) => run.threads.length > 0);
  // Those that something can fill.
  const pages = [
    ...(messages ? [["message", "Message", cardElement], ["messages", "Slowest", messagesElement], ["matrix", "Matrix", matrixElement]] : []),
    ["place", "Place", placeElement], ["span", "Span", spanElement],
    ...(threads ? [["why", "Time", whyElement]] : []), ["figures", "Figures", parts.figures],
  ];
  if (head.failure) pages.unshift(["failure", "Failure", parts.failure]);
  parts.pages = new Map(pages.map(([name, , element]) => [name, element]));
  parts.tabs = new Map(pages.map(([name, title]) => [name, make("button", { type: "button", role: "tab", onclick: () => openTab(name) }, title)]));
  return make("div", { id: "tabs" }, make("nav", { role: "tablist" }, ...parts.tabs.values()), ...parts.pages.values());
}

function openTab(name) {
  for (const [other, element] of parts.pages) element.hidden = other !== name;
  for (const [other, tab] of parts.tabs) tab.setAttribute("aria-selected", String(other === name));
  parts.open = name;
  renderLater();
}

/** Renders the open tab if it tells of a span, once that rests. */
function renderLater() {
  clearTimeout(parts.later);
  const render = { span: renderSpan, matrix: renderMatrix, place: renderPlace }[parts.open];
  if (render) parts.later = setTimeout(render, REST);
}

function spanText() {
  const [from, to] = loadSpan();
  parts.span.textContent = loadCycles < 0 || loadCycles > 0 ? "" : `${duration(to - from, view.run)} around the cursor`;
}

function toggleUnits() {
  units.cycles = !units.cycles;
  changed("look");
}

const darkSystem = matchMedia("(prefers-color-scheme: dark)");

/** The scheme that was chosen; none while it is the system's. */
let chosenScheme = null;

function applyScheme() {
  document.documentElement.dataset.scheme = chosenScheme ?? (darkSystem.matches ? "dark" : "light");
}

function toggleScheme() {
  chosenScheme = document.documentElement.dataset.scheme === "dark" ? "light" : "dark";
  applyScheme();
  changed("look");
}

applyScheme();

function togglePlay() {
  playing = !playing;
  parts.play.textContent = playing ? "⏸" : "▶";
  if (!playing) return;
  if (view.cursor >= view.to || view.cursor < view.from) moveCursor(view.from);
  let before = null;
  const step = (now) => {
    if (!playing) return;
    const passed = before === null ? 0 : Math.min(now - before, 100) / 1000;
    before = now;
    moveCursor(view.cursor + (passed / PLAY_SECONDS) * (view.to - view.from));
    if (view.cursor >= view.to) return togglePlay();
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

function drawLegend() {
  const context = parts.legend.getContext("2d");
  const image = context.createImageData(256, 1);
  colours.ramp.forEach((rgb, step) => image.data.set([...rgb, 255], 4 * step));
  context.putImageData(image, 0, 0);
}

function renderAll() {
  const { head, run } = view;
  parts.units.textContent = units.cycles ? "cycles" : "seconds";
  const machines = document.getElementById("machines");
  if (machines) machines.value = String(run.number);
  parts.verdict.textContent = verdictOf(head, run);
  parts.verdict.className = head.failure ? "bad" : "good";
  parts.tiles.replaceChildren(...tiles(head, run));
  const unused = run.links.length - run.used.length;
  parts.unused.textContent = unused > 0 ? `${plural(unused, "link")} without a flit left out` : "";
  root.classList.toggle("bare", run.threads.length === 0);
  renderCard();
  renderPlace();
  renderMessages();
  renderWhy();
  parts.figures.replaceChildren(...figuresOf(head));
  if (head.failure) parts.failure.replaceChildren(...failureOf(head));
}

/** Shows what has changed. */
function show(what) {
  if (what.has("look")) {
    readColours();
    drawLegend();
  }
  const all = what.has("run") || what.has("look");
  if (all) renderAll();
  else if (what.has("selection")) {
    renderCard();
    markChosen();
  }
  if (what.has("run") || what.has("rows")) layout = null;
  for (const box of document.querySelectorAll("[data-look]")) box.checked = view[box.dataset.look];
  if (what.has("place")) {
    renderPlace();
    if (view.link >= 0 || view.node >= 0) openTab("place");
  } else if (what.has("selection") && view.message >= 0) openTab("message");
  if (what.has("range") || what.has("cursor")) renderLater();
  const time = [threadsPanel, stripPanel, overviewPanel];
  for (const panel of time) {
    const redraws = all || what.has("rows") || (what.has("range") && panel !== overviewPanel);
    if (redraws) panel.redraw();
    else panel.remark();
  }
  torusPanel.redraw();
  const [from, to] = extent(view.run);
  parts.slider.value = String(Math.round(((view.cursor - from) / (to - from)) * 100000));
  parts.time.textContent = moment(view.cursor, view.run);
  spanText();
}

async function start() {
  try {
    view.head = await opened();
  } catch (error) {
    root.replaceChildren(make("p", { id: "notice", class: "bad" }, error.message));
    return;
  }
  const { head } = view;
  if (head.runs.length === 0) {
    root.replaceChildren(make("p", { id: "notice", class: "bad" }, head.failure ? head.failure.text : "No machine has run."));
    return;
  }
  for (const run of head.runs) Object.assign(run, { roles: head.roles, groups: groupsOf(run) });
  // Hardware alone is seen as a whole.
  if (head.runs.every((run) => run.threads.length === 0)) loadCycles = -1;
  readColours();
  build(head);
  drawLegend();
  listen(show);
  listenTo(threadsPanel, { hover: hoverThreads, click: clickThreads, scrolls: true, resize: resizeRows });
  listenTo(stripPanel, { hover: hoverStrip, click: clickStrip, scrolls: true, resize: resizeLinks });
  listenToOverview();
  listenToTorus();
  listenToKeys();
  darkSystem.addEventListener("change", () => {
    applyScheme();
    changed("look");
  });
  if (typeof head.failure?.cycle === "number") head.failure.ps = head.failure.cycle * head.runs.at(-1).cycle;
  // A failure is that of the last machine.
  showRun(head.runs[head.failure ? head.runs.length - 1 : 0]);
  showFailure();
  openTab(head.failure ? "failure" : view.run.analysis ? "why" : view.run.message.count > 0 ? "messages" : "figures");
  // For programs that look at the page.
  window.gyre = { view, head, KEYS, select, selectPlace, showRange, moveCursor, setMark, arrange, waveCommand, wayOf, packetsOf, messageSpot, rankSpot, nodeSpot, loadSpan };
}

/** Where a message is drawn in the timeline of ranks, in pixels of the window. */
function messageSpot(row) {
  const box = threadsPanel.top.getBoundingClientRect();
  const [left, right] = messageSpan(row, threadsPanel.width);
  const [top, height] = messagePlace(row);
  return { x: box.left + (left + right) / 2, y: box.top + top + height / 2 };
}

/** Where a rank's name is, in pixels of the window, and the pixels that its row has in view. */
function rankSpot(task) {
  const row = rowLayout().rows.find(({ bundle, group }) => (bundle?.groups ?? (group ? [group] : [])).some((own) => own.task === task));
  const box = threadsPanel.top.getBoundingClientRect();
  const top = row.y - (threadsPanel.scroll ?? 0) + RULER;
  const height = Math.min(top + row.height, threadsPanel.height) - Math.max(top, RULER);
  return { x: box.left + GUTTER / 2, y: box.top + top + row.height / 2, height, shared: row.bundle ? row.bundle.groups.length : 1 };
}

/** Where a node is in the torus, in pixels of the window. */
function nodeSpot(node) {
  const box = torusPanel.top.getBoundingClientRect();
  const [x, y] = projection(torusPanel.width, torusPanel.height).at(torus().nodes[node]);
  return { x: box.left + x, y: box.top + y };
}

start();
