// SPDX-License-Identifier: MIT OR Apache-2.0
// Wheel, pointer and keys.

/** Pixels of the wheel for another height of rows. */
const TURN = 60;

/** Pixels that a pointer moves before a press is a drag. */
const STILL = 4;

/** Wheel, drag and click on a panel with the axis of time. */
function listenTo(panel, { hover, click, scrolls, resize }) {
  const canvas = panel.top;
  let turned = 0;
  const resizeAt = (event, dy) => {
    turned += dy;
    if (Math.abs(turned) < TURN) return;
    resize(turned < 0 ? 1 : -1, event.offsetY);
    turned = 0;
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const size = event.deltaMode === 1 ? 16 : 1;
    const [dx, dy] = [event.deltaX * size, event.deltaY * size];
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) return pan((event.shiftKey && dx === 0 ? dy : dx) / panel.width);
    if (event.ctrlKey) return resize && Math.abs(dy) > 0 && resizeAt(event, dy);
    if (event.altKey || (scrolls && event.offsetX < GUTTER)) return scrollBy(panel, dy);
    return zoom(1.0016 ** Math.max(Math.min(dy, 400), -400), timeAt(event.offsetX, panel.width));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    const start = { x: event.offsetX, y: event.offsetY, from: view.from, to: view.to, scroll: panel.scroll ?? 0 };
    const ranging = event.offsetY < RULER;
    const choosing = event.shiftKey;
    let dragged = false;
    const move = (event) => {
      const [dx, dy] = [event.offsetX - start.x, event.offsetY - start.y];
      dragged ||= Math.hypot(dx, dy) > STILL;
      if (!dragged) return;
      const time = Math.min(Math.max(timeAt(event.offsetX, panel.width), view.from), view.to);
      if (choosing) setMark(Math.min(Math.max(start.from + ((start.x - GUTTER) / (panel.width - GUTTER)) * (start.to - start.from), start.from), start.to));
      if (choosing || ranging) return moveCursor(time);
      const by = (dx / (panel.width - GUTTER)) * (start.to - start.from);
      const [first, last] = extent(view.run);
      const bounded = Math.min(Math.max(-by, first - start.from), last - start.to);
      showRange(start.from + bounded, start.to + bounded);
      if (scrolls) panel.scroll = start.scroll - dy;
    };
    const up = (event) => {
      canvas.removeEventListener("pointermove", move);
      canvas.removeEventListener("pointerup", up);
      canvas.removeEventListener("pointercancel", up);
      if (!dragged && event.type === "pointerup") click(event);
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons === 0) showTip(event, hover(event));
    else hideTip();
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", (event) => {
    if (event.offsetX >= GUTTER) return zoom(0.25, timeAt(event.offsetX, panel.width));
    const found = panel === threadsPanel ? groupsAt(event.offsetY) : undefined;
    if (found && (!found.bundle || found.groups.length === 1)) pin(found.groups.map(({ key }) => key));
  });
}

function scrollBy(panel, pixels) {
  panel.scroll = (panel.scroll ?? 0) + pixels;
  panel.redraw();
}

/** Lines about a message. */
function messageLines(row) {
  const { run } = view;
  const { message, stage } = run;
  const lines = [`#${row + 1}: rank ${message.from[row]} → rank ${message.to[row]}, ${plural(message.bytes[row], "byte")}`];
  if (Number.isNaN(message.total[row])) return [...lines, "not done when recording ended"];
  const longest = message.longest[row];
  lines.push(`${duration(message.total[row], run)} from post to done`);
  if (longest >= 0) lines.push(`longest stage: ${words(stage.names[stage.what[longest]])}, ${duration(stage.time[longest], run)}`);
  return lines;
}

function hoverThreads(event) {
  const { run } = view;
  if (event.offsetX < GUTTER) return labelLines(groupsAt(event.offsetY));
  const { time, span, thread, message, row } = threadsAt(event.offsetX, event.offsetY);
  if (row) return [row.label, `${plural(row.threads.length, "thread")} at ${moment(time, run)}`, ...activeAt(row, time)];
  if (span === undefined && message >= 0) return messageLines(message);
  if (span === undefined) return [];
  const count = run.span.count[span];
  const name = words(run.names[run.span.what[span]]);
  return [name + (count > 1 ? ` × ${count}` : ""), thread.name, `${duration(run.span.time[span], run)} from ${moment(run.span.begin[span], run)}`, `at ${moment(time, run)}`];
}

function labelLines(found) {
  if (!found) return [];
  const { groups, bundle } = found;
  const names = groups.slice(0, 6).map(({ key, node, task }) => (task === null ? key : `${key} on node ${node}`));
  if (groups.length > 6) names.push(`and ${groups.length - 6} more`);
  return [...names, bundle && groups.length > 1 ? "click: apart or together" : "click: its node; double click: pin"];
}

/** How many threads of a row do what at a time. */
function activeAt(row, time) {
  const { span, threads, categories } = view.run;
  const counts = CATEGORIES.map(() => 0);
  for (const index of row.threads) {
    const at = spanAt(span.begin, threads[index].from, threads[index].to, time);
    if (at >= 0 && time <= span.begin[at] + span.time[at]) counts[categories[span.what[at]]]++;
  }
  return counts.map((count, category) => [count, category]).filter(([count]) => count > 0).map(([count, category]) => `${count}: ${CATEGORY_WORDS[CATEGORIES[category]]}`);
}

/** A click on the name of a row: of several ranks it opens; of one, its node's card. */
function clickLabel(found) {
  if (!found) return;
  if (found.bundle && found.groups.length > 1) return openBundle(found.bundle.key);
  selectPlace({ node: found.groups[0].node });
}

function clickThreads(event) {
  if (event.offsetX < GUTTER) return clickLabel(groupsAt(event.offsetY));
  const { time, message } = threadsAt(event.offsetX, event.offsetY);
  moveCursor(time);
  const row = message >= 0 ? message : arrowAt(event.offsetX, event.offsetY);
  if (row >= 0) select(row);
}

/** The message whose arrow is nearest to a place, within some pixels, or -1. */
function arrowAt(x, y) {
  if (!view.arrows) return -1;
  let best = -1;
  let distance = 5;
  for (const row of arrowsInView()) {
    const ends = arrowOf(row, threadsPanel.width, threadsPanel.scroll ?? 0);
    if (!ends) continue;
    const [x1, y1, x2, y2] = ends;
    const [dx, dy] = [x2 - x1, y2 - y1];
    const share = Math.min(Math.max(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1), 0), 1);
    const away = Math.hypot(x1 + share * dx - x, y1 + share * dy - y);
    if (away < distance) [best, distance] = [row, away];
  }
  return best;
}

function hoverStrip(event) {
  const { run } = view;
  const { time, link, hop, pixel, within } = stripAt(event.offsetX, event.offsetY);
  if (!link) return [];
  const lines = [`link ${link.name} of node ${link.node} to node ${link.to}`];
  if (within) lines.unshift(`${within}: the busiest of their links is`);
  if (pixel === undefined) return [...lines, `load ${percent(loadOf(run, link, view.from, view.to))} in what is shown`];
  lines.push(`load ${percent(loadOf(run, link, time - pixel / 2, time + pixel / 2))} at ${moment(time, run)}`);
  if (hop >= 0) lines.push(`${ownerOf(run, hop).text}: ${plural(run.hop.flits[hop], "flit")}, channel ${run.hop.channel[hop]}`);
  return lines;
}

function clickStrip(event) {
  const { time, link, hop } = stripAt(event.offsetX, event.offsetY);
  if (event.offsetX >= GUTTER) moveCursor(time);
  if (!link) return;
  selectPlace({ link: link.index });
  const row = hop >= 0 ? ownerOf(view.run, hop).row : -1;
  if (row >= 0) select(row);
}

/** The overview moves and sizes the span that is shown. */
function listenToOverview() {
  const canvas = overviewPanel.top;
  const time = (event) => overviewTime(event.offsetX, overviewPanel.width);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(1.0016 ** event.deltaY, time(event));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const start = event.offsetX;
    const whole = view.to - view.from > (extent(view.run)[1] - extent(view.run)[0]) * 0.98;
    const inside = !whole && time(event) >= view.from && time(event) <= view.to;
    const held = time(event) - view.from;
    const length = view.to - view.from;
    const move = (event) => {
      if (inside) showRange(time(event) - held, time(event) - held + length);
      else if (Math.abs(event.offsetX - start) > STILL) {
        const ends = [overviewTime(start, overviewPanel.width), time(event)].sort((a, b) => a - b);
        showRange(...ends);
      }
    };
    const up = (event) => {
      canvas.removeEventListener("pointermove", move);
      canvas.removeEventListener("pointerup", up);
      if (Math.abs(event.offsetX - start) > STILL) return;
      moveCursor(time(event));
      if (!inside && !whole) showRange(time(event) - length / 2, time(event) + length / 2);
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", up);
  });
}

function listenToTorus() {
  const canvas = torusPanel.top;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const before = camera.zoom;
    camera.zoom = Math.min(Math.max(camera.zoom * 1.0016 ** -event.deltaY, 0.5), 30);
    const [x, y] = [event.offsetX - torusPanel.width / 2 - camera.x, event.offsetY - torusPanel.height / 2 - camera.y];
    camera.x -= x * (camera.zoom / before - 1);
    camera.y -= y * (camera.zoom / before - 1);
    torusPanel.redraw();
  }, { passive: false });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) {
      camera.x += event.movementX;
      camera.y += event.movementY;
      hideTip();
      return torusPanel.redraw();
    }
    const node = torusNodeAt(event.offsetX, event.offsetY);
    const found = node < 0 ? torusAt(event.offsetX, event.offsetY) : undefined;
    if (node >= 0) return showTip(event, nodeLines(node));
    return showTip(event, found ? [`link ${found.link.name} of node ${found.link.node} to node ${found.link.to}`, `load ${percent(found.load)}`] : []);
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const node = torusNodeAt(event.offsetX, event.offsetY);
    const found = node < 0 ? torusAt(event.offsetX, event.offsetY) : undefined;
    selectPlace({ link: found ? found.link.index : -1, node });
    if (node >= 0) revealNode(node);
  });
  canvas.addEventListener("dblclick", () => {
    Object.assign(camera, { zoom: 1, x: 0, y: 0 });
    torusPanel.redraw();
  });
}

function nodeLines(node) {
  const tasks = ranksOf(view.run, node);
  const at = torus().nodes[node].at.slice(0, view.head.shape.length);
  const failed = view.head.failure?.node === node ? ["the run has failed here"] : [];
  return [`node ${node}`, ...failed, `at (${at.join(", ")})`, ...(tasks.length > 0 ? [`rank${tasks.length > 1 ? "s" : ""} ${tasks.join(", ")}`] : [])];
}

/** Keys: how they are written, what they do, and the doing by key. */
const KEYS = [
  ["w s + -", "zoom in, out at the cursor", { w: () => zoom(0.7, view.cursor), s: () => zoom(1 / 0.7, view.cursor), "+": () => zoom(0.7, view.cursor), "-": () => zoom(1 / 0.7, view.cursor) }],
  ["a d", "move left, right", { a: () => pan(-0.2), d: () => pan(0.2) }],
  ["← →", "cursor by a pixel; with Shift by ten", { ArrowLeft: (event) => stepCursor(event.shiftKey ? -10 : -1), ArrowRight: (event) => stepCursor(event.shiftKey ? 10 : 1) }],
  ["0 Home", "the whole run", { 0: () => showRange(...extent(view.run)), Home: () => showRange(...extent(view.run)) }],
  ["r e", "rows taller, lower", { r: () => resizeRows(1), e: () => resizeRows(-1) }],
  ["g v", "rows of links taller, lower", { g: () => resizeLinks(1), v: () => resizeLinks(-1) }],
  ["↑ ↓", "scroll the rows", { ArrowUp: () => scrollBy(threadsPanel, -60), ArrowDown: () => scrollBy(threadsPanel, 60) }],
  ["k", "pin the rows of the selected node, or let them go", { k: () => view.node >= 0 && pin(view.run.groups.filter(({ node }) => node === view.node).map(({ key }) => key)) }],
  ["x", "second cursor here, or none", { x: () => setMark(Number.isNaN(view.mark) ? view.cursor : NaN) }],
  ["z", "zoom to the span between the cursors", { z: () => !Number.isNaN(view.mark) && showRange(...chosenSpan()) }],
  ["/", "search", { "/": () => searching.field.focus() }],
  ["n p", "next, previous message", { n: () => select(view.message + 1, true), p: () => select(Math.max(view.message - 1, 0), true) }],
  ["f", "zoom to the selected message", { f: () => view.message >= 0 && fitMessage(view.message) }],
  ["c", "critical path lit or not", { c: () => { view.path = !view.path; changed("rows"); } }],
  ["m", "messages as arrows or not", { m: () => { view.arrows = !view.arrows; changed("rows"); } }],
  ["u", "cycles or seconds", { u: () => toggleUnits() }],
  ["t", "light or dark", { t: () => toggleScheme() }],
  ["space", "let time pass, or stop it", { " ": () => togglePlay() }],
  ["?", "this list", { "?": () => parts.help.showModal() }],
  ["Esc", "select nothing; no second cursor", { Escape: () => { Object.assign(view, { link: -1, node: -1, mark: NaN }); select(-1); changed("cursor", "place"); } }],
];

/** What the pointer does. */
const POINTER = [
  ["wheel", "zoom at the pointer"],
  ["Shift + wheel, drag", "move in time"],
  ["Ctrl + wheel", "taller or lower rows"],
  ["wheel over names, Alt + wheel", "scroll the rows"],
  ["click", "cursor; select a message, a link or a node; over a name: its node, or the ranks of the row apart"],
  ["Shift + drag", "choose a span for its statistics"],
  ["double click", "zoom in; over a name: pin it"],
  ["drag on the ruler", "move the cursor"],
  ["drag in the whole run", "choose what is shown"],
  ["drag a divider", "size the parts; double click: as it was"],
];

function stepCursor(pixels) {
  moveCursor(view.cursor + (pixels * (view.to - view.from)) / Math.max(threadsPanel.width - GUTTER, 1));
}

function listenToKeys() {
  const actions = Object.assign({}, ...KEYS.map(([, , actions]) => actions));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || (event.key === " " && event.target.tagName === "BUTTON")) return;
    event.preventDefault();
    action(event);
  });
}
