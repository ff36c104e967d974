// SPDX-License-Identifier: MIT OR Apache-2.0
// What all parts of the page show together: a run, a span of time, the cursor, what is selected.

const view = {
  head: null,
  run: null,
  /** Span of time, picoseconds. */
  from: 0,
  to: 1,
  cursor: 0,
  /** Row of the selected message, or -1. */
  message: -1,
  /** Number of the selected link, or -1. */
  link: -1,
  /** The selected node, or -1. */
  node: -1,
  /** The second cursor; none while it is NaN. */
  mark: NaN,
  /** Whether the critical path is lit. */
  path: true,
  /** Whether messages are drawn as arrows. */
  arrows: true,
};

/** Least span that is shown, cycles. */
const LEAST = 20;

const listeners = [];
const pending = new Set();

/**
 * Calls `listener` with what has changed, at most once a frame: "run", "range", "cursor",
 * "selection"; "rows" if all must be drawn again, "look" if all must be written again, too. */
const listen = (listener) => listeners.push(listener);

/** Something has changed. */
function changed(...what) {
  if (pending.size === 0) requestAnimationFrame(tell);
  what.forEach((one) => pending.add(one));
}

function tell() {
  const what = new Set(pending);
  pending.clear();
  for (const listener of listeners) listener(what);
}

function showRun(run) {
  Object.assign(view, { run, message: -1, link: -1, node: -1, mark: NaN });
  const [from, to] = extent(run);
  Object.assign(view, { from, to, cursor: busiest(run, from, to) });
  changed("run");
}

/** The span that a run is shown in. */
const extent = (run) => [run.start, Math.max(run.end, run.start + LEAST * run.cycle)];

/** The middle of the hundredth of a run in which most flits left. */
function busiest(run, from, to) {
  const columns = new Float64Array(100);
  for (const link of run.links) spread(run, link, from, to, columns.length, columns);
  const most = columns.indexOf(Math.max(...columns));
  return from + ((most + 0.5) * (to - from)) / columns.length;
}

/** Shows a span, as far as it lies in the run; the cursor stays in view. */
function showRange(from, to) {
  const [first, last] = extent(view.run);
  const length = Math.min(Math.max(to - from, LEAST * view.run.cycle), last - first);
  const middle = (from + to) / 2;
  view.from = Math.min(Math.max(middle - length / 2, first), last - length);
  view.to = view.from + length;
  view.cursor = Math.min(Math.max(view.cursor, view.from), view.to);
  changed("range");
}

/** Zooms so that `time` stays where it is. */
function zoom(factor, time) {
  const middle = Math.min(Math.max(time, view.from), view.to);
  const length = (view.to - view.from) * factor;
  const least = LEAST * view.run.cycle;
  if (length < least && factor < 1) return showRange(middle - least / 2, middle + least / 2);
  return showRange(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
}

/** Moves the span by a share of its length. */
function pan(share) {
  const by = share * (view.to - view.from);
  const [first, last] = extent(view.run);
  const bounded = Math.min(Math.max(by, first - view.from), last - view.to);
  showRange(view.from + bounded, view.to + bounded);
}

/** Moves the cursor; what is shown follows it. */
function moveCursor(time) {
  const [first, last] = extent(view.run);
  view.cursor = Math.min(Math.max(time, first), last);
  const half = (view.to - view.from) / 2;
  if (view.cursor < view.from || view.cursor > view.to) showRange(view.cursor - half, view.cursor + half);
  changed("cursor");
}

/** Selects a message; its card opens. */
function select(row, reveal) {
  const { message } = view.run;
  view.message = row >= 0 && row < message.count ? row : -1;
  if (view.message >= 0 && reveal) {
    showMessage(row);
    revealLane(row);
    changed("range");
    const [from, to] = [message.posted[row], message.done[row]];
    if (view.cursor < from || view.cursor > to) moveCursor(firstFlit(row));
  }
  changed("selection");
}

/** When the first flit of a message was on a link; if none ever was, its post. */
function firstFlit(row) {
  const { message, packets } = view.run;
  const time = message.first[row] >= 0 ? packets.head[message.first[row]] : NaN;
  return Number.isNaN(time) ? message.posted[row] : time;
}

/** Brings a message into view. */
function showMessage(row) {
  const { message } = view.run;
  const from = message.posted[row];
  const to = Number.isNaN(message.done[row]) ? view.run.end : message.done[row];
  const length = view.to - view.from;
  // What is readable and in view stays.
  if (from >= view.from && to <= view.to && to - from > length / 20) return;
  const margin = Math.max(to - from, LEAST * view.run.cycle) * 0.6;
  showRange(from - margin, to + margin);
}

/** Selects a link or a node, or neither; its card opens. */
function selectPlace({ link = -1, node = -1 }) {
  Object.assign(view, { link, node });
  changed("selection", "place");
}

/** The span whose statistics are shown: between the two cursors, or what is in view. */
function chosenSpan() {
  return Number.isNaN(view.mark) ? [view.from, view.to] : [view.mark, view.cursor].sort((a, b) => a - b);
}
