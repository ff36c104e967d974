// SPDX-License-Identifier: MIT OR Apache-2.0
// Tables: messages with their histogram, where time went, figures.

/** Rows of a table that are shown at first. */
const ROWS = 150;

const table = { key: "total", down: true, stage: -1, rank: "", times: null };

/** Whether a message is of the ranks that are asked for: `5`, or `5>6` for a pair. */
function ofRanks() {
  const { message } = view.run;
  const [one, other] = table.rank.split(">").map((rank) => (rank.trim() === "" ? NaN : Number(rank)));
  if (Number.isNaN(one)) return () => true;
  if (other === undefined || Number.isNaN(other)) return (row) => message.from[row] === one || message.to[row] === one;
  return (row) => message.from[row] === one && message.to[row] === other;
}

/** The first rows in an order, without sorting the others. */
function firstRows(rows, value, sign) {
  const before = (a, b) => { const [p, q] = [value(a), value(b)]; return p === q ? a - b : p < q ? -sign : sign; };
  if (rows.length <= 4 * ROWS) return rows.sort(before);
  const values = Float64Array.from(rows, (row) => sign * value(row)).sort();
  const last = values[ROWS - 1];
  const least = rows.filter((row) => sign * value(row) < last);
  const equal = rows.filter((row) => sign * value(row) === last);
  return [...least.sort(before), ...equal.slice(0, ROWS - least.length)];
}

/** Columns of the table of messages: key, title, value of a row, its text. */
function messageColumns(run) {
  const { message, stage } = run;
  const time = (ps) => (Number.isNaN(ps) ? "not done" : units.cycles ? short(ps / run.cycle) : seconds(ps));
  const columns = [
    ["serial", "#", (row) => row, (row) => String(row + 1)],
    ["from", "from", (row) => message.from[row], (row) => String(message.from[row])],
    ["to", "to", (row) => message.to[row], (row) => String(message.to[row])],
    ["bytes", "bytes", (row) => message.bytes[row], (row) => whole(message.bytes[row])],
    ["total", units.cycles ? "cycles" : "time", (row) => timeOf(message.total[row]), (row) => time(message.total[row])],
    ["usual", "× median", (row) => message.total[row] / message.usual[row] || 0, (row) => short(Number((message.total[row] / message.usual[row]).toPrecision(3)) || 0)],
  ];
  if (table.stage >= 0) {
    columns.push(["stage", words(stage.names[table.stage]), (row) => stageTime(run, row, table.stage), (row) => time(stageTime(run, row, table.stage))]);
  }
  return columns;
}

/** One that is not done has taken longest. */
const timeOf = (ps) => (Number.isNaN(ps) ? Infinity : ps);

function stageTime(run, row, what) {
  const { message, stage } = run;
  for (let s = message.stage[row]; s < message.stage[row + 1]; s++) if (stage.what[s] === what) return stage.time[s];
  return 0;
}

const messagesElement = make("section", { "aria-label": "messages" });

function renderMessages() {
  const { run, head } = view;
  const { message } = run;
  if (message.count === 0) {
    messagesElement.replaceChildren(make("p", { class: "hint" }, "No driver ran: there are no messages, the events are the hardware's alone."));
    return;
  }
  const columns = messageColumns(run);
  const value = (columns.find(([key]) => key === table.key) ?? columns[4])[2];
  const sign = table.down ? -1 : 1;
  const asked = ofRanks();
  const rows = [];
  for (let row = 0; row < message.count; row++) {
    if (asked(row)) rows.push(row);
  }
  const shapes = histogramOf(rows);
  const found = table.times ? rows.filter((row) => message.total[row] >= table.times[0] && message.total[row] < table.times[1]) : rows;
  const body = make("tbody");
  body.append(...firstRows(found, value, sign).slice(0, ROWS).map((row) => messageRow(columns, row)));
  const stages = [make("option", { value: "-1" }, "no stage")];
  head.stages.forEach((name, what) => stages.push(make("option", { value: String(what), selected: what === table.stage }, words(name))));
  messagesElement.replaceChildren(
    make("div", { class: "tools" },
      make("label", {}, "rank ", make("input", { type: "text", size: 7, placeholder: "5, 5>6", value: table.rank, title: "a rank, or a pair as 5>6", onchange: (event) => { Object.assign(table, { rank: event.target.value, times: null }); renderMessages(); } })),
      make("label", {}, "stage ", make("select", { onchange: (event) => { table.stage = Number(event.target.value); Object.assign(table, table.stage >= 0 ? { key: "stage", down: true } : { key: "total", down: true }); renderMessages(); } }, ...stages)),
      make("span", { class: "hint" }, `${plural(found.length, "message")}${found.length > ROWS ? `, ${ROWS} shown` : ""}`),
      table.times ? button("all times", "", () => { table.times = null; renderMessages(); }) : "",
    ),
    shapes,
    make("table", { class: "grid pick" },
      make("thead", {}, make("tr", {}, ...columns.map(([key, title]) => headCell(key, title)), make("th", {}, "stages"))),
      body,
    ),
  );
}

/** Bars of the histogram of times. */
const BINS = 36;

/** How many of these messages took how long, on a logarithmic axis, with mean and quantiles; a click on a bar lists those. */
function histogramOf(rows) {
  const { run } = view;
  const { message } = run;
  const { sorted, mean, quantiles } = latencies(rows.map((row) => message.total[row]));
  if (sorted.length < 2 || sorted.at(-1) <= sorted[0]) return "";
  const [least, most] = [Math.log(Math.max(sorted[0], run.cycle)), Math.log(sorted.at(-1) * 1.0001)];
  const edge = (bin) => (bin === 0 ? 0 : Math.exp(least + ((most - least) * bin) / BINS));
  const counts = new Array(BINS).fill(0);
  for (const time of sorted) counts[Math.min(Math.max(Math.floor(((Math.log(Math.max(time, run.cycle)) - least) / (most - least)) * BINS), 0), BINS - 1)]++;
  const top = Math.max(...counts);
  const at = (time) => `${((Math.log(Math.max(time, run.cycle)) - least) / (most - least)) * 100}%`;
  const bars = counts.map((count, bin) => make("i", {
    class: table.times?.[0] === edge(bin) ? "chosen" : "", "data-count": count, title: `${plural(count, "message")} of ${duration(edge(bin), run)} to ${duration(edge(bin + 1), run)}`,
    onclick: () => { table.times = count > 0 ? [edge(bin), edge(bin + 1)] : null; renderMessages(); },
  }, make("b", { style: `height:${count === 0 ? 0 : Math.max((count / top) * 100, 3)}%` })));
  const marks = [["median", quantiles[0]], ["99 %", quantiles[2]]].map(([name, time]) => make("u", { style: `left:${at(time)}`, title: `${name}: ${duration(time, run)}` }));
  return make("div", { class: "histogram" },
    make("div", { class: "bars" }, ...bars, ...marks),
    make("small", {}, `${duration(sorted[0], run)} to ${duration(sorted.at(-1), run)}, logarithmic · mean ${duration(mean, run)} · ${QUANTILES.map((share, number) => `${100 * share} %: ${duration(quantiles[number], run)}`).join(" · ")}`),
  );
}

function headCell(key, title) {
  const sorted = table.key === key;
  return make("th", { class: sorted ? "sort sorted" : "sort", onclick: () => { Object.assign(table, sorted ? { down: !table.down } : { key, down: key !== "serial" }); renderMessages(); } }, title + (sorted ? (table.down ? " ↓" : " ↑") : ""));
}

function messageRow(columns, row) {
  const { message, stage } = view.run;
  const bar = make("div", { class: "bar small" });
  for (let s = message.stage[row]; s < message.stage[row + 1]; s++) {
    const name = stage.names[stage.what[s]];
    if (stage.time[s] > 0) bar.append(make("i", { class: `stage-${STAGE_WORDS[name][0]}`, style: `flex-grow:${stage.time[s] / message.total[row]}`, title: `${words(name)}: ${duration(stage.time[s], view.run)}` }));
  }
  return make("tr", { class: row === view.message ? "go chosen" : "go", "data-row": row, onclick: () => select(row, true) },
    ...columns.map(([, , , text]) => make("td", { class: "number" }, text(row))),
    make("td", {}, bar),
  );
}

function markChosen() {
  for (const row of messagesElement.querySelectorAll("tr[data-row]")) row.classList.toggle("chosen", Number(row.dataset.row) === view.message);
}

const whyElement = make("section", { "aria-label": "where time went" });

function renderWhy() {
  const { run } = view;
  whyElement.replaceChildren(...(run.analysis ? found(run) : []), ...shares(run));
}

/** What the analysis has found: the critical path by kind, and what could be removed. */
function found(run) {
  const { path, causes, ranks, from_ps, to_ps } = run.analysis;
  const kinds = view.head.kinds;
  const sums = kinds.map(() => 0);
  for (const [, length, kind] of path) sums[kind] += length;
  const total = Math.max(to_ps - from_ps, 1);
  const item = (colour, text, share, more) => make("li", {}, make("i", { class: "dot", style: `background:${colour}` }), text, make("b", {}, percent(share)), make("small", {}, more));
  const longest = path.slice().sort((a, b) => b[1] - a[1]).slice(0, 12);
  return [
    make("h3", {}, "Critical path", make("small", {}, duration(total, run))),
    kindBar(sums, total),
    make("ul", { class: "shares" }, ...sums.map((sum, kind) => [sum, kind]).filter(([sum]) => sum > 0).map(([sum, kind]) => item(colours.kinds[kind], words(kinds[kind]), sum / total, duration(sum, run)))),
    make("h3", {}, "What a change could gain", make("small", {}, "by the dependencies between recorded events")),
    make("ol", { class: "causes" }, ...causes.map(([text, gain]) => make("li", {}, ...text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part)), make("b", {}, ` −${percent(gain / total)}`), make("small", {}, duration(gain, run))))),
    make("h3", {}, "Its longest parts"),
    make("table", { class: "grid pick" }, make("tbody", {}, ...longest.map((segment) => pathRow(segment)))),
    make("h3", {}, "Time of ranks"),
    make("table", { class: "grid" }, make("tbody", {}, ...ranks.map(([rank, times]) => make("tr", {}, make("td", {}, `rank ${rank}`), make("td", { class: "wide" }, kindBar(times, total)))))),
  ];
}

function kindBar(sums, total) {
  const bar = make("div", { class: "bar" });
  sums.forEach((sum, kind) => {
    if (sum > 0) bar.append(make("i", { style: `flex-grow:${sum / total};background:${colours.kinds[kind]}`, title: `${words(view.head.kinds[kind])}: ${duration(sum, view.run)}, ${percent(sum / total)}` }));
  });
  return bar;
}

function pathRow([from, length, kind, what, place, serial]) {
  const { run } = view;
  const where = Array.isArray(place) ? `node ${place[0]} → ${place[1]}` : run.threads[place].name;
  const go = () => { showRange(from - length * 0.2, from + length * 1.2); moveCursor(from); if (serial) select(serial - 1); };
  return make("tr", { class: "go", onclick: go },
    make("td", {}, make("i", { class: "dot", style: `background:${colours.kinds[kind]}` }), words(what)),
    make("td", {}, where),
    make("td", {}, serial ? `#${serial}` : ""),
    make("td", { class: "number" }, duration(length, run)),
  );
}

/** What threads have spent their time on. */
function shares(run) {
  if (run.threads.length === 0) return [make("p", { class: "hint" }, "No driver ran: the events are the hardware's alone.")];
  const total = Math.max(run.end - run.start, 1);
  const rows = run.threads.map((thread, index) => {
    const bar = make("div", { class: "bar" });
    let rest = 1;
    CATEGORIES.forEach((category, number) => {
      const share = run.sums[number][index] / total;
      rest -= share;
      if (share > 0) bar.append(make("i", { class: `cat-${category}`, style: `flex-grow:${share}`, title: `${CATEGORY_WORDS[category]}: ${percent(share)}` }));
    });
    if (rest > 0) bar.append(make("i", { style: `flex-grow:${rest}`, title: `not recorded, or ended: ${percent(rest)}` }));
    return make("tr", {}, make("td", {}, thread.name), make("td", { class: "wide" }, bar));
  });
  return [make("h3", {}, "Time of threads"), make("table", { class: "grid" }, make("tbody", {}, ...rows))];
}

/** The figures that the command prints. */
function figuresOf(head) {
  if (!head.figures) return [make("p", { class: "hint" }, "The run has not come to its end: there are no figures.")];
  const scalars = [];
  const tables = [];
  for (const [name, value] of Object.entries(head.figures)) {
    const rows = Array.isArray(value) ? value : value !== null && typeof value === "object" ? [value] : null;
    if (!rows) scalars.push(make("tr", {}, make("td", {}, words(name)), make("td", { class: "number", "data-figure": name }, figure(value))));
    else if (rows.length > 0 && typeof rows[0] === "object") tables.push(make("h3", {}, words(name)), objects(rows));
  }
  return [make("table", { class: "grid" }, make("tbody", {}, ...scalars)), ...tables];
}

function figure(value) {
  if (typeof value === "number") return Number.isInteger(value) ? whole(value) : Number(value.toPrecision(7)).toLocaleString("en-US", { maximumFractionDigits: 9 });
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === null ? "none" : String(value);
}

function objects(rows) {
  const names = Object.keys(rows[0]);
  return make("div", { class: "across" }, make("table", { class: "grid" },
    make("thead", {}, make("tr", {}, ...names.map((name) => make("th", {}, words(name))))),
    make("tbody", {}, ...rows.slice(0, 512).map((row) => make("tr", {}, ...names.map((name) => make("td", { class: "number" }, figure(row[name] ?? null)))))),
  ));
}
