// SPDX-License-Identifier: MIT OR Apache-2.0
// Statistics of a span of time: between the two cursors, or what is shown. And who sends to whom in it.

const spanElement = make("section", { "aria-label": "statistics of a span" });
const matrixElement = make("section", { "aria-label": "who sends to whom" });

/** Shares of a sorted column that are given. */
const QUANTILES = [0.5, 0.9, 0.99];

/** The value below which a share of a sorted column lies. */
const quantile = (sorted, share) => sorted[Math.min(Math.ceil(share * sorted.length), sorted.length) - 1];

/** Rows of messages that are posted in the chosen span. */
function postedIn([from, to]) {
  const { message } = view.run;
  const first = after(message.posted, from - 1, 0, message.count);
  return [first, after(message.posted, to, first, message.count)];
}

/** Mean and quantiles of the times of messages, of those that are done. */
function latencies(times) {
  const sorted = Float64Array.from(times.filter((time) => !Number.isNaN(time))).sort();
  const mean = sorted.reduce((sum, time) => sum + time, 0) / sorted.length;
  return { sorted, mean, quantiles: QUANTILES.map((share) => quantile(sorted, share)) };
}

function renderSpan() {
  const { run } = view;
  const span = chosenSpan();
  const [from, to] = span;
  const { message } = run;
  const [first, last] = postedIn(span);
  const { sorted, mean, quantiles } = latencies(message.total.subarray(first, last));
  let bytes = 0;
  for (let row = first; row < last; row++) bytes += message.bytes[row];
  const loads = run.used.map((link) => [loadOf(run, link, from, to), link]).sort((a, b) => b[0] - a[0]);
  const carried = run.used.reduce((sum, link) => sum + flitsIn(run, link, from, to), 0);
  const load = (carried * run.cycle) / Math.max(to - from, 1) / Math.max(run.links.length, 1);
  const operations = operationsIn(from, to);
  const total = operations.reduce((sum, [, time]) => sum + time, 0);
  spanElement.replaceChildren(
    make("p", { class: "tools" },
      make("span", { class: "hint" }, Number.isNaN(view.mark) ? "What is shown. Shift + drag, or x at one end and the cursor at the other, choose another span." : "Between the cursors."),
      Number.isNaN(view.mark) ? "" : button("zoom to it", "(z)", () => showRange(...chosenSpan())),
      Number.isNaN(view.mark) ? "" : button("✕", "no second cursor (Esc)", () => setMark(NaN)),
    ),
    make("table", { class: "grid facts-of-span" }, make("tbody", {},
      fact("from, to", `${moment(from, run)}, ${moment(to, run)}`),
      fact("length", `${duration(to - from, run)}${units.cycles ? ` = ${seconds(to - from)}` : ""}`),
      ...(message.count > 0 ? [
        fact("messages posted, bytes", `${whole(last - first)}, ${whole(bytes)}`),
        fact("time of a message, mean", sorted.length > 0 ? duration(mean, run) : "none is done"),
        ...(sorted.length > 0 ? QUANTILES.map((share, number) => fact(`${100 * share} % take at most`, duration(quantiles[number], run))) : []),
      ] : []),
      fact("flits on all links", whole(carried)),
      fact("mean load of all links", percent(load)),
    )),
    make("h3", {}, "Busiest links"), linkRows(run, loads.slice(0, 8).map(([, link]) => link), from, to, ({ node, to }) => `of ${node} → ${to}`),
    ...(operations.length > 0 ? [
      make("h3", {}, "Time of threads", make("small", {}, duration(total, run))),
      make("table", { class: "grid" }, make("tbody", {}, ...operations.slice(0, 24).map(([what, time]) => make("tr", {}, make("td", {}, make("i", { class: `dot cat-${CATEGORIES[run.categories[what]]}` }), words(run.names[what])), make("td", { class: "number" }, percent(time / total)), make("td", { class: "number" }, duration(time, run)))))),
    ] : []),
  );
}

/** Time that all threads have spent between two times, by what they did, the longest first. */
function operationsIn(from, to) {
  const { span, names, threads } = view.run;
  const times = new Float64Array(names.length);
  for (const thread of threads) {
    let row = Math.max(spanAt(span.begin, thread.from, thread.to, from), thread.from);
    for (; row < thread.to && span.begin[row] < to; row++) {
      const time = Math.min(span.begin[row] + span.time[row], to) - Math.max(span.begin[row], from);
      if (time > 0) times[span.what[row]] += time;
    }
  }
  return [...times].map((time, what) => [what, time]).filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]);
}

/** Sets the second cursor. */
function setMark(time) {
  view.mark = time;
  changed("cursor");
  if (!Number.isNaN(time)) openTab("span");
}

/** Values of the matrix: title, what a message adds, whether the sum is divided by the number of messages. */
const VALUES = {
  bytes: ["bytes", (message, row) => message.bytes[row], false],
  messages: ["messages", () => 1, false],
  latency: ["mean time of a message", (message, row) => message.total[row] || 0, true],
};

const matrix = { value: "bytes", cells: null, counts: null, ranks: 0, together: 1, size: 0 };

function renderMatrix() {
  const { run } = view;
  const { message } = run;
  const [first, last] = postedIn(chosenSpan());
  const room = Math.max(Math.min(matrixElement.clientWidth - 60, 480), 200);
  matrix.ranks = (run.ranks ??= message.from.reduce((most, from, row) => Math.max(most, from, message.to[row]), 0) + 1);
  matrix.together = Math.ceil(matrix.ranks / room);
  const size = (matrix.size = Math.ceil(matrix.ranks / matrix.together));
  matrix.cells = new Float64Array(size * size);
  matrix.counts = new Uint32Array(size * size);
  const [, add, divided] = VALUES[matrix.value];
  for (let row = first; row < last; row++) {
    const cell = Math.floor(message.from[row] / matrix.together) * size + Math.floor(message.to[row] / matrix.together);
    matrix.cells[cell] += add(message, row);
    matrix.counts[cell]++;
  }
  if (divided) matrix.cells.forEach((sum, cell) => { if (matrix.counts[cell] > 0) matrix.cells[cell] = sum / matrix.counts[cell]; });
  const most = matrix.cells.reduce((a, b) => Math.max(a, b), 0);
  const canvas = make("canvas", { class: "cells", width: size, height: size, style: `width:${Math.floor(room / size) * size}px`, onclick: chooseCell, onpointerleave: hideTip });
  canvas.addEventListener("pointermove", (event) => showTip(event, cellLines(event)));
  const image = new ImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  const ramp = colours.ramp.map(([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
  matrix.cells.forEach((value, cell) => (pixels[cell] = ramp[matrix.counts[cell] > 0 ? Math.max(shade(value / most), 24) : 0]));
  canvas.getContext("2d").putImageData(image, 0, 0);
  const text = (value) => (matrix.value === "latency" ? duration(value, run) : whole(value));
  matrixElement.replaceChildren(
    make("div", { class: "tools" },
      make("select", { "aria-label": "value", onchange: (event) => { matrix.value = event.target.value; renderMatrix(); } }, ...Object.entries(VALUES).map(([key, [title]]) => make("option", { value: key, selected: key === matrix.value }, title))),
      make("span", { class: "hint" }, `${plural(last - first, "message")} posted ${spanWords()}; darkest or brightest: ${text(most)}`),
    ),
    make("div", { class: "matrix" }, make("small", { class: "down" }, `from rank 0–${matrix.ranks - 1}`), make("div", {}, make("small", {}, `to rank 0–${matrix.ranks - 1}${matrix.together > 1 ? `, ${matrix.together} ranks a cell` : ""}`), canvas)),
    make("p", { class: "hint" }, "A click lists the messages of a pair."),
  );
}

/** First ranks of the cell under the pointer. */
function cellAt(event) {
  const box = event.currentTarget.getBoundingClientRect();
  const place = (at, from, length) => Math.min(Math.max(Math.floor(((at - from) / length) * matrix.size), 0), matrix.size - 1);
  const [to, from] = [place(event.clientX, box.left, box.width), place(event.clientY, box.top, box.height)];
  return { cell: from * matrix.size + to, from: from * matrix.together, to: to * matrix.together };
}

function cellLines(event) {
  const { cell, from, to } = cellAt(event);
  const value = matrix.cells[cell];
  const several = (rank) => (matrix.together > 1 ? `ranks ${rank}–${Math.min(rank + matrix.together, matrix.ranks) - 1}` : `rank ${rank}`);
  return [`${several(from)} → ${several(to)}`, plural(matrix.counts[cell], "message"), matrix.value === "latency" ? `${duration(value, view.run)} each` : `${whole(value)} ${matrix.value}`];
}

function chooseCell(event) {
  const { from, to } = cellAt(event);
  if (matrix.together > 1) return;
  Object.assign(table, { rank: `${from}>${to}` });
  hideTip();
  renderMessages();
  openTab("messages");
}
