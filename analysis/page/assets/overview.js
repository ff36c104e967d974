// SPDX-License-Identifier: MIT OR Apache-2.0
// The whole run: the critical path by kind, or the load of the network, with the span that is shown.

const overviewPanel = new Panel("whole run", drawOverview, markOverview);

const overviewX = (time, width) => {
  const [from, to] = extent(view.run);
  return GUTTER + ((time - from) / (to - from)) * (width - GUTTER);
};
const overviewTime = (x, width) => {
  const [from, to] = extent(view.run);
  return from + ((x - GUTTER) / (width - GUTTER)) * (to - from);
};

function drawOverview(context, width, height) {
  const { run } = view;
  const [from, to] = extent(run);
  const columns = Math.max(Math.floor(width - GUTTER), 1);
  const path = run.analysis ? 13 : 0;
  if (path) drawKinds(context, columns, from, to, 3, path - 3);
  const flits = new Float32Array(columns);
  for (const link of run.links) spread(run, link, from, to, columns, flits);
  const capacity = Math.max(...flits, 1e-9);
  const room = height - path - 6;
  context.fillStyle = colours["stage-network"];
  for (let column = 0; column < columns; column++) {
    const high = (flits[column] / capacity) * room;
    if (high > 0) context.fillRect(GUTTER + column, height - 2 - high, 1, high);
  }
  context.fillStyle = colours.muted;
  context.textAlign = "right";
  if (path) context.fillText("critical path", GUTTER - 8, 9);
  context.fillText("flits, all links", GUTTER - 8, path + (height - path) / 2);
}

/** Shares of kinds in the critical path, by pixel. */
function drawKinds(context, columns, from, to, top, height) {
  const step = (to - from) / columns;
  const shares = Array.from({ length: columns }, () => new Float32Array(view.head.kinds.length));
  for (const [begin, length, kind] of view.run.analysis.path) {
    const first = Math.max(Math.floor((begin - from) / step), 0);
    const last = Math.min(Math.floor((begin + length - from) / step), columns - 1);
    for (let column = first; column <= last; column++) {
      const left = from + column * step;
      shares[column][kind] += Math.min(begin + length, left + step) - Math.max(begin, left);
    }
  }
  shares.forEach((column, x) => {
    let y = top;
    column.forEach((time, kind) => {
      const high = (time / step) * height;
      context.fillStyle = colours.kinds[kind];
      if (high > 0.05) context.fillRect(GUTTER + x, y, 1, high);
      y += high;
    });
  });
}

function markOverview(context, width, height) {
  const left = overviewX(view.from, width);
  const right = Math.max(overviewX(view.to, width), left + 2);
  context.fillStyle = colours.panel;
  context.globalAlpha = 0.6;
  context.fillRect(GUTTER, 0, left - GUTTER, height);
  context.fillRect(right, 0, width - right, height);
  context.globalAlpha = 1;
  context.strokeStyle = colours.accent;
  context.strokeRect(left + 0.5, 0.5, right - left - 1, height - 1);
  for (const [time, colour] of [[view.head.failure?.ps, colours.bad], [view.mark, colours.accent], [view.cursor, colours.accent]]) {
    context.fillStyle = colour;
    if (Number.isFinite(time)) context.fillRect(overviewX(time, width) - 0.5, 0, 1.5, height);
  }
}
