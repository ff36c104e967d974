// SPDX-License-Identifier: MIT OR Apache-2.0
// The card of the selected link or node.

/** Rows of a card's tables. */
const CARD_ROWS = 12;

const placeElement = make("section", { class: "card", "aria-label": "link or node" });

function renderPlace() {
  const { run } = view;
  if (view.link >= 0) placeElement.replaceChildren(...linkCard(run, run.links[view.link]));
  else if (view.node >= 0) placeElement.replaceChildren(...nodeCard(run, view.node));
  else placeElement.replaceChildren(make("p", { class: "hint" }, "No link and no node is selected. Click one in the torus, or the name of a row."));
}

const fact = (name, value) => make("tr", {}, make("td", {}, name), make("td", { class: "number" }, value));

/** A button that looks like a link. */
function go(text, onclick) {
  return make("a", { href: "#", onclick: (event) => { event.preventDefault(); event.stopPropagation(); onclick(); } }, text);
}

function closing() {
  return [make("span", { class: "spacer" }), button("✕", "close (Esc)", () => selectPlace({}))];
}

function linkCard(run, link) {
  const [from, to] = chosenSpan();
  const [begin, end] = loadSpan();
  const all = extent(run);
  const { hop } = run;
  const owners = new Map();
  let packets = 0;
  let first = after(hop.begin, from - link.longest - 1, link.from, link.until);
  for (; first < link.until && hop.begin[first] < to; first++) {
    packets++;
    const { text, row } = ownerOf(run, first);
    const own = owners.get(text) ?? { text, row, flits: 0 };
    own.flits += hop.flits[first];
    owners.set(text, own);
  }
  const most = [...owners.values()].sort((a, b) => b.flits - a.flits);
  return [
    make("header", {}, make("h2", {}, `link ${link.name} of node ${link.node}`), make("span", { class: "route" }, "to ", go(`node ${link.to}`, () => selectPlace({ node: link.to }))), ...closing()),
    make("table", { class: "grid" }, make("tbody", {},
      fact("load in the whole run", percent(loadOf(run, link, ...all))),
      fact(spanWords(), percent(loadOf(run, link, from, to))),
      fact(`load in ${duration(end - begin, run)} around the cursor`, percent(loadOf(run, link, begin, end))),
      fact("flits, packets in the span", `${whole(flitsIn(run, link, from, to))}, ${whole(packets)}`),
    )),
    make("h3", {}, "Whose packets it carries", make("small", {}, `${plural(most.length, "owner")} in the span`)),
    make("table", { class: "grid pick" }, make("tbody", {}, ...most.slice(0, CARD_ROWS).map(({ text, row, flits }) => make("tr", { class: row >= 0 ? "go" : "", onclick: () => row >= 0 && select(row, true) }, make("td", {}, text), make("td", { class: "number" }, plural(flits, "flit")))))),
    make("p", {}, go(`node ${link.node}`, () => selectPlace({ node: link.node }))),
  ];
}

const spanWords = () => (Number.isNaN(view.mark) ? "in what is shown" : "between the cursors");

function nodeCard(run, node) {
  const [from, to] = chosenSpan();
  const at = torus().nodes[node].at.slice(0, view.head.shape.length);
  const ranks = ranksOf(run, node);
  const out = run.links.filter((link) => link.node === node);
  const into = run.links.filter((link) => link.to === node && link.node !== node);
  const { message } = run;
  const counts = { sent: 0, received: 0, sentBytes: 0, receivedBytes: 0 };
  const own = new Set(ranks);
  if (own.size > 0) {
    for (let row = after(message.posted, from, 0, message.count); row < message.count && message.posted[row] <= to; row++) {
      if (own.has(message.from[row])) [counts.sent, counts.sentBytes] = [counts.sent + 1, counts.sentBytes + message.bytes[row]];
      if (own.has(message.to[row])) [counts.received, counts.receivedBytes] = [counts.received + 1, counts.receivedBytes + message.bytes[row]];
    }
  }
  const keys = run.groups.filter((group) => group.node === node).map(({ key }) => key);
  const pinned = keys.some((key) => rowing.pinned.has(key));
  const failed = view.head.failure?.node === node ? [make("p", { class: "bad" }, "The run has failed here.")] : [];
  return [
    make("header", {}, make("h2", {}, `node ${node}`), make("span", { class: "route" }, `at (${at.join(", ")})`), ...closing()),
    ...failed,
    make("p", { class: "facts" }, ranks.length > 0 ? `rank${ranks.length > 1 ? "s" : ""} ${ranks.join(", ")}` : "no rank"),
    keys.length > 0 ? make("p", { class: "tools" }, button(pinned ? "let its rows go" : "pin its rows", "keep its rows on top (k)", () => { pin(keys, !pinned); changed("place"); }), ranks.length > 0 ? button("its messages", "list them", () => { table.rank = String(ranks[0]); renderMessages(); openTab("messages"); }) : "") : "",
    own.size > 0 ? make("table", { class: "grid" }, make("tbody", {},
      fact(`messages posted ${spanWords()} from here`, `${whole(counts.sent)}, ${whole(counts.sentBytes)} B`),
      fact("and to here", `${whole(counts.received)}, ${whole(counts.receivedBytes)} B`),
    )) : "",
    make("h3", {}, "Links from it"), linkRows(run, out, from, to, ({ to }) => `→ ${to}`),
    make("h3", {}, "Links to it"), linkRows(run, into, from, to, ({ node }) => `from ${node}`),
  ];
}

function linkRows(run, links, from, to, end) {
  return make("table", { class: "grid pick" }, make("tbody", {}, ...links.map((link) => {
    const load = loadOf(run, link, from, to);
    return make("tr", { class: "go", "data-link": link.index, onclick: () => selectPlace({ link: link.index }) },
      make("td", {}, `${link.name} ${end(link)}`),
      make("td", { class: "number" }, percent(load)),
      make("td", { class: "wide" }, make("span", { class: "meter", style: `width:${Math.max(load * 100, 0.5)}%;background:${colours.load(Math.max(load, 0.02))}` })),
    );
  })));
}

/** Ranks on a node. */
function ranksOf(run, node) {
  return [...new Set(run.threads.filter((thread) => thread.node === node && thread.task !== null).map(({ task }) => task))];
}
