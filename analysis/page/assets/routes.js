// SPDX-License-Identifier: MIT OR Apache-2.0
// Routes of messages through the network, and load of links.

/** Cycles that a head spends in a router without waiting. */
const ROUTER_CYCLES = 2;

/** The packets that a message has taken, in the order of its stages, each once. */
function packetsOf(run, row) {
  const { message, packets } = run;
  const own = [message.first[row], message.data[row], message.asked[row], message.answer[row]];
  const found = [...new Set(own.filter((place) => place >= 0))];
  // Acknowledgements serve several.
  run.acknowledging ??= served(packets, (place) => packets.role[place] === 5);
  return found.concat((run.acknowledging.get(row) ?? []).filter((place) => !found.includes(place)));
}

function served(packets, wanted) {
  const lists = new Map();
  for (let place = 0; place < packets.count; place++) {
    if (!wanted(place)) continue;
    for (let s = packets.served[place]; s < packets.served[place + 1]; s++) {
      const row = packets.message[s];
      if (!lists.has(row)) lists.set(row, []);
      lists.get(row).push(place);
    }
  }
  return lists;
}

/**
 * Hops of a descriptor's packets by time: when each could have left, how long it waited, and what its link carried
 * meanwhile. A packet that comes to a node goes on with the first one of its length that leaves there when it can.
 */
function wayOf(run, place) {
  const { hop, packets, links } = run;
  const own = Array.from(packets.hop.subarray(packets.hops[place], packets.hops[place + 1]));
  own.sort((a, b) => hop.begin[a] - hop.begin[b] || a - b);
  const arrived = new Map();
  return own.map((number) => {
    const link = links[hop.link[number]];
    const begin = hop.begin[number];
    const waiting = arrived.get(link.node) ?? [];
    const ready = (before) => hop.begin[before] + run.link + ROUTER_CYCLES * run.cycle;
    const from = waiting.findIndex((before) => hop.flits[before] === hop.flits[number] && ready(before) <= begin);
    const could = from < 0 ? NaN : ready(waiting.splice(from, 1)[0]);
    if (!arrived.has(link.to)) arrived.set(link.to, []);
    arrived.get(link.to).push(number);
    const wait = from < 0 ? 0 : begin - could;
    return { number, link, begin, end: begin + hop.time[number], flits: hop.flits[number], wait, ...held(run, link, could, begin) };
  });
}

/** What a link carried in a time: packets with their share of it, and how long it carried nothing. */
function held(run, link, from, to) {
  const { hop } = run;
  const others = [];
  let covered = from;
  let idle = 0;
  if (!(from < to)) return { others, idle };
  let first = after(hop.begin, from - link.longest - 1, link.from, link.until);
  for (; first < link.until && hop.begin[first] < to; first++) {
    const end = Math.min(hop.begin[first] + hop.time[first], to);
    const begin = Math.max(hop.begin[first], from);
    if (end <= begin) continue;
    others.push({ number: first, time: end - begin });
    idle += Math.max(begin - covered, 0);
    covered = Math.max(covered, end);
  }
  idle += Math.max(to - covered, 0);
  return { others, idle };
}

/** Whose packet a hop is, in words, and the message if it serves one. */
function ownerOf(run, number) {
  const { packets } = run;
  const place = run.hop.packets[number];
  if (place < 0) return { text: KINDS[run.hop.kind[number]] ?? "packet", row: -1 };
  const served = packets.messages[place];
  const row = served > 0 ? packets.message[packets.served[place]] : -1;
  const role = run.roles[packets.role[place]];
  if (row < 0) return { text: role, row };
  const more = served > 1 ? ` and ${served - 1} more` : "";
  return { text: `${role} of #${row + 1}${more}`, row };
}

/** What packets without descriptor of the driver's are for, by their kind. */
const KINDS = { 1: "packet for a reception FIFO", 2: "put packet", 3: "remote-get packet" };

/** Flits that have left by a link before a time; those of a packet are spread over its time. */
function flitsBefore(run, link, time) {
  const { hop } = run;
  const next = after(hop.begin, time, link.from, link.until);
  let flits = hop.sum[next] - hop.sum[link.from];
  for (let number = next - 1; number >= link.from && hop.begin[number] > time - link.longest; number--) {
    const left = hop.begin[number] + hop.time[number] - time;
    if (left > 0) flits -= (hop.flits[number] * left) / hop.time[number];
  }
  return flits;
}

/** Flits of a link that leave in a time. */
const flitsIn = (run, link, from, to) => Math.max(flitsBefore(run, link, to) - flitsBefore(run, link, from), 0);

/** Share of a link's cycles with a flit. */
const loadOf = (run, link, from, to) => Math.min((flitsIn(run, link, from, to) * run.cycle) / (to - from), 1);

/** By column of `width`: flits that leave by a link between two times. */
function spread(run, link, from, to, width, into) {
  const { hop } = run;
  const scale = width / (to - from);
  let number = after(hop.begin, from - link.longest - 1, link.from, link.until);
  for (; number < link.until && hop.begin[number] < to; number++) {
    const left = (hop.begin[number] - from) * scale;
    const right = left + hop.time[number] * scale;
    const first = Math.floor(left);
    if (right <= first + 1) {
      if (first >= 0 && first < width) into[first] += hop.flits[number];
      continue;
    }
    const density = hop.flits[number] / (right - left);
    for (let column = Math.max(first, 0); column < Math.min(right, width); column++) {
      into[column] += density * (Math.min(right, column + 1) - Math.max(left, column));
    }
  }
}
