// SPDX-License-Identifier: MIT OR Apache-2.0
// Wheel, pointer and keys.

/** Pixels that a pointer moves before a press is a drag. */
const STILL = 4;

/** Wheel, drag and click on a panel with the axis of time. */
function listenTo(panel, { hover, click, scrolls }) {
  const canvas = panel.top;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const size = event.deltaMode === 1 ? 16 : 1;
    const [dx, dy] = [event.deltaX * size, event.deltaY * size];
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) return pan((event.shiftKey && dx === 0 ? dy : dx) / panel.width);
    if (event.altKey || (scrolls && event.offsetX < GUTTER)) return scrollBy(panel, dy);
    return zoom(1.0016 ** Math.max(Math.min(dy, 400), -400), timeAt(event.offsetX, panel.width));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    const start = { x: event.offsetX, y: event.offsetY, from: view.from, to: view.to, scroll: panel.scroll ?? 0 };
    const ranging = event.offsetY < RULER || event.shiftKey;
    let dragged = false;
    const move = (event) => {
      const [dx, dy] = [event.offsetX - start.x, event.offsetY - start.y];
      dragged ||= Math.hypot(dx, dy) > STILL;
      if (!dragged) return;
      if (ranging) return moveCursor(timeAt(event.offsetX, panel.width));
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
  canvas.addEventListener("dblclick", (event) => zoom(0.25, timeAt(event.offsetX, panel.width)));
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
  const { time, span, thread, message } = threadsAt(event.offsetX, event.offsetY);
  if (span === undefined && message >= 0) return messageLines(message);
  if (span === undefined) return [];
  const count = run.span.count[span];
  const name = words(run.names[run.span.what[span]]);
  return [name + (count > 1 ? ` × ${count}` : ""), thread.name, `${duration(run.span.time[span], run)} from ${moment(run.span.begin[span], run)}`, `at ${moment(time, run)}`];
}

function clickThreads(event) {
  const { time, message } = threadsAt(event.offsetX, event.offsetY);
  if (event.offsetX >= GUTTER) moveCursor(time);
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
  const { time, link, hop, pixel } = stripAt(event.offsetX, event.offsetY);
  if (!link) return [];
  const lines = [`link ${link.name} of node ${link.node} to node ${link.to}`];
  if (pixel === undefined) return [...lines, `load ${percent(loadOf(run, link, view.from, view.to))} in what is shown`];
  lines.push(`load ${percent(loadOf(run, link, time - pixel / 2, time + pixel / 2))} at ${moment(time, run)}`);
  if (hop >= 0) lines.push(`${ownerOf(run, hop).text}: ${plural(run.hop.flits[hop], "flit")}, channel ${run.hop.channel[hop]}`);
  return lines;
}

function clickStrip(event) {
  const { time, link, hop } = stripAt(event.offsetX, event.offsetY);
  if (event.offsetX >= GUTTER) moveCursor(time);
  if (!link) return;
  selectLink(link.index);
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
    const found = torusAt(event.offsetX, event.offsetY);
    selectLink(found ? found.link.index : -1);
  });
  canvas.addEventListener("dblclick", () => {
    Object.assign(camera, { zoom: 1, x: 0, y: 0 });
    torusPanel.redraw();
  });
}

function nodeLines(node) {
  const tasks = [...new Set(view.run.threads.filter((thread) => thread.node === node && thread.task !== null).map(({ task }) => task))];
  const at = torus().nodes[node].at.slice(0, view.head.shape.length);
  return [`node ${node}`, `at (${at.join(", ")})`, ...(tasks.length > 0 ? [`rank${tasks.length > 1 ? "s" : ""} ${tasks.join(", ")}`] : [])];
}

const KEYS = [
  ["w s", "zoom in, out at the cursor", { w: () => zoom(0.7, view.cursor), s: () => zoom(1 / 0.7, view.cursor), "+": () => zoom(0.7, view.cursor), "-": () => zoom(1 / 0.7, view.cursor) }],
  ["a d", "move left, right", { a: () => pan(-0.2), d: () => pan(0.2) }],
  ["← →", "cursor by a pixel; with Shift by ten", { ArrowLeft: (event) => stepCursor(event.shiftKey ? -10 : -1), ArrowRight: (event) => stepCursor(event.shiftKey ? 10 : 1) }],
  ["0", "the whole run", { 0: () => showRange(...extent(view.run)), Home: () => showRange(...extent(view.run)) }],
  ["n p", "next, previous message", { n: () => select(view.message + 1, true), p: () => select(Math.max(view.message - 1, 0), true) }],
  ["f", "zoom to the selected message", { f: () => view.message >= 0 && fitMessage(view.message) }],
  ["c", "critical path lit or not", { c: () => { view.path = !view.path; changed("look"); } }],
  ["m", "messages as arrows or not", { m: () => { view.arrows = !view.arrows; changed("look"); } }],
  ["u", "cycles or seconds", { u: () => toggleUnits() }],
  ["t", "light or dark", { t: () => toggleScheme() }],
  ["space", "let time pass, or stop it", { " ": () => togglePlay() }],
  ["Esc", "select nothing", { Escape: () => { view.link = -1; select(-1); } }],
];

function stepCursor(pixels) {
  moveCursor(view.cursor + (pixels * (view.to - view.from)) / Math.max(threadsPanel.width - GUTTER, 1));
  if (view.cursor < view.from || view.cursor > view.to) {
    const length = view.to - view.from;
    showRange(view.cursor - length / 2, view.cursor + length / 2);
  }
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
