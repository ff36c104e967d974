// SPDX-License-Identifier: MIT OR Apache-2.0
// The timeline of ranks: threads with what they do and wait for, and the messages that each rank has asked for.

/** Most arrows that are drawn; more would only hide each other. */
const ARROWS = 400;

const threadsPanel = new Panel("ranks", drawThreads, markThreads);

function drawThreads(context, width, height) {
  const { rows, height: content, critical } = rowLayout();
  drawRuler(context, width, height);
  const scroll = scrolled(threadsPanel, content);
  const shown = rows.filter((row) => row.y - scroll + RULER <= height && row.y + row.height - scroll > 0);
  context.save();
  context.beginPath();
  context.rect(0, RULER, width, height - RULER);
  context.clip();
  drawShares(context, width, height, shown, scroll);
  const lit = view.path && view.run.analysis;
  let labelled = -Infinity;
  for (const row of shown) {
    const y = row.y - scroll + RULER;
    if (row.group) drawGroup(context, row, y);
    else if (row.list) drawMessageLane(context, width, row, y);
    else {
      if (isSparse(row, width)) drawThread(context, width, view.run.threads[row.threads[0]], y, row.height);
      if (lit) veil(context, width, row.threads.map((index) => critical.get(index)).filter((found) => found), y, row.height);
    }
    if (row.inset) drawLabel(context, row.label, y + row.height / 2, GUTTER - 66);
    else if (row.label && (row.height >= 11 || y - labelled >= 11)) {
      labelled = y;
      drawLabel(context, row.label, y + Math.max(row.height / 2, 5), GUTTER - 14, row.bundle);
    }
  }
  if (lit) drawPath(context, width, scroll);
  context.restore();
  drawScroll(context, width, height, scroll, content);
}

function drawLabel(context, label, y, room, bundle) {
  context.fillStyle = bundle && failsIn(bundle.groups) ? colours.bad : colours.muted;
  context.textAlign = "right";
  context.fillText(fitted(context, label, room), GUTTER - 8, y);
}

/** Whether the run has failed on the node of one of these ranks. */
const failsIn = (groups) => groups.some(({ node }) => node === view.head.failure?.node);

function drawGroup(context, row, y) {
  context.fillStyle = failsIn([row.group]) ? colours.bad : colours.text;
  context.textAlign = "left";
  context.font = `600 ${FONT}`;
  context.fillText((rowing.pinned.has(row.group.key) ? "● " : "") + row.group.key, 10, y + 9);
  context.font = FONT;
  context.fillStyle = colours.muted;
  if (row.height > 24 && row.group.task !== null) context.fillText(`node ${row.group.node}`, 10, y + 24);
  context.fillStyle = colours.line;
  context.fillRect(0, y + row.height + GAP / 2, 4000, 1);
}

/** Spans of a thread in view, as a range of rows. */
function spansInView(thread, from = view.from, to = view.to) {
  const { span } = view.run;
  const first = Math.max(spanAt(span.begin, thread.from, thread.to, from), thread.from);
  return [first, after(span.begin, to, thread.from, thread.to)];
}

/** Whether a row has so few spans that each is drawn. */
function isSparse(row, width) {
  if (row.threads.length !== 1) return false;
  const [first, last] = spansInView(view.run.threads[row.threads[0]]);
  return last - first <= (width - GUTTER) / 3;
}

/** Spans of a thread, with their names where they are readable. */
function drawThread(context, width, thread, y, height) {
  const { span, categories, names } = view.run;
  let [first, last] = spansInView(thread);
  context.fillStyle = colours.sunken;
  context.fillRect(GUTTER, y, width - GUTTER, height);
  context.textAlign = "left";
  for (; first < last; first++) {
    const left = Math.max(across(span.begin[first], width), GUTTER);
    const right = Math.min(across(span.begin[first] + span.time[first], width), width);
    if (right < GUTTER) continue;
    const what = span.what[first];
    context.fillStyle = colours[CATEGORIES[categories[what]]];
    context.fillRect(left, y, Math.max(right - left - (right - left > 4 ? 0.6 : 0), 0.8), height);
    if (right - left > 26 && height >= 11) {
      context.fillStyle = categories[what] === 3 ? colours.muted : "#10151f";
      context.fillText(fitted(context, words(names[what]), right - left - 8), left + 4, y + height / 2 + 0.5);
    }
  }
}

/** Order of categories in a column, from the bottom. */
const STACKED = [1, 2, 4, 0, 3];

const threadsSketch = new Sketch(threadsPanel);

/** Of rows with many spans: shares of time by category, in each pixel. */
function drawShares(context, width, height, rows, scroll) {
  const columns = Math.floor(width - GUTTER);
  const dense = rows.filter((row) => row.threads && !isSparse(row, width));
  if (columns < 1 || dense.length === 0) return;
  const lines = Math.ceil(height - RULER);
  const items = dense.reduce((sum, { threads }) => threads.reduce((sum, index) => {
    const [first, last] = spansInView(view.run.threads[index]);
    return sum + last - first;
  }, sum), 0);
  const kind = `${view.run.number} ${columns} ${lines} ${rowLayout().version} ${scroll}|${colours.panel} ${dense.length}`;
  threadsSketch.draw(context, { kind, columns, lines, tall: 1, items, top: RULER, paint: (pixels) => paintShares(pixels, dense, columns, lines, scroll) });
}

function* paintShares(pixels, rows, columns, lines, scroll) {
  const ink = CATEGORIES.map((name) => packed(colours[name]));
  const empty = packed(colours.sunken);
  const [from, to] = [view.from, view.to];
  const times = CATEGORIES.map(() => new Float32Array(columns));
  for (const row of rows) {
    times.forEach((column) => column.fill(0));
    for (const index of row.threads) {
      addTimes(view.run.threads[index], from, to, columns, times);
      yield;
    }
    const top = Math.round(row.y - scroll);
    const high = Math.max(Math.round(row.height), 1);
    for (let column = 0; column < columns; column++) {
      let line = top + high;
      let sum = 0;
      for (const category of STACKED) {
        sum += times[category][column];
        const until = Math.max(top + high - Math.round((sum / row.threads.length) * high), top);
        while (line > until) {
          line--;
          if (line >= 0 && line < lines) pixels[line * columns + column] = ink[category];
        }
      }
      while (line > top) {
        line--;
        if (line >= 0 && line < lines) pixels[line * columns + column] = empty;
      }
    }
    yield;
  }
}

/** By column: the time of a thread's spans in each category, in columns. */
function addTimes(thread, from, to, columns, times) {
  const { span, categories } = view.run;
  const scale = columns / (to - from);
  const [first, last] = spansInView(thread, from, to);
  for (let row = first; row < last; row++) {
    const into = times[categories[span.what[row]]];
    const left = Math.max((span.begin[row] - from) * scale, 0);
    const right = Math.min((span.begin[row] - from + span.time[row]) * scale, columns);
    if (right <= left) continue;
    const begin = Math.floor(left);
    const end = Math.min(Math.floor(right), columns - 1);
    if (begin === end) {
      into[begin] += right - left;
      continue;
    }
    into[begin] += begin + 1 - left;
    for (let column = begin + 1; column < end; column++) into[column] += 1;
    into[end] += right - end;
  }
}

/** Dims what is not on the critical path. */
function veil(context, width, lists, y, height) {
  context.fillStyle = colours.panel;
  context.globalAlpha = 0.55;
  let x = GUTTER;
  for (const [from, to] of lists.length === 1 ? inView(lists[0]) : lists.flatMap(inView).sort((a, b) => a[0] - b[0])) {
    const left = across(from, width);
    if (left > x + 0.5) context.fillRect(x, y, left - x, height);
    x = Math.max(x, across(to, width));
  }
  if (x < width) context.fillRect(x, y, width - x, height);
  context.globalAlpha = 1;
}

/** Segments of the critical path in view. */
function inView({ begin, end }) {
  const found = [];
  for (let s = Math.max(spanAt(begin, 0, begin.length, view.from), 0); s < begin.length && begin[s] < view.to; s++) found.push([begin[s], end[s]]);
  return found;
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
    const bottom = place.threads[where] - scroll + RULER + place.heights[where];
    const thick = place.heights[where] < 9 ? 2 : 3.5;
    const left = across(from, width);
    if (from + length >= view.from && from <= view.to) {
      const right = Math.min(across(from + length, width), width);
      context.fillRect(Math.max(left, GUTTER), bottom + 1 - thick, Math.max(right - Math.max(left, GUTTER), 1), thick);
    }
    if (before && before.y !== bottom && left > GUTTER && before.x < width && (left - drawn > 0.6 || left - before.x > 2)) {
      context.moveTo(Math.max(before.x, GUTTER), before.y - 1);
      context.lineTo(left, bottom - 1);
      drawn = left;
    }
    before = { x: across(from + length, width), y: bottom };
  }
  context.stroke();
}

function drawMessageLane(context, width, { list, flat, height }, y) {
  const { message } = view.run;
  const drawn = new Float64Array(SUBLANES).fill(-1);
  const first = after(list.posted, view.from - list.longest - 1, 0, list.rows.length);
  for (let place = first; place < list.rows.length && list.posted[place] < view.to; place++) {
    const row = list.rows[place];
    const lane = flat ? 0 : message.lane[row];
    const [left, right] = messageSpan(row, width);
    if (right < GUTTER || Math.floor(right) <= drawn[lane]) continue;
    context.fillStyle = messageColour(row);
    if (flat) context.fillRect(left, y, Math.max(right - left, 1.2), height - 1);
    else context.fillRect(left, y + 1 + lane * SUBLANE, Math.max(right - left, 1.2), SUBLANE - 1.2);
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
  markNode(context, height, scroll);
  drawCursor(context, width, height, true);
}

/** Bars beside the rows of the selected node. */
function markNode(context, height, scroll) {
  if (view.node < 0) return;
  context.fillStyle = colours.accent;
  for (const row of rowLayout().rows) {
    const groups = row.bundle?.groups ?? (row.group ? [row.group] : []);
    const y = row.y - scroll + RULER;
    if (y >= RULER - row.height && y < height && groups.some(({ node }) => node === view.node)) context.fillRect(GUTTER - 4, Math.max(y, RULER), 4, row.height);
  }
}

/** Scrolls to where a message is drawn, if that is out of sight. */
function revealLane(row) {
  const lane = rowLayout().place.lanes.get(view.run.message.by[row]);
  if (lane) reveal(lane.y - 2 * THREAD - 8, lane.y + SUBLANES * SUBLANE + 8);
}

/** Scrolls the rows so that this part of them is in view. */
function reveal(above, below) {
  const room = threadsPanel.height - RULER;
  const scroll = threadsPanel.scroll ?? 0;
  if (above < scroll) threadsPanel.scroll = above;
  else if (below > scroll + room) threadsPanel.scroll = below - room;
}

/** Scrolls to the rows of a node. */
function revealNode(node) {
  const row = rowLayout().rows.find(({ bundle, group }) => (bundle?.groups ?? (group ? [group] : [])).some((own) => own.node === node));
  if (row) reveal(row.y, row.y + row.height + GAP);
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

/** The middle of the row of a rank's thread that is busy at a time; of those that are, the first. */
function threadPlace(task, time) {
  const { span, threads } = view.run;
  const { place } = rowLayout();
  const group = place.tasks.get(task);
  if (!group || group.threads.length === 0) return undefined;
  const busy = (index) => {
    const row = spanAt(span.begin, threads[index].from, threads[index].to, time);
    return row >= 0 && span.begin[row] + span.time[row] >= time;
  };
  const index = group.threads.find(busy) ?? group.threads[0];
  return place.threads[index] + place.heights[index] / 2;
}

/** Ends of a message's arrow: the threads that post it and that it is done for. */
function arrowOf(row, width, scroll) {
  const { message } = view.run;
  const from = threadPlace(message.from[row], message.posted[row]);
  const to = threadPlace(message.to[row], message.done[row]);
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

/** Where a message is drawn: top and height, from the top of the panel. */
function messagePlace(row) {
  const lane = rowLayout().place.lanes.get(view.run.message.by[row]);
  if (!lane) return undefined;
  return [lane.y - (threadsPanel.scroll ?? 0) + RULER + (lane.lanes ? 1 + view.run.message.lane[row] * SUBLANE : 0), lane.height];
}

function markMessage(context, width, scroll, row) {
  const { message } = view.run;
  const place = messagePlace(row);
  context.strokeStyle = context.fillStyle = colours.accent;
  context.lineWidth = 2;
  if (place) {
    const [left, right] = messageSpan(row, width);
    context.strokeRect(left - 1, place[0] - 1.5, Math.max(right - left + 2, 4), place[1] + 1);
  }
  if (!Number.isNaN(message.done[row])) strokeArrow(context, arrowOf(row, width, scroll));
}

/** The row at a height of the panel, without those that only frame others. */
function rowAt(y) {
  const content = y - RULER + (threadsPanel.scroll ?? 0);
  const near = (row) => content >= row.y && content < row.y + row.height + (row.inset ? 2 : 0);
  return y < RULER ? undefined : rowLayout().rows.find((row) => !row.group && near(row));
}

/** The ranks at a height of the panel. */
function groupsAt(y) {
  const content = y - RULER + (threadsPanel.scroll ?? 0);
  const row = y < RULER ? undefined : rowLayout().rows.find((row) => (row.group || row.bundle) && content >= row.y && content < row.y + row.height + 1);
  return row && { bundle: row.bundle, groups: row.bundle?.groups ?? [row.group] };
}

/** What is at a place of the panel: a span of a thread, several threads, or a message. */
function threadsAt(x, y) {
  const { run } = view;
  const width = threadsPanel.width;
  const time = timeAt(x, width);
  const row = rowAt(y);
  if (x < GUTTER || !row) return { time };
  if (row.list) {
    const content = y - RULER + (threadsPanel.scroll ?? 0);
    const lane = Math.min(Math.max(Math.floor((content - row.y - 1) / SUBLANE), 0), row.list.lanes - 1);
    return { time, message: messageAt(row.list, row.flat ? -1 : lane, x, width) };
  }
  if (row.threads.length > 1) return { time, row };
  const thread = run.threads[row.threads[0]];
  const span = spanAt(run.span.begin, thread.from, thread.to, time);
  if (span < 0 || time > run.span.begin[span] + run.span.time[span]) return { time, thread };
  return { time, span, thread, message: onPath(row.threads[0], time) };
}

/** The nearest message of a lane (of any with -1), within some pixels. */
function messageAt(list, lane, x, width) {
  const { message } = view.run;
  let best = -1;
  let distance = 4;
  const first = after(list.posted, view.from - list.longest - 1, 0, list.rows.length);
  for (let place = first; place < list.rows.length && list.posted[place] < view.to; place++) {
    const row = list.rows[place];
    const [left, right] = messageSpan(row, width);
    const away = Math.max(left - x, x - right, 0);
    if ((lane < 0 || message.lane[row] === lane) && away < distance) [best, distance] = [row, away];
  }
  return best;
}

/** The message of the segment of the critical path at a time on a thread, or -1. */
function onPath(thread, time) {
  const path = view.run.analysis?.path ?? [];
  const found = path.find(([from, length, , , place]) => place === thread && from <= time && time <= from + length);
  return found?.[5] ? found[5] - 1 : -1;
}
