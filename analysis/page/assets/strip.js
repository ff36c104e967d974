// SPDX-License-Identifier: MIT OR Apache-2.0
// All links over time: a row a link, coloured by load.

const stripPanel = new Panel("links over time", drawStrip, markStrip);

/** Least height of a row of links, and of one that has a name. */
const LINK = 3;
const NAMED = 9;

/** Heights of a link's row; 0 fits all links into the panel, several in a row if they must. */
const LINK_HEIGHTS = [0, LINK, 5, NAMED, 12, 16];

/** Rows of links, each a range of `used`, and their height. */
function stripLayout() {
  const { used, nodes } = view.run;
  const room = stripPanel.height - RULER;
  const wanted = stripPanel.rows ?? 0;
  const key = `${view.run.number} ${room} ${wanted}`;
  if (stripLayout.key === key) return stripLayout.made;
  const each = Math.max(Math.floor(room / Math.max(used.length, 1)), 1);
  const whole = wanted > 0 || each >= LINK;
  const sizes = togethers(view.head.shape);
  const together = whole ? 0 : sizes.find((size) => (nodes / size) * LINK <= room) ?? nodes;
  const rows = [];
  for (const link of used) {
    const first = together === 0 ? link.node : link.node - (link.node % together);
    const last = rows.at(-1);
    if (together > 0 && last && last.node === first) last.until++;
    else rows.push({ node: first, from: link.row, until: link.row + 1 });
  }
  const height = wanted || Math.min(Math.max(Math.floor(room / Math.max(rows.length, 1)), LINK), 16);
  const made = { rows, together, row: height, content: rows.length * height };
  Object.assign(stripLayout, { key, made });
  return made;
}

/** The number of the row of a link. */
function stripRow(link) {
  const { rows } = stripLayout();
  return rows.findIndex(({ from, until }) => link.row >= from && link.row < until);
}

function resizeLinks(by) {
  const place = LINK_HEIGHTS.indexOf(stripPanel.rows ?? 0) + by;
  stripPanel.rows = LINK_HEIGHTS[Math.min(Math.max(place, 0), LINK_HEIGHTS.length - 1)];
  changed("rows");
}

function drawStrip(context, width, height) {
  const { used: links } = view.run;
  const { rows, row, content } = stripLayout();
  const scroll = scrolled(stripPanel, content);
  const columns = Math.max(Math.floor(width - GUTTER), 1);
  const first = Math.floor(scroll / row);
  const shown = rows.slice(first, first + Math.ceil((height - RULER) / row) + 1);
  drawRuler(context, width, RULER);
  if (links.length === 0 || shown.length === 0) return;
  const top = RULER + first * row - scroll;
  const items = shown.reduce((sum, { from, until }) => links.slice(from, until).reduce((sum, link) => sum + hopsInView(link), sum + columns / 16), 0);
  const kind = `${view.run.number} ${columns} ${first} ${shown.length} ${row}|${colours.panel}`;
  context.save();
  context.beginPath();
  context.rect(0, RULER, width, height - RULER);
  context.clip();
  stripSketch.draw(context, { kind, columns, lines: shown.length, tall: row, items, top, paint: (pixels) => paintLinks(pixels, shown, columns) });
  labelLinks(context, shown, top, row, width);
  context.restore();
  drawScroll(context, width, height, scroll, content);
}

const stripSketch = new Sketch(stripPanel);

const hopsInView = (link) => after(view.run.hop.begin, view.to, link.from, link.until) - after(view.run.hop.begin, view.from, link.from, link.until);

/** Of each row the load of its busiest link, by pixel. */
function* paintLinks(pixels, rows, columns) {
  const { run, from: begin, to: end } = view;
  const ramp = Uint32Array.from(colours.ramp, ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r);
  const capacity = (end - begin) / run.cycle / columns;
  const flits = new Float32Array(columns);
  const most = new Float32Array(columns);
  for (const [place, { from, until }] of rows.entries()) {
    most.fill(0);
    for (const link of run.used.slice(from, until)) {
      flits.fill(0);
      spread(run, link, begin, end, columns, flits);
      for (let column = 0; column < columns; column++) if (flits[column] > most[column]) most[column] = flits[column];
      yield;
    }
    for (let column = 0; column < columns; column++) pixels[place * columns + column] = ramp[shade(most[column] / capacity)];
  }
}

/** Words for a row of the strip. */
function stripName({ node, from }, together) {
  if (together > 1) return `nodes ${node}–${Math.min(node + together, view.run.nodes) - 1}`;
  if (together === 1) return `node ${node}`;
  const link = view.run.used[from];
  return `${link.node} ${link.name} → ${link.to}`;
}

/** Names of rows as far as they are readable, and a line where a node begins. */
function labelLinks(context, shown, top, row, width) {
  const { together } = stripLayout();
  context.textAlign = "right";
  let labelled = -Infinity;
  const names = row >= 12;
  shown.forEach((line, place) => {
    const y = top + place * row;
    const begins = place === 0 || shown[place - 1].node !== line.node;
    if (begins && row >= 4 && together === 0) {
      context.fillStyle = colours.line;
      context.fillRect(0, y, width, 1);
    }
    if (y - labelled < (names ? row : 12) || (!names && !begins)) return;
    context.fillStyle = line.node === view.head.failure?.node ? colours.bad : colours.muted;
    const text = names || together > 0 ? stripName(line, together) : `node ${line.node}`;
    context.fillText(fitted(context, text, GUTTER - 14), GUTTER - 8, names ? y + row / 2 : y + Math.max(row / 2, 6));
    labelled = y;
  });
}

function markStrip(context, width, height) {
  const { row, content } = stripLayout();
  const scroll = scrolled(stripPanel, content);
  const top = (index) => RULER + index * row - scroll;
  context.save();
  context.beginPath();
  context.rect(0, RULER, width, height - RULER);
  context.clip();
  const chosen = view.run.links[view.link];
  if (chosen?.row !== undefined) {
    context.strokeStyle = colours.accent;
    context.strokeRect(0.5, top(stripRow(chosen)) + 0.5, width - 1, row - 1);
  }
  if (view.message >= 0) markHops(context, width, top, row);
  context.restore();
  drawCursor(context, width, height, view.run.threads.length === 0);
}

/** The selected message's packets on their links. */
function markHops(context, width, top, row) {
  const { run } = view;
  const { hop, packets, links } = run;
  context.fillStyle = context.strokeStyle = colours.lit;
  context.lineWidth = 1.5;
  for (const place of packetsOf(run, view.message)) {
    for (let h = packets.hops[place]; h < packets.hops[place + 1]; h++) {
      const number = packets.hop[h];
      const left = Math.max(across(hop.begin[number], width), GUTTER);
      const right = across(hop.begin[number] + hop.time[number], width);
      if (right < GUTTER || left > width) continue;
      const y = top(stripRow(links[hop.link[number]]));
      context.strokeRect(left - 0.5, y + 0.5, Math.max(right - left, 2), row - 1);
      if (row < 5) context.fillRect(left - 1, y - 1, 3, row + 2);
    }
  }
}

/** What is at a place of the strip: a link (of several the busiest there), and the packet there. */
function stripAt(x, y) {
  const { run } = view;
  const width = stripPanel.width;
  const time = timeAt(x, width);
  const { rows, row, together } = stripLayout();
  const line = rows[Math.floor((y - RULER + (stripPanel.scroll ?? 0)) / row)];
  if (y < RULER || !line) return { time };
  const pixel = (view.to - view.from) / (width - GUTTER);
  const [from, to] = x < GUTTER ? [view.from, view.to] : [time - pixel, time + pixel];
  const loads = run.used.slice(line.from, line.until).map((link) => [loadOf(run, link, from, to), link]);
  const [, link] = loads.reduce((most, one) => (one[0] > most[0] ? one : most));
  const within = together > 0 ? stripName(line, together) : undefined;
  if (x < GUTTER) return { time, link, within };
  return { time, link, within, hop: hopAt(run, link, time, 3 * pixel), pixel };
}

/** The packet on a link that is nearest to a time, within a distance, or -1. */
function hopAt(run, link, time, within) {
  const { hop } = run;
  let best = -1;
  let distance = within;
  let number = after(hop.begin, time - link.longest - within, link.from, link.until);
  for (; number < link.until && hop.begin[number] <= time + within; number++) {
    const away = Math.max(hop.begin[number] - time, time - hop.begin[number] - hop.time[number], 0);
    if (away < distance || (away === 0 && best < 0)) [best, distance] = [number, away];
  }
  return best;
}
