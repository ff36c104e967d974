// SPDX-License-Identifier: MIT OR Apache-2.0
// Canvases in two layers: what changes with the span of time, and what changes with the cursor.

/** Colours of the scheme that is shown, by name. */
let colours = {};

const COLOUR_NAMES = [
  "panel", "sunken", "text", "muted", "line", "accent", "lit", "good", "bad",
  ...CATEGORIES, ...Object.keys(GROUPS).map((name) => `stage-${name}`),
];

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  colours = Object.fromEntries(COLOUR_NAMES.map((name) => [name, colour(name)]));
  colours.kinds = view.head.kinds.map((name) => colour(`kind-${name}`));
  const stops = colour("load").split(" ").map((hex) => [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16)));
  // By square root, so that light loads are told apart.
  colours.ramp = Array.from({ length: 256 }, (_, step) => mixed(stops, step / 255));
  const loads = colours.ramp.map(([r, g, b]) => `rgb(${r} ${g} ${b})`);
  colours.load = (load) => loads[shade(load)];
}

/** A colour `#rrggbb` as a pixel of an image. */
const packed = (hex) => [5, 3, 1].reduce((pixel, place) => pixel * 256 + parseInt(hex.slice(place, place + 2), 16), 255);

/** The place of a load in the ramp of colours. */
const shade = (load) => Math.min(Math.round(Math.sqrt(Math.max(load, 0)) * 255), 255);

function mixed(stops, share) {
  const place = share * (stops.length - 1);
  const stop = Math.min(Math.floor(place), stops.length - 2);
  return stops[stop].map((value, part) => Math.round(value + (stops[stop + 1][part] - value) * (place - stop)));
}

const FONT = "12px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

/** A canvas panel that fills its element; `draw` and `mark` draw its two layers. */
class Panel {
  constructor(name, draw, mark) {
    this.draw = draw;
    this.mark = mark;
    this.width = 0;
    this.height = 0;
    this.base = make("canvas");
    this.top = make("canvas", { tabindex: "0", "aria-label": name });
    this.element = make("div", { class: `panel canvas ${name.replaceAll(" ", "-")}` }, this.base, this.top);
    new ResizeObserver(() => this.fit()).observe(this.element);
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.element;
    const scale = window.devicePixelRatio || 1;
    Object.assign(this, { width, height, scale });
    for (const canvas of [this.base, this.top]) {
      canvas.width = Math.max(Math.round(width * scale), 1);
      canvas.height = Math.max(Math.round(height * scale), 1);
    }
    this.redraw();
  }

  redraw() {
    if (this.width < 2 || this.height < 2 || !view.run) return;
    this.draw(this.begin(this.base), this.width, this.height);
    this.remark();
  }

  remark() {
    if (this.width < 2 || this.height < 2 || !view.run) return;
    this.mark(this.begin(this.top), this.width, this.height);
  }

  begin(canvas) {
    const context = canvas.getContext("2d");
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = FONT;
    context.textBaseline = "middle";
    return context;
  }
}

/** Text cut to a width. */
function fitted(context, text, width) {
  if (width < 8) return "";
  if (context.measureText(text).width <= width) return text;
  let length = Math.floor((text.length * width) / context.measureText(text).width);
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return length > 1 ? `${text.slice(0, length)}…` : "";
}

/** The box beside the pointer. */
const tip = make("div", { id: "tip", hidden: true });

function showTip(event, lines) {
  tip.hidden = lines.length === 0;
  if (tip.hidden) return;
  tip.replaceChildren(...lines.map((line, number) => make("div", { class: number === 0 ? "first" : "" }, line)));
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = event.clientX + 14 + width > innerWidth ? event.clientX - width - 10 : event.clientX + 14;
  const below = event.clientY + 14 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 14;
  tip.style.transform = `translate(${Math.max(left, 2)}px, ${Math.max(below, 2)}px)`;
}

const hideTip = () => showTip(null, []);
