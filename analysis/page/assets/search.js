// SPDX-License-Identifier: MIT OR Apache-2.0
// Search: ranks, nodes, links, messages, operations.

/** Most things that are offered. */
const OFFERS = 14;

const searching = { field: null, list: null, offers: [], chosen: 0 };

/** Offers for words: title, and what choosing one does. */
function offersFor(text) {
  const { run } = view;
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const offers = [];
  const number = Number(/\d+$/.exec(wanted)?.[0] ?? NaN);
  const kind = wanted.startsWith("#") ? "message" : wanted.replace(/\s*\d+$/, "");
  const may = (...names) => kind === "" || names.some((name) => name.startsWith(kind));
  if (!Number.isNaN(number)) {
    const group = run.groups.find(({ task }) => task === number);
    if (group && may("rank")) offers.push([`rank ${number} on node ${group.node}`, () => showRank(group)]);
    if (number < run.nodes && may("node")) offers.push([`node ${number}`, () => selectNode(number)]);
    if (number >= 1 && number <= run.message.count && may("message")) {
      const { message } = run;
      offers.push([`message #${number}: rank ${message.from[number - 1]} → rank ${message.to[number - 1]}, ${plural(message.bytes[number - 1], "byte")}`, () => select(number - 1, true)]);
    }
    if (kind === "tag") {
      for (let row = 0; row < run.message.count && offers.length < OFFERS; row++) {
        if (run.message.tag[row] === number) offers.push([`message #${row + 1} with tag ${number}: rank ${run.message.from[row]} → rank ${run.message.to[row]}`, () => select(row, true)]);
      }
    }
    if (kind === "cycle") offers.push([`cycle ${whole(number)}`, () => moveCursor(number * run.cycle)]);
    for (const link of run.links) {
      if (offers.length < OFFERS && link.node === number && may("link")) offers.push([`link ${link.name} of node ${link.node} to node ${link.to}`, () => selectPlace({ link: link.index })]);
    }
  }
  for (const link of run.links) {
    if (offers.length < OFFERS && wanted === `${link.node} ${link.name}`.toLowerCase()) offers.push([`link ${link.name} of node ${link.node} to node ${link.to}`, () => selectPlace({ link: link.index })]);
  }
  run.names.forEach((name, what) => {
    if (offers.length < OFFERS && words(name).toLowerCase().includes(wanted)) offers.push([`next: ${words(name)}`, () => nextSpan(what)]);
  });
  return offers.slice(0, OFFERS);
}

/** Shows a rank's row. */
function showRank(group) {
  selectNode(group.node);
  if (threadsPanel.height / rowLayout().rows.length < 11) pin([group.key], true);
  revealNode(group.node);
}

function selectNode(node) {
  selectPlace({ node });
  revealNode(node);
  changed("rows");
}

/** Moves the cursor to the next time that a thread does this, and selects its node. */
function nextSpan(what) {
  const { span, threads } = view.run;
  let best = Infinity;
  let found;
  for (const wraps of [false, true]) {
    for (const thread of threads) {
      let row = wraps ? thread.from : after(span.begin, view.cursor, thread.from, thread.to);
      while (row < thread.to && span.what[row] !== what) row++;
      if (row < thread.to && span.begin[row] < best) [best, found] = [span.begin[row], thread];
    }
    if (found) break;
  }
  if (!found) return;
  selectNode(found.node);
  moveCursor(best);
}

function offer() {
  const { field, list } = searching;
  searching.offers = offersFor(field.value);
  searching.chosen = Math.min(searching.chosen, Math.max(searching.offers.length - 1, 0));
  list.hidden = field.value.trim() === "";
  list.replaceChildren(...(searching.offers.length > 0
    ? searching.offers.map(([title, act], number) => make("li", { class: number === searching.chosen ? "chosen" : "", onpointerdown: (event) => { event.preventDefault(); take(act); } }, title))
    : [make("li", { class: "hint" }, "nothing is found")]));
}

function take(act) {
  searching.list.hidden = true;
  searching.field.blur();
  act();
}

/** The field and what it offers. */
function searchField() {
  searching.list = make("ul", { id: "offers", hidden: true });
  searching.field = make("input", { type: "search", placeholder: "search: rank 5, #33, node 7, tag 3, an operation", "aria-label": "search", oninput: () => { searching.chosen = 0; offer(); }, onfocus: offer, onblur: () => (searching.list.hidden = true), onkeydown: (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      searching.chosen = Math.max(searching.chosen + step, 0);
      offer();
    } else if (event.key === "Enter" && searching.offers[searching.chosen]) take(searching.offers[searching.chosen][1]);
    else if (event.key === "Escape") searching.field.blur();
  } });
  return make("div", { class: "search" }, searching.field, searching.list);
}
