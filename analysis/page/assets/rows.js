// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows of the timeline of ranks: of each thread and of the rank's messages where there is room, of a rank, or of several.

const THREAD = 17;
const SUBLANE = 6;
const SUBLANES = 4;
const GAP = 8;

/** Least and most height of a row that stands for a whole rank. */
const LOW = 4;
const HIGH = 40;

/** Heights of rows in the order in which they grow; 0 fits all rows into the panel, the last one has threads apart. */
const HEIGHTS = [0, LOW, 6, 8, 11, 16, 22, 30, HIGH, Infinity];

/** How rows are arranged. */
const rowing = {
  /** One of the heights. */
  height: 0,
  /** Nodes that share a row; 0 for each rank by itself, -1 for what fits. */
  together: -1,
  /** A key of `ORDERS`. */
  order: "rank",
  /** Keys of ranks that stay on top. */
  pinned: new Set(),
  /** Keys of shared rows that are opened. */
  opened: new Set(),
};

/** Orders of rows: title, and the value by which a rank's rows are sorted. */
const ORDERS = {
  rank: ["rank", () => 0],
  node: ["node", (_, group) => group.node],
  waiting: ["most waiting first", (run, group) => -timeIn(run, group, 3)],
  computing: ["most computation first", (run, group) => -timeIn(run, group, 0)],
  bytes: ["most bytes first", (run, group) => -(run.sent.get(group.task) ?? 0)],
};

/** A rank's time in a category over the whole run. */
function timeIn(run, { threads }, category) {
  return threads.reduce((sum, index) => sum + run.sums[category][index], 0);
}

/** Ranks of a run with their threads; threads of no rank are their node's. */
function groupsOf(run) {
  const groups = new Map();
  run.threads.forEach((thread, index) => {
    const key = thread.task === null ? `node ${thread.node}` : `rank ${thread.task}`;
    if (!groups.has(key)) groups.set(key, { key, task: thread.task, node: thread.node, threads: [] });
    groups.get(key).threads.push(index);
  });
  return [...groups.values()].sort((a, b) => (a.task ?? Infinity) - (b.task ?? Infinity) || a.node - b.node);
}

/** Numbers of nodes that may share a row: one, a line, a plane... */
function togethers(shape) {
  const sizes = [];
  let size = 1;
  for (const length of shape) {
    if (sizes.at(-1) !== size) sizes.push(size);
    size *= length;
  }
  return sizes;
}

/** Ranks as rows: each with what it stands for, `together` nodes a row. */
function bundles(groups, together) {
  if (together === 0) return groups.map((group) => ({ key: group.key, label: group.key, groups: [group] }));
  const found = new Map();
  for (const group of groups) {
    const first = Math.floor(group.node / together) * together;
    if (!found.has(first)) found.set(first, { key: `nodes ${first}/${together}`, label: together === 1 ? `node ${first}` : `nodes ${first}–${first + together - 1}`, groups: [] });
    found.get(first).groups.push(group);
  }
  return [...found.values()];
}

/** Height that a rank takes with its threads and messages apart. */
function apartHeight(group, lists) {
  const list = group.task === null ? undefined : lists.get(group.task);
  return group.threads.length * (THREAD + 2) + (list ? list.lanes * SUBLANE + 4 : 0) + GAP;
}

/** Rows of a run, from the top, for a panel in which `room` pixels are free. */
function rowsOf(run, room, shape) {
  const lists = (run.lists ??= messageLists(run));
  const value = ORDERS[rowing.order][1];
  const keyed = run.groups.map((group, number) => ({ group, number, value: value(run, group) }));
  keyed.sort((a, b) => a.value - b.value || a.number - b.number);
  const ordered = keyed.map(({ group }) => group);
  const pinned = ordered.filter(({ key }) => rowing.pinned.has(key));
  const others = ordered.filter(({ key }) => !rowing.pinned.has(key));
  const result = { rows: [], place: { threads: [], heights: [], tasks: new Map(), lanes: new Map() }, height: 4 };
  for (const group of pinned) addApart(result, run, group, lists);
  const left = room - result.height;
  const sum = others.reduce((sum, group) => sum + apartHeight(group, lists), 0);
  if (rowing.together <= 0 && (rowing.height === Infinity || (rowing.height === 0 && sum <= left))) {
    for (const group of others) addApart(result, run, group, lists);
  } else {
    const shared = rowing.together >= 0 ? bundles(others, rowing.together) : fitting(others, left, shape);
    const list = shared.flatMap((bundle) => (bundle.groups.length > 1 && rowing.opened.has(bundle.key) ? [bundle, ...bundles(bundle.groups, 0)] : [bundle]));
    const fit = Math.min(Math.max(Math.floor(left / Math.max(list.length, 1)), LOW), HIGH);
    const height = rowing.height === 0 ? fit : Math.min(rowing.height, HIGH);
    for (const bundle of list) addBundle(result, run, bundle, height, lists);
  }
  return { ...result, critical: criticalRows(run) };
}

/** Each rank by itself, or as few of them together as fit. */
function fitting(groups, room, shape) {
  if (rowing.height > 0) return bundles(groups, 0);
  let found = [];
  for (const together of [0, ...togethers(shape)]) {
    found = bundles(groups, together);
    if (found.length * LOW <= room) break;
  }
  return found;
}

/** Adds a rank with its threads and its messages apart. */
function addApart(result, run, group, lists) {
  const { rows, place } = result;
  const top = result.height;
  let y = top;
  for (const index of group.threads) {
    rows.push({ y, height: THREAD, threads: [index], label: threadLabel(run.threads[index].name, group.key), inset: true });
    place.threads[index] = y;
    place.heights[index] = THREAD;
    y += THREAD + 2;
  }
  const list = lists.get(group.task);
  if (group.task !== null && list) {
    const height = list.lanes * SUBLANE + 2;
    rows.push({ y, height, list, label: "messages", inset: true });
    place.lanes.set(group.task, { y, height: SUBLANE, lanes: true });
    y += height + 2;
  }
  if (group.task !== null) place.tasks.set(group.task, group);
  rows.push({ y: top, height: y - top - 2, group });
  result.height = y + GAP;
}

/** Adds a row that stands for one rank or several. */
function addBundle(result, run, { key, label, groups }, height, lists) {
  const { rows, place } = result;
  const y = result.height;
  const single = groups.length === 1 ? groups[0] : undefined;
  const list = single && single.task !== null && height >= 11 ? lists.get(single.task) : undefined;
  const tall = height - (list ? 5 : height > 5 ? 1 : 0);
  const threads = groups.flatMap(({ threads }) => threads);
  const marked = groups.length > 1 ? `${label} ${rowing.opened.has(key) ? "▾" : "▸"}` : label;
  rows.push({ y, height: tall, threads, label: marked, bundle: { key, groups } });
  if (list) rows.push({ y: y + tall, height: 4, list, flat: true });
  for (const group of groups) {
    for (const index of group.threads) {
      place.threads[index] = y;
      place.heights[index] = tall;
    }
    if (group.task === null) continue;
    place.tasks.set(group.task, group);
    place.lanes.set(group.task, { y: list ? y + tall : y, height: list ? 4 : tall, lanes: false });
  }
  result.height = y + height;
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
  run.sent = new Map();
  for (let row = 0; row < message.count; row++) {
    const task = message.by[row];
    run.sent.set(task, (run.sent.get(task) ?? 0) + message.bytes[row]);
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

let layout = null;

/** Layouts so far. */
let layouts = 0;

/** The layout of the rows of the run that is shown. */
function rowLayout() {
  const room = threadsPanel.height - RULER;
  if (layout?.run !== view.run || layout.room !== room) layout = { run: view.run, room, version: ++layouts, ...rowsOf(view.run, room, view.head.shape) };
  return layout;
}

/** Arranges the rows in another way. */
function arrange(changes) {
  Object.assign(rowing, changes);
  layout = null;
  changed("rows");
}

/** Taller or lower rows, around a place of the panel. */
function resizeRows(by, at = threadsPanel.height / 2) {
  const { height: content } = rowLayout();
  const share = ((threadsPanel.scroll ?? 0) + at - RULER) / Math.max(content, 1);
  const fit = rowLayout().rows.find(({ bundle }) => bundle)?.height ?? THREAD;
  const taller = HEIGHTS.findIndex((height) => height > fit);
  const place = rowing.height === 0 && by > 0 ? taller : HEIGHTS.indexOf(rowing.height) + by;
  arrange({ height: HEIGHTS[Math.min(Math.max(place, 0), HEIGHTS.length - 1)] });
  threadsPanel.scroll = share * rowLayout().height - at + RULER;
}

/** Pins ranks to the top, or lets them go. */
function pin(keys, on = keys.some((key) => !rowing.pinned.has(key))) {
  for (const key of keys) on ? rowing.pinned.add(key) : rowing.pinned.delete(key);
  arrange({});
}

/** Opens a row of several ranks, or closes it. */
function openBundle(key) {
  if (!rowing.opened.delete(key)) rowing.opened.add(key);
  arrange({});
}
