// SPDX-License-Identifier: MIT OR Apache-2.0
// The data: a head in JSON, then columns of whole numbers.

/** Reads what the file holds. */
async function opened() {
  if (typeof DecompressionStream === "undefined") {
    throw new Error(
      "This browser cannot open the page's data: it has no DecompressionStream. " +
        "Chrome or Edge 80, Safari 16.4, Firefox 113 and later ones have it.",
    );
  }
  const source = document.getElementById("data");
  const text = atob(source.textContent.trim());
  source.remove();
  const packed = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) packed[place] = text.charCodeAt(place);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let place = 4 + length;
  head.runs = head.runs.map((run, number) => {
    const columns = decoded(run.columns, bytes, place);
    place += run.bytes;
    return runOf(head, run, columns, number);
  });
  return head;
}

/** Columns by name, from a place on. */
function decoded(columns, bytes, place) {
  const result = {};
  for (const { name, coding, count } of columns) {
    const values = new Float64Array(count);
    const deltas = coding === "delta";
    let before = 0;
    for (let row = 0; row < count; row++) {
      let byte = bytes[place++];
      let value = byte & 0x7f;
      for (let scale = 128; byte > 0x7f; scale *= 128) {
        byte = bytes[place++];
        value += (byte & 0x7f) * scale;
      }
      if (deltas) value = before += signed(value);
      values[row] = value;
    }
    result[name] = values;
  }
  return result;
}

const signed = (value) => (value % 2 ? -(value + 1) / 2 : value / 2);

/** The columns of one prefix, without it. */
function group(columns, prefix) {
  const names = Object.keys(columns).filter((name) => name.startsWith(`${prefix}.`));
  return Object.fromEntries(names.map((name) => [name.slice(prefix.length + 1), columns[name]]));
}

/** Begins of the lists that have these lengths, and their end. */
function begins(lengths) {
  const places = new Uint32Array(lengths.length + 1);
  lengths.forEach((length, list) => (places[list + 1] = places[list] + length));
  return places;
}

/** Times of a column in which 0 is none and others stand relative to `reference`. */
function times(column, reference) {
  return column.map((value, row) => (value === 0 ? NaN : reference[row] + signed(value - 1)));
}

/** A run with its threads, links, packets and messages. Times are picoseconds. */
function runOf(head, run, columns, number) {
  const { cycle_ps: cycle, link_ps: link, start_ps: start, end_ps: end, nodes, operations, analysis, unanalysed } = run;
  const span = group(columns, "span");
  const spans = begins(span.of_thread);
  const threads = run.threads.map(([node, own, name, task], thread) => ({
    node,
    number: own,
    name,
    task,
    from: spans[thread],
    to: spans[thread + 1],
  }));
  const hop = group(columns, "hop");
  const hops = begins(hop.of_link);
  const links = run.links.map(([node, port, to, name], index) => {
    let longest = 0;
    for (let h = hops[index]; h < hops[index + 1]; h++) longest = Math.max(longest, hop.time[h]);
    return { node, port, to, name, index, from: hops[index], until: hops[index + 1], longest };
  });
  hop.packets = hop.packets.map((place) => place - 1);
  // Flits up to each hop.
  hop.sum = new Float64Array(hop.flits.length + 1);
  hop.flits.forEach((flits, row) => (hop.sum[row + 1] = hop.sum[row] + flits));
  hop.link = new Uint32Array(hop.begin.length);
  links.forEach((link) => hop.link.fill(link.index, link.from, link.until));
  // Links that never carried a flit have no row.
  const used = links.filter((link) => link.from < link.until);
  used.forEach((link, row) => (link.row = row));
  const names = [...operations, ...head.whys];
  const categories = names.map((name, what) => (what < operations.length ? 1 : categoryOf(name)));
  const result = { number, cycle, link, start, end, nodes, names, categories, threads, span, links, used, hop, analysis, unanalysed };
  addPackets(result, group(columns, "packets"));
  addMessages(result, head, group(columns, "message"), group(columns, "stage"));
  addShares(result);
  return result;
}

function addPackets(run, packets) {
  for (const name of ["tail", "fetched", "head", "arrived", "first_taken", "last_taken"]) {
    packets[name] = times(packets[name], packets.queued);
  }
  packets.count = packets.role.length;
  packets.served = begins(packets.messages);
  // Hops of each, in order of links.
  const lengths = new Uint32Array(packets.count);
  for (const place of run.hop.packets) if (place >= 0) lengths[place]++;
  packets.hops = begins(lengths);
  packets.hop = new Uint32Array(packets.hops[packets.count]);
  const next = packets.hops.slice();
  run.hop.packets.forEach((place, hop) => {
    if (place >= 0) packets.hop[next[place]++] = hop;
  });
  run.packets = packets;
}

function addMessages(run, head, message, stage) {
  message.count = message.how.length;
  for (const name of ["started", "unexpected", "matched", "done", "acknowledged"]) {
    message[name] = times(message[name], message.posted);
  }
  for (const name of ["first", "data", "asked", "answer"]) {
    message[name] = message[name].map((place) => place - 1);
  }
  message.total = message.done.map((done, row) => Math.max(done - message.posted[row], 0));
  message.stage = begins(message.stages);
  // Who has asked for it: of a get, who wants the data.
  message.by = message.how.map((how, row) => (how === 2 ? message.to[row] : message.from[row]));
  run.message = message;
  run.stage = { what: stage.what, time: stage.time, names: head.stages };
  // Its longest stage; none of one that has not ended.
  message.longest = message.how.map((_, row) => {
    let longest = -1;
    for (let s = message.stage[row]; s < message.stage[row + 1]; s++) {
      if (longest < 0 || stage.time[s] > stage.time[longest]) longest = s;
    }
    return longest;
  });
  message.usual = usual(message);
}

/** By message: the median time of those with as many bytes. */
function usual(message) {
  const bySize = new Map();
  message.total.forEach((total, row) => {
    if (Number.isNaN(total)) return;
    if (!bySize.has(message.bytes[row])) bySize.set(message.bytes[row], []);
    bySize.get(message.bytes[row]).push(total);
  });
  for (const [bytes, totals] of bySize) {
    totals.sort((a, b) => a - b);
    bySize.set(bytes, totals[totals.length >> 1]);
  }
  return message.bytes.map((bytes) => bySize.get(bytes) ?? NaN);
}

/** By category: each thread's time in the whole run. */
function addShares(run) {
  const { span, categories, threads } = run;
  run.sums = CATEGORIES.map(() => new Float64Array(threads.length));
  threads.forEach((thread, index) => {
    for (let row = thread.from; row < thread.to; row++) run.sums[categories[span.what[row]]][index] += span.time[row];
  });
}

/** The first row in a range of a sorted column whose value is beyond `value`. */
function after(column, value, from, to) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (column[middle] <= value) from = middle + 1;
    else to = middle;
  }
  return from;
}
