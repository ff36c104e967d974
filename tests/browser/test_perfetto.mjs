// SPDX-License-Identifier: MIT OR Apache-2.0
// Traces of `--timeline FILE.perfetto-trace`, read by Perfetto's own trace processor.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { assert, gyreJson, root, run } from "./harness.mjs";
import { perfetto } from "./perfetto.mjs";

const NEEDS = ["node", "chromium", "perfetto"];

let opened;

/** The trace of LULESH, and what the run that wrote it counted. */
async function lulesh() {
  const { file, json } = gyreJson("run", "lulesh", "--timeline", "FILE:run.perfetto-trace");
  opened ??= await perfetto(file);
  return { query: opened.query, metrics: json.metrics };
}

/** Sum of an argument of the slices whose track has such a name. */
async function sum(query, argument, track) {
  const [row] = await query(`select sum(args.int_value) as sum from slice join args using (arg_set_id)
    join track on slice.track_id = track.id where args.key = 'debug.${argument}' and track.name glob '${track}'`);
  return row.sum;
}

await run(
  ["x7_perfetto_reads_a_timeline_without_errors", NEEDS, async () => {
    const { query } = await lulesh();
    assert.deepEqual(await query("select name, value from stats where severity = 'error' and value > 0"), []);
    assert.deepEqual(await query("select name, value from stats where severity = 'data_loss' and value > 0"), []);
    const [{ open }] = await query("select count(*) as open from slice where dur < 0");
    assert.equal(open, 0, "every slice ends");
  }],

  ["x2_x7_perfetto_joins_the_ends_of_every_message_by_an_arrow", NEEDS, async () => {
    const { query, metrics } = await lulesh();
    const arrows = await query(`select source.ts as begin, target.ts as end, from_track.name as leaves, to_track.name as ends
      from flow join slice source on flow.slice_out = source.id join slice target on flow.slice_in = target.id
      join track from_track on source.track_id = from_track.id join track to_track on target.track_id = to_track.id`);
    assert.equal(arrows.length, 1383);
    assert.equal(arrows.length, metrics.messages);
    for (const { begin, end, leaves, ends } of arrows) {
      assert.ok(begin <= end);
      assert.deepEqual([leaves, ends], ["messages out", "messages in"]);
    }
  }],

  ["x7_perfetto_sums_up_what_the_run_has_counted", NEEDS, async () => {
    const { query, metrics } = await lulesh();
    assert.equal(await sum(query, "bytes", "messages in"), metrics.bytes);
    for (const { direction, flits } of metrics.links) {
      assert.equal(await sum(query, "flits", `link ${direction} *`), flits, direction);
    }
    const [span] = await query("select max(ts + dur) - min(ts) as span from slice");
    assert.equal(span.span, metrics.makespan_ns);
    // Computation takes the time that the program states.
    const program = readFileSync(join(root, "workloads/lulesh_8.goal"), "utf8");
    const computed = [...program.matchAll(/calc (\d+)/g)].map(([, ns]) => Number(ns)).filter((ns) => ns > 0);
    const [compute] = await query(`select count(*) as count, sum(dur) as sum from slice join track on slice.track_id = track.id
      where slice.name = 'compute' and not track.name glob 'critical path*'`);
    assert.deepEqual(compute, { count: computed.length, sum: computed.reduce((a, b) => a + b, 0) });
  }],

  ["x7_perfetto_shows_a_critical_path_as_long_as_the_program", NEEDS, async () => {
    const { query, metrics } = await lulesh();
    const paths = await query(`select track.name as name, sum(dur) as sum, max(ts + dur) - min(ts) as span
      from slice join track on slice.track_id = track.id where track.name glob 'critical path*' group by track.name`);
    const length = metrics.makespan_ns;
    assert.deepEqual(paths, ["critical path", "critical path in parts"].map((name) => ({ name, sum: length, span: length })));
  }],

  ["x7_perfetto_sums_up_the_stages_of_messages", NEEDS, async () => {
    const { query } = await lulesh();
    const names = ["queue", "start", "fetch", "inject", "network", "reception", "match", "wait_for_receive", "ask", "inject_request", "request_network", "serve_request", "data_network", "deliver"];
    const keys = names.map((name) => `'debug.${name}'`).join(",");
    const wrong = await query(`select slice.id, sum(iif(args.key in (${keys}), args.int_value, 0)) as stages,
      max(iif(args.key = 'debug.total_ps', args.int_value, 0)) as total
      from slice join args using (arg_set_id) join track on slice.track_id = track.id
      where track.name = 'messages in' group by slice.id having stages != total`);
    assert.deepEqual(wrong, []);
  }],

  ["x7_perfetto_draws_loads_that_are_the_flits_of_links", NEEDS, async () => {
    const { query, metrics } = await lulesh();
    const values = await query(`select track.id as track, track.name as name, counter.ts as ts, counter.value as value
      from counter join track on counter.track_id = track.id where track.name glob 'load of link *' order by track, ts`);
    const flits = new Map();
    values.forEach(({ track, name, ts, value }, place) => {
      const next = values[place + 1];
      if (next?.track !== track) return;
      const direction = name.split(" ")[3];
      // A cycle has 2 ns.
      flits.set(direction, (flits.get(direction) ?? 0) + (value * (next.ts - ts)) / 2);
    });
    for (const { direction, flits: counted } of metrics.links) assert.equal(Math.round(flits.get(direction)), counted, direction);
  }],
);
await opened?.close();
