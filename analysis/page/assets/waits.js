// SPDX-License-Identifier: MIT OR Apache-2.0
// Of a run that has failed: the error, and who waits for whom.

const SVG = "http://www.w3.org/2000/svg";

function drawn(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Ranks that wait for each other in a circle, the first one found; empty if none do. */
function circleOf(waits) {
  const next = new Map();
  for (const { rank, on } of waits) {
    if (rank !== null && on !== null && rank !== on) next.set(rank, [...(next.get(rank) ?? []), on]);
  }
  const done = new Set();
  const walk = (rank, way) => {
    const place = way.indexOf(rank);
    if (place >= 0) return way.slice(place);
    if (done.has(rank)) return [];
    done.add(rank);
    for (const other of next.get(rank) ?? []) {
      const circle = walk(other, [...way, rank]);
      if (circle.length > 0) return circle;
    }
    return [];
  };
  for (const rank of [...next.keys()].sort((a, b) => a - b)) {
    const circle = walk(rank, []);
    if (circle.length > 0) return circle;
  }
  return [];
}

function failureOf(head) {
  const { text, waits } = head.failure;
  const lines = text.split("\n");
  const circle = circleOf(waits);
  const parts = [make("p", { class: "bad error" }, lines[0])];
  if (circle.length > 0) {
    parts.push(make("p", { class: "circle" }, "They wait for each other: ", make("b", {}, [...circle, circle[0]].map((rank) => `rank ${rank}`).join(" → "))));
  }
  const edges = waits.filter(({ rank, on }) => rank !== null && on !== null);
  const ranks = [...new Set(edges.flatMap(({ rank, on }) => [rank, on]))].sort((a, b) => a - b);
  if (ranks.length > 0 && ranks.length <= 32) parts.push(graph(ranks, edges, circle));
  if (waits.length > 0) {
    parts.push(make("h3", {}, "Who waits for what"), make("table", { class: "grid pick" },
      make("thead", {}, make("tr", {}, ...["who", "node", "since", "waits for"].map((title) => make("th", {}, title)))),
      make("tbody", {}, ...waits.map(waitRow)),
    ));
  }
  if (lines.length > 1) parts.push(make("details", {}, make("summary", {}, "The whole error"), make("pre", {}, text)));
  return parts;
}

function waitRow({ who, node, since_ps, what, on }) {
  const run = view.run;
  const since = since_ps === null || !run ? "" : moment(since_ps, run);
  return make("tr", { class: since ? "go" : "", onclick: () => { if (since) moveCursor(since_ps); } },
    make("td", {}, who), make("td", { class: "number" }, String(node)), make("td", { class: "number" }, since),
    make("td", {}, on === null ? what : `${what.split(";")[0]} of rank ${on}${what.includes(";") ? `;${what.split(";").slice(1).join(";")}` : ""}`),
  );
}

/** Ranks in a ring, with an arrow from each that waits to whom it waits for. */
function graph(ranks, edges, circle) {
  const size = 300;
  const radius = ranks.length > 1 ? 112 : 0;
  const place = new Map(ranks.map((rank, number) => {
    const angle = (2 * Math.PI * number) / ranks.length - Math.PI / 2;
    return [rank, [size / 2 + radius * Math.cos(angle), size / 2 + radius * Math.sin(angle)]];
  }));
  const inCircle = new Set(circle);
  const picture = drawn("svg", { viewBox: `0 0 ${size} ${size}`, class: "graph", role: "img" });
  const marker = drawn("marker", { id: "tip-of-arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
  marker.append(drawn("path", { d: "M0 0 8 4 0 8z" }));
  picture.append(marker);
  const seen = new Set();
  for (const { rank, on } of edges) {
    if (rank === on || seen.has(`${rank} ${on}`)) continue;
    seen.add(`${rank} ${on}`);
    const [[x1, y1], [x2, y2]] = [place.get(rank), place.get(on)];
    const length = Math.hypot(x2 - x1, y2 - y1);
    const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    const bend = 14;
    const middle = [(x1 + x2) / 2 - dy * bend, (y1 + y2) / 2 + dx * bend];
    const path = `M${x1 + dx * 19} ${y1 + dy * 19}Q${middle[0]} ${middle[1]} ${x2 - dx * 19} ${y2 - dy * 19}`;
    picture.append(drawn("path", { d: path, class: inCircle.has(rank) && inCircle.has(on) ? "edge hot" : "edge", "marker-end": "url(#tip-of-arrow)" }));
  }
  for (const [rank, [x, y]] of place) {
    picture.append(drawn("circle", { cx: x, cy: y, r: 16, class: inCircle.has(rank) ? "node hot" : "node" }), drawn("text", { x, y: y + 4 }, String(rank)));
  }
  return picture;
}
