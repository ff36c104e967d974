// SPDX-License-Identifier: MIT OR Apache-2.0
// The card of the selected message: its stages, its hops with what held them up, the command for its waveform.

/** Packets of a descriptor whose hops are shown at first. */
const PACKETS_SHOWN = 4;

/** Cycles before and after a message in its waveform. */
const MARGIN = 64;

const cardElement = make("section", { class: "card", "aria-label": "message" });

function renderCard() {
  const { run } = view;
  const row = view.message;
  if (row < 0) {
    const words = run.message.count > 0 ? "No message is selected. Click one in the timeline, the links or the table." : "No message was recorded: no driver ran.";
    cardElement.replaceChildren(make("p", { class: "hint" }, words));
    return;
  }
  const { message } = run;
  const how = ["message", "put", "get"][message.how[row]];
  const done = message.done[row];
  cardElement.replaceChildren(
    make("header", {},
      make("h2", {}, `${how} #${row + 1}`),
      make("span", { class: "route" }, `rank ${message.from[row]} → rank ${message.to[row]}`),
      make("span", { class: "spacer" }),
      button("‹", "previous message (p)", () => select(row - 1, true), row > 0),
      button("›", "next message (n)", () => select(row + 1, true), row + 1 < message.count),
      button("⤢", "zoom to the message (f)", () => fitMessage(row)),
      button("✕", "close (Esc)", () => select(-1)),
    ),
    make("p", { class: "facts" }, factsOf(row)),
    Number.isNaN(done) ? make("p", { class: "bad" }, "It was not done when recording ended.") : stagesOf(row),
    ...hopsOf(row),
    commandOf(row),
  );
}

function button(text, title, onclick, enabled = true) {
  return make("button", { type: "button", title, onclick, disabled: !enabled }, text);
}

function factsOf(row) {
  const { run } = view;
  const { message } = run;
  const context = (client, offset) => (client || offset ? `, client ${client} context ${offset}` : "");
  const facts = [
    `${plural(message.bytes[row], "byte")}`,
    `tag ${message.tag[row]}`,
    `posted in ${moment(message.posted[row], run)}`,
  ];
  const from = context(message.from_client[row], message.from_offset[row]);
  const to = context(message.to_client[row], message.to_offset[row]);
  if (from) facts.push(`from${from.slice(1)}`);
  if (to) facts.push(`to${to.slice(1)}`);
  if (message.asked[row] >= 0) facts.push("stayed at its origin until its data was asked for (rendezvous)");
  return facts.join(" · ");
}

function stagesOf(row) {
  const { run } = view;
  const { message, stage } = run;
  const total = message.total[row];
  const bar = make("div", { class: "bar", role: "img", "aria-label": "stages" });
  const rows = [];
  let begin = message.posted[row];
  for (let s = message.stage[row]; s < message.stage[row + 1]; s++) {
    const name = stage.names[stage.what[s]];
    const [group, until] = STAGE_WORDS[name];
    const time = stage.time[s];
    const at = begin;
    begin += time;
    if (time === 0) continue;
    const share = time / total;
    bar.append(make("i", { class: `stage-${group}`, style: `flex-grow:${share}`, title: `${words(name)}: ${duration(time, run)}` }));
    rows.push(
      make("tr", { title: until, class: "go", "data-ps": time, onclick: () => { moveCursor(at); } },
        make("td", {}, make("i", { class: `dot stage-${group}` }), words(name)),
        make("td", { class: "number" }, units.cycles ? short(time / run.cycle) : seconds(time)),
        make("td", { class: "number" }, percent(share)),
        make("td", {}, make("span", { class: `meter stage-${group}`, style: `width:${Math.max(share * 100, 0.5)}%` })),
      ),
    );
  }
  const usually = message.usual[row];
  const ratio = Number((total / usually).toPrecision(3));
  const compared = usually > 0 ? `, ${ratio === 1 ? "as" : `${short(ratio)} times as`} long as the median of those with as many bytes` : "";
  return make("div", { class: "stages" },
    make("p", { class: "total" }, make("b", {}, duration(total, run)), units.cycles ? ` = ${seconds(total)}` : "", ` from post to done${compared}`),
    bar,
    make("table", { class: "grid" },
      make("thead", {}, make("tr", {}, ...["stage", units.cycles ? "cycles" : "time", "share", ""].map((text) => make("th", {}, text)))),
      make("tbody", {}, ...rows),
      make("tfoot", {}, make("tr", {}, make("td", {}, "sum"), make("td", { class: "number", "data-ps": total }, units.cycles ? short(total / run.cycle) : seconds(total)), make("td", { class: "number" }, "100 %"), make("td", {}))),
    ),
  );
}

/** Tables of hops, one for each descriptor. */
function hopsOf(row) {
  const { run } = view;
  return packetsOf(run, row).map((place) => {
    const way = wayOf(run, place);
    const title = run.roles[run.packets.role[place]];
    if (way.length === 0) return make("p", { class: "hint" }, `${title}: crosses no link.`);
    const waited = way.reduce((sum, hop) => sum + hop.wait, 0);
    const packets = way.filter(({ link }) => link.node === way[0].link.node).length;
    const hops = way.length / Math.max(packets, 1);
    const body = make("tbody");
    const shown = Math.ceil(hops) * PACKETS_SHOWN;
    body.append(...way.slice(0, shown).map(hopRow));
    const more = way.length > shown
      ? button(`all ${whole(way.length)} hops`, "", (event) => {
          body.append(...way.slice(shown).map(hopRow));
          event.target.remove();
        })
      : undefined;
    return make("div", { class: "hops" },
      make("h3", {}, title, make("small", {}, `${plural(packets, "packet")}, ${plural(way.length, "hop")}, waited ${duration(waited, run)} in routers`)),
      make("table", { class: "grid" },
        make("thead", {}, make("tr", {}, ...["link", units.cycles ? "leaves in cycle" : "leaves at", "flits", "waited", "meanwhile on the link"].map((text) => make("th", {}, text)))),
        body,
      ),
      more,
    );
  });
}

function hopRow({ number, link, begin, flits, wait, others, idle }) {
  const { run } = view;
  const blame = others.sort((a, b) => b.time - a.time).slice(0, 3).map((other) => {
    const { text, row } = ownerOf(run, other.number);
    const time = duration(other.time, run);
    return row >= 0 ? make("a", { href: "#", onclick: (event) => { event.preventDefault(); event.stopPropagation(); select(row, true); } }, `${text} ${time}`) : make("span", {}, `${text} ${time}`);
  });
  if (idle > 0) blame.push(make("span", { class: "hint", title: "no credit of the next node, or its own input had not brought it" }, `nothing ${duration(idle, run)}`));
  return make("tr", { class: "go", onclick: () => { Object.assign(view, { link: link.index, node: -1 }); moveCursor(begin); changed("selection"); }, "data-hop": number },
    make("td", {}, `${link.node} ${link.name} → ${link.to}`),
    make("td", { class: "number" }, units.cycles ? whole(Math.floor(begin / run.cycle)) : `${(begin / 1e6).toFixed(3)} µs`),
    make("td", { class: "number" }, whole(flits)),
    make("td", { class: wait > 0 ? "number bad" : "number" }, wait > 0 ? (units.cycles ? short(wait / run.cycle) : seconds(wait)) : "0"),
    make("td", { class: "blame" }, ...(wait > 0 ? blame.flatMap((item, place) => (place > 0 ? [", ", item] : [item])) : [])),
  );
}

/** Nodes that a message's packets have been at, and those of its ranks. */
function nodesOf(row) {
  const { run } = view;
  const { message, threads, packets, hop, links } = run;
  const nodes = new Set(threads.filter(({ task }) => task === message.from[row] || task === message.to[row]).map(({ node }) => node));
  for (const place of packetsOf(run, row)) {
    if (packets.role[place] === 5) continue;
    for (let h = packets.hops[place]; h < packets.hops[place + 1]; h++) {
      const link = links[hop.link[packets.hop[h]]];
      nodes.add(link.node).add(link.to);
    }
  }
  return [...nodes].sort((a, b) => a - b);
}

/** The command that writes the message's waveform. */
function waveCommand(row) {
  const { run, head } = view;
  const from = Math.max(Math.floor(run.message.posted[row] / run.cycle) - MARGIN, 0);
  const done = run.message.done[row];
  const to = Math.ceil((Number.isNaN(done) ? run.end : done) / run.cycle) + MARGIN;
  const machine = head.numbers_machines && run.number > 0 ? ` --trace-machine ${run.number + 1}` : "";
  return `${head.command} --trace out/message-${row + 1}.fst --trace-window ${from}:${to} --trace-scope ${nodesOf(row).join(",")}${machine}`;
}

function commandOf(row) {
  const text = waveCommand(row);
  const code = make("code", {}, text);
  const copy = button("copy", "copy the command", () => {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    navigator.clipboard?.writeText(text).catch(() => document.execCommand("copy"));
    copy.textContent = "copied";
  });
  return make("div", { class: "command" }, make("h3", {}, "Its waveform", copy), code);
}

/** Shows the whole message and little else. */
function fitMessage(row) {
  const { message, end } = view.run;
  const to = Number.isNaN(message.done[row]) ? end : message.done[row];
  const margin = Math.max((to - message.posted[row]) * 0.1, 10 * view.run.cycle);
  showRange(message.posted[row] - margin, to + margin);
}
