// SPDX-License-Identifier: MIT OR Apache-2.0
// The timeline of ranks: threads with what they do and wait for, and the messages that each rank has asked for.

const THREAD = 17;
const SUBLANE = 6;
const SUBLANES = 4;
const GAP = 8;

/** Most arrows that are drawn; more would only hide each other. */
const ARROWS = 400;

/** Rows of a run, from the top: threads by rank, then the rank's messages. */
function rowsOf(run) {
  const groups = new Map();
  run.threads.forEach((thread, index) => {
    const key = thread.task === null ? `node ${thread.node}` : `rank ${thread.task}`;
    if (!groups.has(key)) groups.set(key, { key, task: thread.task, node: thread.node, threads: [] });
    groups.get(key).threads.push(index);
  });
  const order = [...groups.values()].sort((a, b) => (a.task ?? Infinity) - (b.task ?? Infinity) || a.node - b.node);
  const lists = messageLists(run);
  const rows = [];
  const place = { threads: [], tasks: new Map(), lanes: new Map() };
  let y = 4;
  for (const group of order) {
    const top = y;
    for (const index of group.threads) {
      rows.push({ y, height: THREAD, thread: index, label: threadLabel(run.threads[index].name, group.key) });
      place.threads[index] = y;
      y += THREAD + 2;
    }
    const list = lists.get(group.task);
    if (group.task !== null && list) {
      const height = list.lanes * SUBLANE + 2;
      rows.push({ y, height, list, label: "messages" });
      place.lanes.set(group.task, y);
      y += height + 2;
    }
    if (group.task !== null) place.tasks.set(group.task, (top + y) / 2);
    rows.push({ y: top, height: y - top - 2, group });
    y += GAP;
  }
  return { rows, place, height: y, critical: criticalRows(run) };
}

/** A thread's name without that of its rank. */
function threadLabel(name, key) {
  const begin = [`${key} `, key.replace("rank", "task") + " "].find((begin) => name.startsWith(begin));
  return begin ? name.slice(begin.length) : name;
}

/** By rank: its messages in lanes in which none hides another, as far as there are lanes. */
function messageLists(run) {
  const { message } = run;
  const lists = new Map();
  message.lane = new Uint8Array(message.count);
  for (let row = 0; row < message.count; row++) {
    const task = message.by[row];
    if (!lists.has(task)) lists.set(task, { rows: [], ends: [], lanes: 1, longest: 0 });
    const list = lists.get(task);
    const end = Number.isNaN(message.done[row]) ? run.end : message.done[row];
    let lane = list.ends.findIndex((until) => until <= message.posted[row]);
    if (lane < 0) lane = list.ends.length < SUBLANES ? list.ends.length : list.ends.indexOf(Math.min(...list.ends));
    list.ends[lane] = Math.max(end, list.ends[lane] ?? 0);
    list.lanes = Math.max(list.lanes, lane + 1);
    list.longest = Math.max(list.longest, end - message.posted[row]);
    list.rows.push(row);
    message.lane[row] = lane;
  }
  for (const list of lists.values()) list.posted = Float64Array.from(list.rows, (row) => message.posted[row]);
  return lists;
}

/** Segments of the critical path by thread, as columns of begin and end. */
function criticalRows(run) {
  const byThread = new Map();
  for (const [from, length, , , place] of run.analysis?.path ?? []) {
    if (Array.isArray(place)) continue;
    if (!byThread.has(place)) byThread.set(place, { begin: [], end: [] });
    byThread.get(place).begin.push(from);
    byThread.get(place).end.push(from + length);
  }
  return byThread;
}

const threadsPanel = new Panel("ranks", drawThreads, markThreads);
let layout = null;

/** The layout of the rows of the run that is shown. */
function rowLayout() {
  if (layout?.run !== view.run) layout = { run: view.run, ...rowsOf(view.run) };
  return layout;
}

function drawThreads(context, width, height) {
  const run = view.run;
  const { rows, height: content, critical } = rowLayout();
  drawRuler(context, width, height);
  const scroll = scrolled(threadsPanel, content);
  context.save();
  context.beginPath();
  context.rect(0, RULER, width, height - RULER);
  context.clip();
  const lit = view.path && run.analysis;
  for (const row of rows) {
    const y = row.y - scroll + RULER;
    if (y > height || y + row.height < RULER) continue;
    if (row.group) {
      drawGroup(context, row, y);
      continue;
    }
    context.fillStyle = colours.muted;
    context.textAlign = "right";
    context.fillText(fitted(context, row.label, GUTTER - 66), GUTTER - 8, y + row.height / 2);
    if (row.list) drawMessageLane(context, width, row, y);
    else {
      drawThread(context, width, run.threads[row.thread], y);
      if (lit) veil(context, width, critical.get(row.thread), y);
    }
  }
  if (lit) drawPath(context, width, scroll);
  context.restore();
  drawScroll(context, width, height, scroll, content);
}

function drawGroup(context, row, y) {
  context.fillStyle = colours.text;
  context.textAlign = "left";
  context.font = `600 ${FONT}`;
  context.fillText(row.group.key, 10, y + 9);
  context.font = FONT;
  context.fillStyle = colours.muted;
  if (row.height > 24 && row.group.task !== null) context.fillText(`node ${row.group.node}`, 10, y + 24);
  context.fillStyle = colours.line;
  context.fillRect(0, y + row.height + GAP / 2, 4000, 1);
}

/** Spans of a thread: each where they are few, else shares of time by category in each pixel. */
function drawThread(context, width, thread, y) {
  const { span, categories, names } = view.run;
  let first = Math.max(spanAt(span.begin, thread.from, thread.to, view.from), thread.from);
  const last = after(span.begin, view.to, thread.from, thread.to);
  context.fillStyle = colours.sunken;
  context.fillRect(GUTTER, y, width - GUTTER, THREAD);
  if (last - first > (width - GUTTER) / 3) return drawShares(context, width, first, last, y);
  context.textAlign = "left";
  for (; first < last; first++) {
    const left = Math.max(across(span.begin[first], width), GUTTER);
    const right = Math.min(across(span.begin[first] + span.time[first], width), width);
    if (right < GUTTER) continue;
    const what = span.what[first];
    context.fillStyle = colours[CATEGORIES[categories[what]]];
    context.fillRect(left, y, Math.max(right - left - (right - left > 4 ? 0.6 : 0), 0.8), THREAD);
    if (right - left > 26) {
      context.fillStyle = categories[what] === 3 ? colours.muted : "#10151f";
      context.fillText(fitted(context, words(names[what]), right - left - 8), left + 4, y + THREAD / 2 + 0.5);
    }
  }
}

function drawShares(context, width, first, last, y) {
  const { span, sums } = view.run;
  const columns = Math.floor(width - GUTTER);
  const step = (view.to - view.from) / columns;
  let row = first;
  for (let column = 0; column < columns; column++) {
    const from = view.from + column * step;
    const begin = row;
    while (row < last && span.begin[row] < from + step) row++;
    let bottom = y + THREAD;
    for (const category of [1, 2, 4, 0, 3]) {
      let time = sums[category][row] - sums[category][begin];
      // What reaches over the edges counts with its part.
      time += reach(category, begin - 1, first, from, from + step) - reach(category, row - 1, begin, from + step, Infinity);
      const high = Math.min((time / step) * THREAD, bottom - y);
      if (high < 0.05) continue;
      context.fillStyle = colours[CATEGORIES[category]];
      context.fillRect(GUTTER + column, bottom - high, 1, high);
      bottom -= high;
    }
  }
}

/** Time of a span in a category between two times; of none before `least`. */
function reach(category, row, least, from, to) {
  const { span, categories } = view.run;
  if (row < least || categories[span.what[row]] !== category) return 0;
  return Math.max(Math.min(span.begin[row] + span.time[row], to) - Math.max(from, span.begin[row]), 0);
}

/** Dims what is not on the critical path. */
function veil(context, width, critical, y) {
  context.fillStyle = colours.panel;
  context.globalAlpha = 0.55;
  let x = GUTTER;
  const { begin, end } = critical ?? { begin: [], end: [] };
  for (let s = Math.max(spanAt(begin, 0, begin.length, view.from), 0); s < begin.length && begin[s] < view.to; s++) {
    const left = across(begin[s], width);
    if (left > x + 0.5) context.fillRect(x, y, left - x, THREAD);
    x = Math.max(x, across(end[s], width));
  }
  if (x < width) context.fillRect(x, y, width - x, THREAD);
  context.globalAlpha = 1;
}

/** The critical path: a line under what is on it, and lines from thread to thread. */
function drawPath(context, width, scroll) {
  const { place } = rowLayout();
  const { path } = view.run.analysis;
  context.strokeStyle = context.fillStyle = colours.lit;
  context.lineWidth = 1.4;
  context.beginPath();
  let before = null;
  let drawn = -Infinity;
  for (const [from, length, , , where] of path) {
    if (Array.isArray(where)) continue;
    const y = place.threads[where] - scroll + RULER;
    const left = across(from, width);
    if (from + length >= view.from && from <= view.to) {
      const right = Math.min(across(from + length, width), width);
      context.fillRect(Math.max(left, GUTTER), y + THREAD - 2.5, Math.max(right - Math.max(left, GUTTER), 1), 3.5);
    }
    if (before && before.y !== y && left > GUTTER && before.x < width && (left - drawn > 0.6 || left - before.x > 2)) {
      context.moveTo(Math.max(before.x, GUTTER), before.y + THREAD - 1);
      context.lineTo(left, y + THREAD - 1);
      drawn = left;
    }
    before = { x: across(from + length, width), y };
  }
  context.stroke();
}

function drawMessageLane(context, width, { list }, y) {
  const { message } = view.run;
  const drawn = new Float64Array(SUBLANES).fill(-1);
  const first = after(list.posted, view.from - list.longest - 1, 0, list.rows.length);
  for (let place = first; place < list.rows.length && list.posted[place] < view.to; place++) {
    const row = list.rows[place];
    const lane = message.lane[row];
    const [left, right] = messageSpan(row, width);
    if (right < GUTTER || Math.floor(right) <= drawn[lane]) continue;
    context.fillStyle = messageColour(row);
    context.fillRect(left, y + 1 + lane * SUBLANE, Math.max(right - left, 1.2), SUBLANE - 1.2);
    drawn[lane] = Math.floor(right);
  }
}

function messageSpan(row, width) {
  const { message, end } = view.run;
  const done = Number.isNaN(message.done[row]) ? end : message.done[row];
  return [Math.max(across(message.posted[row], width), GUTTER), Math.min(across(done, width), width)];
}

/** By what took most of its time. */
function messageColour(row) {
  const { message, stage } = view.run;
  if (message.longest[row] < 0) return colours.bad;
  return colours[`stage-${STAGE_WORDS[stage.names[stage.what[message.longest[row]]]][0]}`];
}

function markThreads(context, width, height) {
  const scroll = scrolled(threadsPanel, rowLayout().height);
  context.save();
  context.beginPath();
  context.rect(GUTTER, RULER, width - GUTTER, height - RULER);
  context.clip();
  if (view.arrows) drawArrows(context, width, scroll);
  if (view.message >= 0) markMessage(context, width, scroll, view.message);
  context.restore();
  drawCursor(context, width, height, true);
}

/** Scrolls to where a message is drawn, if that is out of sight. */
function revealLane(row) {
  const lane = rowLayout().place.lanes.get(view.run.message.by[row]);
  if (lane === undefined) return;
  const room = threadsPanel.height - RULER;
  const above = lane - 2 * THREAD - 8;
  const below = lane + SUBLANES * SUBLANE + 8;
  const scroll = threadsPanel.scroll ?? 0;
  if (above < scroll) threadsPanel.scroll = above;
  else if (below > scroll + room) threadsPanel.scroll = below - room;
}

/** Messages that are posted or done in view, if they are few enough for arrows. */
function arrowsInView() {
  const { message } = view.run;
  const rows = [];
  let row = after(message.posted, view.from, 0, message.count);
  for (; row < message.count && message.posted[row] <= view.to; row++) {
    if (rows.length > ARROWS) return [];
    if (!Number.isNaN(message.done[row])) rows.push(row);
  }
  return rows;
}

/** Ends of a message's arrow. */
function arrowOf(row, width, scroll) {
  const { message } = view.run;
  const { place } = rowLayout();
  const from = place.tasks.get(message.from[row]);
  const to = place.tasks.get(message.to[row]);
  if (from === undefined || to === undefined) return null;
  const y = (place) => place - scroll + RULER;
  return [across(message.posted[row], width), y(from), across(message.done[row], width), y(to)];
}

function drawArrows(context, width, scroll) {
  const rows = arrowsInView();
  context.strokeStyle = context.fillStyle = colours.muted;
  context.lineWidth = 1;
  context.globalAlpha = rows.length > 60 ? 0.35 : 0.7;
  for (const row of rows) strokeArrow(context, arrowOf(row, width, scroll));
  context.globalAlpha = 1;
}

function strokeArrow(context, ends) {
  if (!ends) return;
  const [x1, y1, x2, y2] = ends;
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
  const angle = Math.atan2(y2 - y1, x2 - x1);
  context.beginPath();
  context.moveTo(x2, y2);
  for (const side of [-0.4, 0.4]) context.lineTo(x2 - 7 * Math.cos(angle + side), y2 - 7 * Math.sin(angle + side));
  context.fill();
}

function markMessage(context, width, scroll, row) {
  const { message } = view.run;
  const lane = rowLayout().place.lanes.get(message.by[row]);
  context.strokeStyle = context.fillStyle = colours.accent;
  context.lineWidth = 2;
  if (lane !== undefined) {
    const [left, right] = messageSpan(row, width);
    const y = lane - scroll + RULER + message.lane[row] * SUBLANE;
    context.strokeRect(left - 1, y - 0.5, Math.max(right - left + 2, 4), SUBLANE + 1);
  }
  if (!Number.isNaN(message.done[row])) strokeArrow(context, arrowOf(row, width, scroll));
}

/** What is at a place of the panel: a span of a thread, or a message. */
function threadsAt(x, y) {
  const { run } = view;
  const width = threadsPanel.width;
  const time = timeAt(x, width);
  const content = y - RULER + (threadsPanel.scroll ?? 0);
  const row = rowLayout().rows.find(({ y, height, group }) => !group && content >= y - 1 && content < y + height + 1);
  if (x < GUTTER || y < RULER) return { time };
  if (row?.list) {
    const lane = Math.min(Math.max(Math.floor((content - row.y - 1) / SUBLANE), 0), row.list.lanes - 1);
    return { time, message: messageAt(row.list, lane, x, width) };
  }
  if (row && row.thread !== undefined) {
    const thread = run.threads[row.thread];
    const span = spanAt(run.span.begin, thread.from, thread.to, time);
    if (span >= 0 && time <= run.span.begin[span] + run.span.time[span]) return { time, span, thread, message: onPath(row.thread, time) };
  }
  return { time, thread: row && run.threads[row.thread] };
}

/** The nearest message of a lane, within some pixels. */
function messageAt(list, lane, x, width) {
  const { message } = view.run;
  let best = -1;
  let distance = 4;
  const first = after(list.posted, view.from - list.longest - 1, 0, list.rows.length);
  for (let place = first; place < list.rows.length && list.posted[place] < view.to; place++) {
    const row = list.rows[place];
    const [left, right] = messageSpan(row, width);
    const away = Math.max(left - x, x - right, 0);
    if (message.lane[row] === lane && away < distance) [best, distance] = [row, away];
  }
  return best;
}

/** The message of the segment of the critical path at a time on a thread, or -1. */
function onPath(thread, time) {
  const path = view.run.analysis?.path ?? [];
  const found = path.find(([from, length, , , place]) => place === thread && from <= time && time <= from + length);
  return found?.[5] ? found[5] - 1 : -1;
}
