// SPDX-License-Identifier: MIT OR Apache-2.0
// All links over time: a row a link, coloured by load.

const stripPanel = new Panel("links over time", drawStrip, markStrip);

/** Height of a link's row, and what is drawn of each. */
function stripLayout() {
  const count = view.run.used.length;
  const room = stripPanel.height - RULER;
  const row = count === 0 ? 1 : Math.min(Math.max(Math.floor(room / count), 3), 16);
  return { row, content: count * row };
}

function drawStrip(context, width, height) {
  const { used: links, cycle } = view.run;
  const { row, content } = stripLayout();
  const scroll = scrolled(stripPanel, content);
  const columns = Math.max(Math.floor(width - GUTTER), 1);
  const first = Math.floor(scroll / row);
  const shown = links.slice(first, first + Math.ceil((height - RULER) / row) + 1);
  drawRuler(context, width, RULER);
  if (links.length === 0 || shown.length === 0) return;
  const image = new ImageData(columns, shown.length);
  const pixels = new Uint32Array(image.data.buffer);
  const ramp = Uint32Array.from(colours.ramp, ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r);
  const capacity = (view.to - view.from) / cycle / columns;
  const flits = new Float32Array(columns);
  shown.forEach((link, place) => {
    flits.fill(0);
    spread(view.run, link, view.from, view.to, columns, flits);
    for (let column = 0; column < columns; column++) {
      pixels[place * columns + column] = ramp[shade(flits[column] / capacity)];
    }
  });
  const picture = drawStrip.picture ??= document.createElement("canvas");
  picture.width = columns;
  picture.height = shown.length;
  picture.getContext("2d").putImageData(image, 0, 0);
  context.save();
  context.beginPath();
  context.rect(0, RULER, width, height - RULER);
  context.clip();
  context.imageSmoothingEnabled = false;
  const top = RULER + first * row - scroll;
  context.drawImage(picture, GUTTER, top, columns, shown.length * row);
  labelLinks(context, shown, top, row, width);
  context.restore();
  drawScroll(context, width, height, scroll, content);
}

/** Names of links as far as they are readable, and a line where a node begins. */
function labelLinks(context, shown, top, row, width) {
  context.textAlign = "right";
  if (row < 12) context.font = FONT.replace("11px", "9.5px");
  let labelled = -Infinity;
  const names = row >= 9;
  shown.forEach((link, place) => {
    const y = top + place * row;
    const begins = place === 0 || shown[place - 1].node !== link.node;
    if (begins && row >= 4) {
      context.fillStyle = colours.line;
      context.fillRect(0, y, width, 1);
    }
    if (y - labelled < (names ? row : 11) || (!names && !begins)) return;
    context.fillStyle = colours.muted;
    const text = names ? `${link.node} ${link.name} → ${link.to}` : `node ${link.node}`;
    context.fillText(fitted(context, text, GUTTER - 14), GUTTER - 8, names ? y + row / 2 : y + 6);
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
  const chosen = view.run.links[view.link]?.row;
  if (chosen !== undefined) {
    context.strokeStyle = colours.accent;
    context.globalAlpha = 0.6;
    context.strokeRect(0.5, top(chosen) + 0.5, width - 1, row - 1);
    context.globalAlpha = 1;
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
      const y = top(links[hop.link[number]].row);
      context.strokeRect(left - 0.5, y + 0.5, Math.max(right - left, 2), row - 1);
      if (row < 5) context.fillRect(left - 1, y - 1, 3, row + 2);
    }
  }
}

/** What is at a place of the strip: a link, and the packet there. */
function stripAt(x, y) {
  const { run } = view;
  const width = stripPanel.width;
  const time = timeAt(x, width);
  const { row } = stripLayout();
  const index = Math.floor((y - RULER + (stripPanel.scroll ?? 0)) / row);
  if (y < RULER || index >= run.used.length) return { time };
  const link = run.used[index];
  if (x < GUTTER) return { time, link };
  const pixel = (view.to - view.from) / (width - GUTTER);
  return { time, link, hop: hopAt(run, link, time, 3 * pixel), pixel };
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
