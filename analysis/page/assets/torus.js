// SPDX-License-Identifier: MIT OR Apache-2.0
// The torus, its links coloured by their load around the cursor.

const torusPanel = new Panel("torus", drawTorus, markTorus);

/** Where the picture lies: pixels a unit, and its shift. */
const camera = { zoom: 1, x: 0, y: 0 };

/** Cycles over which loads are taken; 0 for a hundredth of the span that is shown, -1 for all of it. */
let loadCycles = 0;

/** The span around the cursor over which loads are taken; it lies in what is shown. */
function loadSpan() {
  const { run, from, to, cursor } = view;
  if (loadCycles < 0) return [from, to];
  const wanted = loadCycles > 0 ? loadCycles * run.cycle : Math.max((to - from) / 100, 64 * run.cycle);
  const length = Math.min(wanted, to - from);
  const begin = Math.min(Math.max(cursor - length / 2, from), to - length);
  return [begin, begin + length];
}

/**
 * Places of nodes: dimensions a and b across and down, c along a diagonal within each place of those, d and e as blocks
 * beside and below each other.
 */
function placesOf(shape) {
  const [a, b = 1, c = 1, d = 1, e = 1] = shape;
  const step = 0.52;
  const cell = 1 + (c - 1) * step;
  const block = [a * cell + 0.9, b * cell + 0.9];
  const nodes = [];
  const count = shape.reduce((product, size) => product * size, 1);
  for (let node = 0; node < count; node++) {
    const at = [];
    let rest = node;
    for (const size of [a, b, c, d, e]) {
      at.push(rest % size);
      rest = Math.floor(rest / size);
    }
    const x = at[3] * block[0] + at[0] * cell + at[2] * step;
    const y = at[4] * block[1] + at[1] * cell + (c - 1 - at[2]) * step;
    nodes.push({ x, y, at });
  }
  return { nodes, width: d * block[0] - 0.9 - cell + (c - 1) * step, height: e * block[1] - 0.9 - cell + (c - 1) * step };
}

/** Directions in which links of each dimension leave. */
const DIRECTIONS = [[1, 0], [0, 1], [0.707, -0.707], [0.94, 0.34], [-0.34, 0.94]];

let torusLayout = null;

function torus() {
  if (torusLayout?.run === view.run) return torusLayout;
  const places = placesOf(view.head.shape);
  const links = view.run.links.filter(({ port }) => port < 2 * view.head.shape.length);
  torusLayout = { run: view.run, ...places, links, segments: [] };
  return torusLayout;
}

/** Pixels of a place. */
function projection(width, height) {
  const { width: across, height: down } = torus();
  const unit = Math.min((width - 84) / Math.max(across, 0.8), (height - 84) / Math.max(down, 0.8), 120) * camera.zoom;
  const left = width / 2 - (across * unit) / 2 + camera.x;
  const top = height / 2 - (down * unit) / 2 + camera.y;
  return { unit, at: ({ x, y }) => [left + x * unit, top + y * unit] };
}

function drawTorus(context, width, height) {
  const { run } = view;
  const { nodes, links } = torus();
  const { unit, at } = projection(width, height);
  const [from, to] = loadSpan();
  const size = Math.min(Math.max(unit * 0.2, 2.5), 14);
  const route = routeLinks();
  const segments = [];
  const ordered = links.map((link) => ({ link, load: loadOf(run, link, from, to) })).sort((p, q) => p.load - q.load);
  for (const { link, load } of ordered) {
    for (const ends of linkLines(link, nodes, at, unit, size)) segments.push({ ends, link, load });
  }
  torusLayout.segments = segments;
  const thick = Math.min(Math.max(unit / 22, 1), 4);
  for (const { ends, link } of segments) {
    if (route.has(link.index) || link.index === view.link) {
      line(context, ends, thick + 5, link.index === view.link ? colours.accent : colours.lit);
    }
  }
  strokeLoads(context, segments, thick);
  if (unit > 34) for (const { ends, load } of segments) head(context, ends, thick, colours.load(load));
  drawNodes(context, nodes, at, size, unit);
}

/** Lines of links in the order of their loads, those of one colour at once. */
function strokeLoads(context, segments, thick) {
  let colour;
  for (const { ends: [x1, y1, x2, y2], load } of segments) {
    if (colours.load(load) !== colour) {
      if (colour) context.stroke();
      colour = colours.load(load);
      context.strokeStyle = colour;
      context.lineWidth = thick + (load > 0 ? 0.6 : 0);
      context.lineCap = "butt";
      context.beginPath();
    }
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
  }
  if (colour) context.stroke();
}

/** A link's line on its right-hand side; of one around the edge, a stub at each end. */
function linkLines(link, nodes, at, unit, size) {
  const dimension = link.port >> 1;
  const minus = link.port & 1;
  const a = nodes[link.node];
  const b = nodes[link.to];
  const [x1, y1] = at(a);
  const [x2, y2] = at(b);
  const sign = minus ? -1 : 1;
  const straight = dimension < 3 && b.at[dimension] - a.at[dimension] === sign;
  const [dx, dy] = DIRECTIONS[dimension].map((part) => part * sign);
  const aside = Math.min(Math.max(unit * 0.045, 1.2), 3.5);
  const [sx, sy] = [-dy * aside, dx * aside];
  if (straight) return [[x1 + dx * size + sx, y1 + dy * size + sy, x2 - dx * size + sx, y2 - dy * size + sy]];
  const length = size + Math.min(unit * 0.24, 26);
  return [
    [x1 + dx * size + sx, y1 + dy * size + sy, x1 + dx * length + sx, y1 + dy * length + sy],
    [x2 - dx * length + sx, y2 - dy * length + sy, x2 - dx * size + sx, y2 - dy * size + sy],
  ];
}

function line(context, [x1, y1, x2, y2], thick, colour) {
  context.strokeStyle = colour;
  context.lineWidth = thick;
  context.lineCap = "butt";
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

function head(context, [x1, y1, x2, y2], thick, colour) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 10) return;
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [x, y] = [x1 + dx * length * 0.62, y1 + dy * length * 0.62];
  const size = thick + 2.2;
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x + dx * size, y + dy * size);
  context.lineTo(x - dx * size - dy * size, y - dy * size + dx * size);
  context.lineTo(x - dx * size + dy * size, y - dy * size - dx * size);
  context.fill();
}

function drawNodes(context, nodes, at, size, unit) {
  const { message, threads } = view.run;
  const ends = new Map();
  if (view.message >= 0) {
    for (const [task, colour] of [[message.to[view.message], colours.lit], [message.from[view.message], colours.accent]]) {
      const thread = threads.find((thread) => thread.task === task);
      if (thread) ends.set(thread.node, colour);
    }
  }
  context.textAlign = "center";
  const failing = view.head.failure?.node;
  // Numbers of nodes, where they fit.
  const font = Math.min(Math.floor(size * 1.35), 12);
  const numbers = font >= 8 && size * 2 > String(nodes.length - 1).length * font * 0.56;
  context.font = FONT.replace("12px", `${font}px`);
  nodes.forEach((place, node) => {
    const [x, y] = at(place);
    if (node === view.node || node === failing) {
      context.fillStyle = node === failing ? colours.bad : colours.accent;
      context.beginPath();
      context.roundRect(x - size - 4, y - size - 4, 2 * size + 8, 2 * size + 8, 4);
      context.fill();
    }
    context.fillStyle = ends.get(node) ?? colours.panel;
    context.strokeStyle = ends.get(node) ?? colours.muted;
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(x - size, y - size, 2 * size, 2 * size, Math.min(size / 3, 4));
    context.fill();
    context.stroke();
    if (!numbers) return;
    context.fillStyle = ends.has(node) ? colours.panel : colours.text;
    context.fillText(String(node), x, y + 0.5);
  });
  context.font = FONT;
  if (!numbers) nameNodes(context, nodes, at, size, unit);
}

/** Numbers of the first and last nodes of the lines of the first dimension, and of the selected one, where most do not fit. */
function nameNodes(context, nodes, at, size, unit) {
  const [a, , c = 1] = view.head.shape;
  context.fillStyle = colours.muted;
  nodes.forEach((place, node) => {
    const [x, y] = at(place);
    const corner = (place.at[2] === 0 || place.at[2] === c - 1) && (place.at[0] === 0 || place.at[0] === a - 1);
    if (corner && unit * c > 60) {
      const before = place.at[2] === 0;
      context.textAlign = before ? "right" : "left";
      context.fillText(String(node), before ? x - size - 3 : x + size + 3, before ? y + size + 6 : y - size - 5);
    }
  });
  const chosen = nodes[view.node];
  if (!chosen) return;
  const [x, y] = at(chosen);
  context.textAlign = "left";
  context.font = `600 ${FONT}`;
  const text = `node ${view.node}`;
  context.fillStyle = colours.panel;
  context.fillRect(x + size + 5, y - 8, context.measureText(text).width + 6, 16);
  context.fillStyle = colours.accent;
  context.fillText(text, x + size + 8, y);
  context.font = FONT;
}

/** Links that the selected message has taken. */
function routeLinks() {
  const { run } = view;
  const links = new Set();
  if (view.message < 0) return links;
  const { packets, hop } = run;
  for (const place of packetsOf(run, view.message)) {
    if (packets.role[place] === 5) continue;
    for (let h = packets.hops[place]; h < packets.hops[place + 1]; h++) links.add(hop.link[packets.hop[h]]);
  }
  return links;
}

/** The dimensions' directions in the corner. */
function markTorus(context, width, height) {
  const dimensions = view.head.shape.length;
  const [x, y] = dimensions > 3 ? [34, height - 44] : [26, height - 30];
  context.textAlign = "center";
  for (let d = 0; d < dimensions; d++) {
    if (view.head.shape[d] === 1) continue;
    const [dx, dy] = DIRECTIONS[d];
    // Those of blocks are longer, beyond the others' letters.
    const [arm, letter] = d < 3 ? [14, 21] : [26, 33];
    line(context, [x, y, x + dx * arm, y + dy * arm], 1.2, colours.muted);
    context.fillStyle = colours.muted;
    context.fillText("abcde"[d], x + dx * letter, y + dy * letter);
  }
}

/** The link nearest to a place of the panel, with its load, or nothing. */
function torusAt(x, y) {
  let best;
  let distance = 5;
  for (const segment of torus().segments) {
    const [x1, y1, x2, y2] = segment.ends;
    const [dx, dy] = [x2 - x1, y2 - y1];
    const share = Math.min(Math.max(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1), 0), 1);
    const away = Math.hypot(x1 + share * dx - x, y1 + share * dy - y);
    if (away < distance) [best, distance] = [segment, away];
  }
  return best;
}

/** The node nearest to a place of the panel, if that is on it; or -1. */
function torusNodeAt(x, y) {
  const { unit, at } = projection(torusPanel.width, torusPanel.height);
  const size = Math.min(Math.max(unit * 0.2, 2.5), 14) + 1;
  let best = -1;
  let distance = size;
  torus().nodes.forEach((place, node) => {
    const [left, top] = at(place);
    const away = Math.max(Math.abs(left - x), Math.abs(top - y));
    if (away < distance) [best, distance] = [node, away];
  });
  return best;
}
