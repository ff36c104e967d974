// SPDX-License-Identifier: MIT OR Apache-2.0
// Words, numbers and elements.

/** An element with attributes, listeners (`onclick`...) and children. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** A whole number with its thousands apart. */
const whole = (number) => Math.round(number).toLocaleString("en-US");

/** A number of few digits. */
function short(number) {
  const size = Math.abs(number);
  if (Number.isInteger(number) || size >= 1000) return whole(number);
  if (size >= 100) return number.toFixed(1);
  return String(Number(number.toPrecision(4)));
}

const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

/** How times are shown: in cycles, or in seconds. */
const units = { cycles: true };

/** A duration in picoseconds, in the unit that is shown. */
function duration(ps, run) {
  return units.cycles ? `${short(ps / run.cycle)} cycle${ps === run.cycle ? "" : "s"}` : seconds(ps);
}

/** A duration in seconds with a fitting prefix. */
function seconds(ps) {
  const size = Math.abs(ps);
  if (size >= 1e9) return `${short(ps / 1e9)} ms`;
  if (size >= 1e6) return `${short(ps / 1e6)} µs`;
  if (size >= 1e3) return `${short(ps / 1e3)} ns`;
  return `${short(ps)} ps`;
}

/** A moment since the machine's reset. */
function moment(ps, run) {
  return units.cycles ? `cycle ${whole(Math.floor(ps / run.cycle))}` : `${(ps / 1e6).toFixed(3)} µs`;
}

/** A metric's name in words. */
const words = (name) => name.replaceAll("_", " ");

const plural = (count, noun) => `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;

/** What a thread's time goes to: operations of the driver are one category. */
const CATEGORIES = ["compute", "driver", "register", "wait", "lock"];
const CATEGORY_WORDS = {
  compute: "computation",
  driver: "operations of the driver",
  register: "register access",
  wait: "wait for a wake-up or another thread",
  lock: "wait for a lock",
};

/** The category of what a thread waits for, by its words. */
function categoryOf(why) {
  if (why === "compute") return 0;
  if (why.startsWith("register")) return 2;
  return why.endsWith("lock") ? 4 : 3;
}

/** Stages of a message: what group they are of, and until when they last. */
const STAGE_WORDS = {
  queue: ["software", "on its context's work queue, until the driver takes it"],
  start: ["software", "until the register write that tells the DMA engine of its descriptor is at the node"],
  fetch: ["engine", "until the DMA engine has read the descriptor"],
  inject: ["engine", "payload is read, until the first flit is on a link"],
  network: ["network", "until the last flit has left its last link"],
  reception: ["software", "until the driver takes the last packet out of the reception FIFO"],
  match: ["software", "until the driver has found its receive, or that there is none"],
  wait_for_receive: ["receive", "until its receive is posted"],
  ask: ["software", "until the register write that tells the DMA engine of the request for its data is at the node"],
  inject_request: ["engine", "until the request is on a link"],
  request_network: ["network", "until the request has left its last link"],
  serve_request: ["engine", "until the first flit of the data is on a link"],
  data_network: ["network", "until the last flit of the data has left its last link"],
  deliver: ["software", "until its receive or dispatch callback has ended"],
};
const GROUPS = {
  software: "software of the driver",
  engine: "DMA engine",
  network: "network",
  receive: "waits for its receive",
};
