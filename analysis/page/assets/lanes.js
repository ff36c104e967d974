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

/** The cursor's line, with its time where there is a ruler. */
function drawCursor(context, width, height, ruler) {
  const x = across(view.cursor, width);
  if (x < GUTTER || x > width) return;
  context.fillStyle = colours.accent;
  context.fillRect(Math.round(x) - 0.5, 0, 1.5, height);
  if (!ruler) return;
  const text = moment(view.cursor, view.run);
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
