// SPDX-License-Identifier: MIT OR Apache-2.0
// The axis of time that the lanes share: labels on the left, time to the right.

const GUTTER = 158;
const RULER = 22;

/** Pixels of a time in a panel of this width. */
const across = (time, width) => GUTTER + ((time - view.from) / (view.to - view.from)) * (width - GUTTER);

/** The time at these pixels. */
const timeAt = (x, width) => view.from + ((x - GUTTER) / (width - GUTTER)) * (view.to - view.from);

/** Distance of ticks: 1, 2 or 5 times a power of ten, in cycles or nanoseconds. */
function tickStep(width, from, to) {
  const unit = units.cycles ? view.run.cycle : 1000;
  const wanted = ((to - from) / unit / Math.max(width / 110, 1));
  const power = 10 ** Math.floor(Math.log10(Math.max(wanted, units.cycles ? 1 : 1e-3)));
  const factor = [1, 2, 5, 10].find((times) => times * power >= wanted) ?? 10;
  return factor * power * unit;
}

function tickText(time, step) {
  if (units.cycles) return whole(time / view.run.cycle);
  const digits = Math.max(0, 6 - Math.floor(Math.log10(step)));
  return `${(time / 1e6).toFixed(Math.min(digits, 6))} µs`;
}

/** Ticks between two times with their texts, drawn over `height`. */
function drawRuler(context, width, height) {
  const step = tickStep(width - GUTTER, view.from, view.to);
  context.fillStyle = colours.sunken;
  context.fillRect(0, 0, width, RULER);
  context.fillStyle = colours.muted;
  context.textAlign = "right";
  context.fillText(units.cycles ? "cycle" : "time", GUTTER - 8, RULER / 2);
  context.textAlign = "left";
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    const x = Math.round(across(time, width)) + 0.5;
    context.fillStyle = colours.line;
    context.fillRect(x - 0.5, RULER - 5, 1, height - RULER + 5);
    context.fillStyle = colours.muted;
    const text = tickText(time, step);
    if (x + 4 + context.measureText(text).width < width) context.fillText(text, x + 4, RULER / 2);
  }
}

/** The cursors' lines, with the time where there is a ruler; and where a run has failed. */
function drawCursor(context, width, height, ruler) {
  const failed = view.head.failure?.ps;
  if (typeof failed === "number") drawLine(context, width, height, failed, colours.bad, [], ruler && "failure");
  if (!Number.isNaN(view.mark)) {
    const [left, right] = chosenSpan().map((time) => Math.min(Math.max(across(time, width), GUTTER), width));
    context.globalAlpha = 0.12;
    context.fillStyle = colours.accent;
    context.fillRect(left, 0, right - left, height);
    context.globalAlpha = 1;
    drawLine(context, width, height, view.mark, colours.accent, [5, 4], ruler && moment(view.mark, view.run));
  }
  drawLine(context, width, height, view.cursor, colours.accent, [], ruler && moment(view.cursor, view.run));
}

/** A line at a time, with a text on the ruler. */
function drawLine(context, width, height, time, colour, dashes, text) {
  const x = across(time, width);
  if (x < GUTTER - 0.5 || x > width + 0.5) return;
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash(dashes);
  context.beginPath();
  context.moveTo(Math.min(Math.round(x), width - 1), 0);
  context.lineTo(Math.min(Math.round(x), width - 1), height);
  context.stroke();
  context.setLineDash([]);
  if (!text) return;
  const length = context.measureText(text).width + 10;
  const left = Math.min(Math.max(x - length / 2, GUTTER), width - length);
  context.beginPath();
  context.roundRect(left, 2, length, RULER - 5, 4);
  context.fill();
  context.fillStyle = colours.panel;
  context.textAlign = "left";
  context.fillText(text, left + 5, RULER / 2);
}

/** The last of a range of spans sorted by begin that begins at `time` or before, or -1. */
function spanAt(begin, from, to, time) {
  const next = after(begin, time, from, to);
  return next > from ? next - 1 : -1;
}

/** Pixels that the content of a panel may be scrolled down, kept in bounds. */
function scrolled(panel, content) {
  panel.scroll = Math.min(Math.max(panel.scroll ?? 0, 0), Math.max(content - panel.height + RULER, 0));
  return panel.scroll;
}

/** A bar that shows how far a panel is scrolled. */
function drawScroll(context, width, height, scroll, content) {
  const room = height - RULER;
  if (content <= room) return;
  context.fillStyle = colours.muted;
  context.globalAlpha = 0.5;
  const length = Math.max((room * room) / content, 24);
  context.beginPath();
  context.roundRect(width - 7, RULER + ((room - length) * scroll) / (content - room), 5, length, 2.5);
  context.fill();
  context.globalAlpha = 1;
}
