// SPDX-License-Identifier: MIT OR Apache-2.0
// Pages of `--timeline FILE.html`, opened in Chromium from their file.

import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { halo } from "./halo.mjs";
import { assert, chromium, gyre, gyreJson, out, root, run } from "./harness.mjs";
import { SIGHTS, apart, contrast, parts, seen } from "./sight.mjs";

const NEEDS = ["node", "chromium"];
const LULESH = ["run", "lulesh", "--timeline", "FILE:run.html"];

/** A halo exchange of 64 ranks on 4x4x4, as a page. */
function haloPage() {
  writeFileSync(join(out, "halo.goal"), halo([4, 4, 4]));
  return gyreJson("run", "out/see/halo.goal", "--shape", "4x4x4", "--timeline", "FILE:halo.html").file;
}

/** An all-to-all of 512 nodes: two minutes of simulation on an idle core. */
const alltoallPage = () => gyreJson("bench", "alltoall", "--shape", "8x8x8", "--set", "bytes=8", "--set", "algorithm=pairwise", "--timeline", "FILE:alltoall-512.html").file;

/** Milliseconds of processor time that the page takes for a frame after each of some actions, sorted; each gets its number. */
async function frameTimes(page, action, count = 12) {
  const session = await page.createCDPSession();
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  const times = [];
  for (let number = 0; number < count; number++) {
    const before = await spent();
    await page.evaluate(`new Promise((done) => { (${action})(${number}); requestAnimationFrame(() => requestAnimationFrame(() => done())); })`);
    times.push((await spent()) - before);
  }
  await session.detach();
  return times.sort((a, b) => a - b);
}

/** Whatever moves a page: the middle one of each takes less than 50 ms of processor time a frame. */
async function isFluid(page) {
  await page.evaluate(() => { [window.first, window.last] = [gyre.view.from, gyre.view.to]; });
  const actions = {
    zoom: "(step) => gyre.showRange(first + (last - first) * 0.01 * step, last)",
    move: "(step) => gyre.showRange(first + (last - first) * (0.3 + 0.01 * step), first + (last - first) * (0.35 + 0.01 * step))",
    cursor: "(step) => gyre.moveCursor(first + (last - first) * (0.3 + 0.005 * step))",
    node: "(step) => gyre.selectPlace({ node: 3 * step })",
    link: "(step) => gyre.selectPlace({ link: 3 * step })",
    message: "(step) => gyre.select(7 * step)",
    order: "(step) => gyre.arrange({ order: ['rank', 'waiting'][step % 2] })",
  };
  for (const [name, action] of Object.entries(actions)) {
    const times = await frameTimes(page, action);
    assert.ok(times[6] < 50, `${name}: a frame takes ${times[6].toFixed(1)} ms`);
  }
}

/** Every rank has a row of 4 px or more in view, and every node a place of its own in the torus, without scrolling. */
async function allInView(page, ranks, nodes) {
  const spots = await page.evaluate((ranks, nodes) => ({
    ranks: Array.from({ length: ranks }, (_, rank) => gyre.rankSpot(rank)),
    nodes: Array.from({ length: nodes }, (_, node) => gyre.nodeSpot(node)),
  }), ranks, nodes);
  spots.ranks.forEach(({ height }, rank) => assert.ok(height >= 4, `rank ${rank} has ${height} px`));
  const torus = await (await page.$(".torus canvas + canvas")).boundingBox();
  for (let node = 0; node < nodes; node += Math.ceil(nodes / 24)) {
    const { x, y } = spots.nodes[node];
    assert.ok(x > torus.x && x < torus.x + torus.width && y > torus.y && y < torus.y + torus.height, `node ${node} is in view`);
    await page.mouse.click(x, y);
    await frames(page);
    assert.equal(await page.evaluate(() => gyre.view.node), node);
    assert.equal(await text(page, "section[aria-label='link or node'] h2"), `node ${node}`);
  }
  return spots;
}

/** Colours of a scheme of the page, by name. */
function palette(scheme) {
  const style = readFileSync(join(root, "analysis/page/assets/page.css"), "utf8");
  const rules = [/:root \{([^}]*)\}/.exec(style)[1], ...(scheme === "dark" ? [/:root\[data-scheme="dark"\] \{([^}]*)\}/.exec(style)[1]] : [])];
  return Object.fromEntries(rules.flatMap((rule) => [...rule.matchAll(/--([\w-]+): ([^;]+);/g)].map(([, name, value]) => [name, value])));
}

let browser;

/** Opens a page: what it has asked for, what it has complained of. */
async function open(file, { scheme = "light", before } = {}) {
  browser ??= await chromium();
  const page = await browser.newPage();
  const requests = [];
  const complaints = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.setViewport({ width: 1500, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  if (before) await page.evaluateOnNewDocument(before);
  await page.goto(`file://${file}`);
  await page.waitForFunction("window.gyre || document.querySelector('#notice.bad')");
  await frames(page);
  return { page, requests, complaints };
}

/** Lets the page draw. */
const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));

const text = (page, selector) => page.$eval(selector, (element) => element.textContent);

/** Different colours in the lower layer of a panel. */
const colours = (page, panel) =>
  page.$eval(`.${panel} canvas`, (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return [...new Set(new Uint32Array(data.buffer))].sort();
  });

await run(
  ["x7_a_page_opens_from_its_file_and_asks_for_nothing_else", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { page, requests, complaints } = await open(file);
    assert.deepEqual(requests, [`file://${file}`]);
    assert.deepEqual(complaints, []);
    for (const panel of ["ranks", "links-over-time", "whole-run", "torus"]) {
      assert.ok((await colours(page, panel)).length > 3, `${panel} is drawn`);
    }
    await page.close();
  }],

  ["x7_a_page_shows_the_figures_of_the_command", NEEDS, async () => {
    const { file, json } = gyreJson(...LULESH);
    const { page } = await open(file);
    const { metrics } = json;
    const tile = (name) => text(page, `[data-tile="${name}"]`);
    const number = (value) => value.toLocaleString("en-US");
    assert.ok((await tile("makespan")).includes(number(metrics.makespan_cycles)));
    assert.ok((await tile("messages")).includes(`${number(metrics.messages)}${number(metrics.bytes)} B`));
    assert.ok((await tile("verified")).includes("yes"));
    const shown = await page.evaluate(() => {
      const { head, view } = gyre;
      const { message, hop, analysis } = view.run;
      const sum = (values) => values.reduce((a, b) => a + b, 0);
      return { figures: head.figures, messages: message.count, bytes: sum(message.bytes), flits: sum(hop.flits), analysis };
    });
    assert.deepEqual(shown.figures, metrics);
    assert.equal(shown.messages, metrics.messages);
    assert.equal(shown.bytes, metrics.bytes);
    assert.equal(shown.flits, metrics.links.reduce((sum, { flits }) => sum + flits, 0));
    const path = shown.analysis.path.reduce((sum, [, length]) => sum + length, 0);
    assert.equal(path, shown.analysis.to_ps - shown.analysis.from_ps);
    assert.equal(Math.floor(path / 1000), metrics.makespan_ns);
    assert.equal(await text(page, "#verdict"), shown.analysis.verdict);
    await page.close();
  }],

  ["x7_a_page_shows_the_critical_path_and_causes_of_gyre_why", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { metrics } = gyreJson("why", "lulesh").json;
    const { page } = await open(file);
    const shown = await page.evaluate(() => {
      const { message, analysis } = gyre.view.run;
      const times = gyre.head.kinds.map((name, kind) => [name, analysis.path.reduce((sum, [, time, own]) => sum + (own === kind ? time : 0), 0)]);
      const slowest = [...document.querySelectorAll("tr[data-row]")].slice(0, 10).map((row) => [Number(row.dataset.row) + 1, message.total[row.dataset.row]]);
      return { verdict: analysis.verdict, times, causes: analysis.causes.map(([text]) => text), slowest };
    });
    assert.equal(shown.verdict, metrics.verdict);
    for (const [kind, time] of shown.times) {
      assert.ok(Math.abs(time / metrics.critical_path_ps - metrics.critical_path_shares[kind]) < 1e-9, kind);
    }
    assert.equal(shown.causes[0], metrics.causes[0].cause);
    assert.deepEqual(shown.slowest, metrics.messages.map(({ message, ps }) => [message, ps]));
    await page.close();
  }],

  ["x2_x7_a_click_on_a_message_opens_its_card_whose_stages_add_up", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { page } = await open(file);
    // The slowest one, from the timeline, once it is large enough to be hit.
    const row = await page.$eval("tr[data-row]", (row) => Number(row.dataset.row));
    await page.evaluate((row) => {
      const { message } = gyre.view.run;
      gyre.showRange(message.posted[row] - 1e6, message.done[row] + 1e6);
    }, row);
    await frames(page);
    const { x, y } = await page.evaluate((row) => gyre.messageSpot(row), row);
    await page.mouse.click(x, y);
    await frames(page);
    assert.equal(await page.evaluate(() => gyre.view.message), row);
    assert.ok((await text(page, ".card h2")).endsWith(`#${row + 1}`));
    const stages = await page.$$eval(".stages tr[data-ps]", (rows) => rows.map((row) => Number(row.dataset.ps)));
    const total = await page.$eval(".stages tfoot [data-ps]", (cell) => Number(cell.dataset.ps));
    assert.equal(stages.reduce((a, b) => a + b, 0), total);
    assert.equal(total, await page.evaluate((row) => gyre.view.run.message.total[row], row));
    assert.ok((await page.$$(".hops tr[data-hop]")).length > 0, "it has hops");
    // The same message, chosen in the table and on a link.
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.querySelector("nav button:nth-child(2)").click());
    await page.click(`tr[data-row="${row}"]`);
    await frames(page);
    assert.equal(await page.evaluate(() => gyre.view.message), row);
    await page.close();
  }],

  ["x2_x7_the_command_of_a_card_writes_the_wave_of_its_message", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { page } = await open(file);
    const command = await page.evaluate(() => { gyre.select(0); return gyre.waveCommand(0); });
    await frames(page);
    assert.equal(await text(page, ".command code"), command);
    const words = command.split(" ");
    assert.equal(words[0], "gyre");
    words[words.indexOf("--trace") + 1] = "FILE:message.fst";
    const { file: wave } = gyreJson(...words.slice(1));
    assert.ok(statSync(wave).size > 1000);
    await page.close();
  }],

  ["x7_all_views_of_a_page_share_the_cursor", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { page } = await open(file);
    const cursor = () => page.evaluate(() => gyre.view.cursor);
    const marks = () => page.evaluate(() => ["ranks", "links-over-time", "whole-run"].map((panel) => document.querySelector(`.${panel} canvas + canvas`).toDataURL()));
    const shown = () => page.$eval("#time output", (output) => output.value);
    let [time, drawn, words] = [await cursor(), await marks(), await shown()];
    for (const panel of ["ranks", "links-over-time", "whole-run"]) {
      const box = await (await page.$(`.${panel} canvas + canvas`)).boundingBox();
      const at = 0.3 + 0.1 * panel.length / 10;
      await page.mouse.click(box.x + box.width * at, box.y + 30);
      await frames(page);
      const now = [await cursor(), await marks(), await shown()];
      assert.notEqual(now[0], time, panel);
      now[1].forEach((mark, place) => assert.notEqual(mark, drawn[place], `${panel} moves the cursor of all`));
      assert.notEqual(now[2], words);
      [time, drawn, words] = now;
    }
    await page.$eval("#time input", (slider) => { slider.value = "0"; slider.dispatchEvent(new Event("input")); });
    await frames(page);
    assert.equal(await cursor(), await page.evaluate(() => gyre.view.run.start));
    await page.close();
  }],

  ["x7_a_page_zooms_and_moves_by_wheel_drag_and_keys", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { page } = await open(file);
    const span = () => page.evaluate(() => [gyre.view.from, gyre.view.to]);
    const box = await (await page.$(".ranks canvas + canvas")).boundingBox();
    const length = ([from, to]) => to - from;
    const whole = await span();
    await page.mouse.move(box.x + box.width / 2, box.y + 60);
    await page.mouse.wheel({ deltaY: -400 });
    await frames(page);
    const near = await span();
    assert.ok(length(near) < length(whole) * 0.8);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 + 80, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await frames(page);
    const moved = await span();
    assert.ok(moved[0] < near[0] && Math.abs(length(moved) - length(near)) < 1);
    await page.keyboard.press("w");
    await frames(page);
    assert.ok(length(await span()) < length(moved));
    await page.keyboard.press("0");
    await frames(page);
    assert.deepEqual(await span(), whole);
    await page.close();
  }],

  ["x7_a_page_has_a_light_and_a_dark_scheme_and_two_units", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const background = (page) => page.$eval("aside", (element) => getComputedStyle(element).backgroundColor);
    const light = await open(file);
    const dark = await open(file, { scheme: "dark" });
    assert.notEqual(await background(light.page), await background(dark.page));
    assert.notDeepEqual(await colours(light.page, "ranks"), await colours(dark.page, "ranks"));
    await dark.page.keyboard.press("t");
    await dark.page.keyboard.press("u");
    await frames(dark.page);
    assert.equal(await background(light.page), await background(dark.page));
    assert.ok((await dark.page.$eval("#time output", (output) => output.value)).endsWith("µs"));
    await light.page.close();
    await dark.page.close();
  }],

  ["x7_a_page_without_driver_says_so_and_shows_links", NEEDS, async () => {
    const { file } = gyreJson("bench", "hop-latency", "--timeline", "FILE:bare.html");
    const { page, complaints } = await open(file);
    assert.ok((await text(page, "#verdict")).includes("the events are the hardware's alone"));
    assert.equal(await page.$eval(".ranks", (panel) => panel.offsetHeight), 0);
    assert.ok((await colours(page, "links-over-time")).length > 3);
    const machines = await page.evaluate(() => gyre.head.runs.length);
    if (machines > 1) {
      await page.select("#machines", "1");
      await frames(page);
      assert.equal(await page.evaluate(() => gyre.view.run.number), 1);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  }],

  ["x7_a_page_of_a_deadlock_shows_who_waits_for_whom", NEEDS, async () => {
    const { status, file } = gyre("run", "tests/browser/circle.goal", "--timeline", "FILE:circle.html");
    assert.equal(status, 1);
    const { page, complaints } = await open(file);
    assert.ok((await text(page, "#verdict")).startsWith("deadlock"));
    assert.equal(await text(page, ".circle b"), "rank 0 → rank 1 → rank 2 → rank 0");
    assert.equal((await page.$$(".graph .edge.hot")).length, 3);
    // It stands at the last progress, and marks a node that has work left.
    const { failure, cursor, cycle, node, from, to } = await page.evaluate(() => ({ ...gyre.view, head: null, run: null, failure: gyre.head.failure, cycle: gyre.view.run.cycle }));
    assert.ok(failure.cycle > 0 && Number.isInteger(failure.node));
    assert.equal(cursor, failure.cycle * cycle);
    assert.ok(from <= cursor && cursor <= to && to - from <= 1000 * cycle);
    assert.equal(node, failure.node);
    assert.deepEqual(complaints, []);
    await page.close();
  }],

  ["x7_a_page_of_a_million_events_stays_fluid", NEEDS, async () => {
    const { file, stdout } = gyre("bench", "alltoall", "--set", "bytes=4096", "--timeline", "FILE:large.html");
    const events = Number(/in (\d+) events/.exec(stdout)[1]);
    assert.ok(events > 1_000_000, `${events} events`);
    const { page } = await open(file);
    const times = await page.evaluate(async () => {
      const [from, to] = [gyre.view.from, gyre.view.to];
      const times = [];
      for (let step = 0; step < 12; step++) {
        const begin = performance.now();
        gyre.showRange(from + (to - from) * 0.02 * step, to);
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        times.push(performance.now() - begin);
      }
      return times.sort((a, b) => a - b);
    });
    // Ten times the time on two idle cores.
    assert.ok(times[6] < 300, `a frame takes ${times[6]} ms`);
    await page.close();
  }],

  ["x7_a_page_of_64_ranks_shows_them_all_and_stays_fluid", NEEDS, async () => {
    const { page, complaints } = await open(haloPage());
    const { ranks } = await allInView(page, 64, 64);
    assert.ok(ranks.every(({ shared }) => shared === 1), "each has a row of its own");
    await isFluid(page);
    assert.deepEqual(complaints, []);
    await page.close();
  }],

  ["x7_a_page_of_512_nodes_shows_them_all_and_stays_fluid", NEEDS, async () => {
    const { page, complaints } = await open(alltoallPage());
    await allInView(page, 512, 512);
    await new Promise((done) => setTimeout(done, 3000));
    await isFluid(page);
    // A row of several ranks opens into theirs.
    const { x, y, shared } = await page.evaluate(() => gyre.rankSpot(77));
    assert.ok(shared > 1);
    await page.mouse.click(x, y);
    await frames(page);
    const spot = await page.evaluate(() => gyre.rankSpot(77));
    assert.equal(await page.evaluate(() => document.querySelectorAll(".ranks").length), 1);
    assert.ok(spot.height >= 4);
    assert.deepEqual(complaints, []);
    await page.close();
  }],

  ["x7_rows_of_a_page_are_sorted_grouped_pinned_and_sized", NEEDS, async () => {
    const { page } = await open(haloPage());
    const top = (rank) => page.evaluate((rank) => gyre.rankSpot(rank).y, rank);
    assert.ok((await top(0)) < (await top(5)));
    await page.evaluate(() => gyre.selectPlace({ node: 40 }));
    await frames(page);
    await page.keyboard.press("k");
    await frames(page);
    assert.ok((await top(40)) < (await top(0)), "a pinned rank is on top");
    await page.keyboard.press("k");
    await page.select("select[data-rows='order']", "waiting");
    await frames(page);
    const waits = await page.evaluate(() => {
      const { run } = gyre.view;
      return run.groups.map((group) => [gyre.rankSpot(group.task).y, group.threads.reduce((sum, index) => sum + run.sums[3][index], 0)]).sort((a, b) => a[0] - b[0]).map(([, wait]) => wait);
    });
    assert.deepEqual(waits, waits.slice().sort((a, b) => b - a));
    await page.select("select[data-rows='order']", "rank");
    await page.select("select[data-rows='together']", "16");
    await frames(page);
    assert.equal(await page.evaluate(() => gyre.rankSpot(17).shared), 16);
    await page.select("select[data-rows='together']", "-1");
    await frames(page);
    await page.focus(".ranks canvas + canvas");
    const low = await page.evaluate(() => gyre.rankSpot(32).height);
    for (let press = 0; press < 5; press++) await page.keyboard.press("r");
    await frames(page);
    assert.ok((await page.evaluate(() => gyre.rankSpot(32).height)) > low);
    const before = await page.$eval(".links-over-time", (panel) => panel.offsetHeight);
    const bar = await (await page.$(".splitter.row")).boundingBox();
    await page.mouse.move(bar.x + 100, bar.y + 2);
    await page.mouse.down();
    await page.mouse.move(bar.x + 100, bar.y - 58, { steps: 3 });
    await page.mouse.up();
    assert.equal(await page.$eval(".links-over-time", (panel) => panel.offsetHeight), before + 60);
    await page.close();
  }],

  ["x7_cursor_zoom_and_torus_of_a_page_agree", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { page } = await open(file);
    const agrees = async (what) => {
      await frames(page);
      const { cursor, from, to, span } = await page.evaluate(() => ({ ...gyre.view, head: null, run: null, span: gyre.loadSpan() }));
      assert.ok(cursor >= from && cursor <= to, `${what}: the cursor is in view`);
      assert.ok(span[0] >= from - 1 && span[1] <= to + 1 && span[0] <= cursor && span[1] >= cursor, `${what}: the torus shows the cursor's time`);
    };
    await agrees("at first");
    const box = await (await page.$(".ranks canvas + canvas")).boundingBox();
    await page.mouse.move(box.x + box.width - 40, box.y + 60);
    for (let turn = 0; turn < 8; turn++) await page.mouse.wheel({ deltaY: -400 });
    await agrees("zoomed away from it");
    for (let press = 0; press < 12; press++) await page.keyboard.press("a");
    await agrees("moved");
    await page.$eval("#time input", (slider) => { slider.value = "5000"; slider.dispatchEvent(new Event("input")); });
    await agrees("moved by the slider");
    await page.click("nav button:nth-child(2)");
    await page.click("tr[data-row]");
    await agrees("a message is chosen");
    await page.close();
  }],

  ["x7_two_cursors_give_the_statistics_of_their_span", NEEDS, async () => {
    const { page } = await open(haloPage());
    const box = await (await page.$(".ranks canvas + canvas")).boundingBox();
    await page.keyboard.down("Shift");
    await page.mouse.move(box.x + 300, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + 700, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await new Promise((done) => setTimeout(done, 500));
    const { from, to, posted, bytes, mean } = await page.evaluate(() => {
      const { view } = gyre;
      const [from, to] = [view.mark, view.cursor];
      const { message } = view.run;
      const rows = [...message.posted.keys()].filter((row) => message.posted[row] >= from && message.posted[row] <= to);
      const sum = (list) => list.reduce((a, b) => a + b, 0);
      return { from, to, posted: rows.length, bytes: sum(rows.map((row) => message.bytes[row])), mean: sum(rows.map((row) => message.total[row])) / rows.length / view.run.cycle };
    });
    assert.ok(from < to && posted > 0);
    const shown = await text(page, ".facts-of-span");
    const number = (value) => value.toLocaleString("en-US");
    assert.ok(shown.includes(`${number(posted)}, ${number(bytes)}`), shown);
    assert.ok(shown.includes(`mean${number(Math.round(mean))}`) || shown.includes(`mean${mean.toFixed(1)}`), `${mean} in ${shown}`);
    await page.keyboard.press("z");
    await frames(page);
    assert.deepEqual(await page.evaluate(() => [gyre.view.from, gyre.view.to]), [from, to]);
    await page.keyboard.press("Escape");
    await frames(page);
    assert.ok(await page.evaluate(() => Number.isNaN(gyre.view.mark)));
    await page.close();
  }],

  ["x7_the_matrix_and_the_histogram_of_a_page_hold_all_messages", NEEDS, async () => {
    const { page } = await open(haloPage());
    await page.evaluate(() => [...document.querySelectorAll("nav button")].find((button) => button.textContent === "Slowest").click());
    await frames(page);
    const counts = await page.$$eval(".histogram i", (bars) => bars.map((bar) => Number(bar.dataset.count)));
    assert.equal(counts.reduce((a, b) => a + b, 0), await page.evaluate(() => gyre.view.run.message.count));
    await page.evaluate(() => [...document.querySelectorAll("nav button")].find((button) => button.textContent === "Matrix").click());
    await new Promise((done) => setTimeout(done, 500));
    // A click at the pair 0 → 1 lists its messages.
    const { x, y, width, height } = await (await page.$(".matrix canvas")).boundingBox();
    await page.mouse.click(x + (width * 1.5) / 64, y + (height * 0.5) / 64);
    await frames(page);
    const pairs = await page.$$eval("tr[data-row]", (rows) => rows.map(({ dataset }) => [gyre.view.run.message.from[dataset.row], gyre.view.run.message.to[dataset.row]]));
    assert.ok(pairs.length > 0 && pairs.every(([from, to]) => from === 0 && to === 1));
    await page.close();
  }],

  ["x7_a_link_and_a_node_of_a_page_have_cards", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { page } = await open(file);
    const card = () => text(page, "section[aria-label='link or node']");
    const { x, y } = await page.evaluate(() => gyre.nodeSpot(3));
    await page.mouse.click(x, y);
    await frames(page);
    assert.ok((await card()).includes("node 3") && (await card()).includes("rank 3"));
    await page.click("section[aria-label='link or node'] tr[data-link]");
    await frames(page);
    const link = await page.evaluate(() => gyre.view.run.links[gyre.view.link]);
    assert.equal(link.node, 3);
    assert.ok((await card()).startsWith(`link ${link.name} of node 3to node ${link.to}`));
    await page.close();
  }],

  ["x7_search_finds_ranks_nodes_links_messages_and_operations", NEEDS, async () => {
    const { page } = await open(haloPage());
    const search = async (words) => {
      await page.keyboard.press("Escape");
      await page.keyboard.press("/");
      await page.$eval("input[type=search]", (field) => { field.value = ""; });
      await page.keyboard.type(words);
      const offers = await page.$$eval("#offers li", (items) => items.map((item) => item.textContent));
      await page.keyboard.press("Enter");
      await frames(page);
      return offers;
    };
    assert.ok((await search("rank 37"))[0].startsWith("rank 37 on node 37"));
    assert.equal(await page.evaluate(() => gyre.view.node), 37);
    await search("node 12");
    assert.equal(await page.evaluate(() => gyre.view.node), 12);
    await search("#40");
    assert.equal(await page.evaluate(() => gyre.view.message), 39);
    await search("link 5");
    assert.equal(await page.evaluate(() => gyre.view.run.links[gyre.view.link].node), 5);
    const before = await page.evaluate(() => gyre.view.cursor);
    assert.ok((await search("assemble"))[0].includes("assemble"));
    assert.notEqual(await page.evaluate(() => gyre.view.cursor), before);
    assert.deepEqual(await search("no such thing"), ["nothing is found"]);
    await page.close();
  }],

  ["x7_a_question_mark_lists_every_key", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { page } = await open(file);
    await page.keyboard.press("?");
    await frames(page);
    assert.ok(await page.$eval("#help", (dialog) => dialog.open));
    const listed = new Set(await page.$$eval("#help kbd", (keys) => keys.map((key) => key.textContent)));
    const named = { " ": "space", Escape: "Esc", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };
    const keys = await page.evaluate(() => gyre.KEYS.flatMap(([, , actions]) => Object.keys(actions)));
    for (const key of keys) assert.ok(listed.has(named[key] ?? key), `${key} is listed`);
    assert.equal(keys.length, listed.size);
    await page.close();
  }],

  ["x7_colours_of_a_page_differ_for_dichromats_in_both_schemes", [], async () => {
    for (const scheme of ["light", "dark"]) {
      const of = palette(scheme);
      const sets = {
        categories: ["compute", "driver", "register", "wait", "lock"],
        stages: ["stage-software", "stage-engine", "stage-network", "stage-receive", "bad"],
        kinds: Object.keys(of).filter((name) => name.startsWith("kind-")),
        marks: ["accent", "lit", "muted"],
      };
      const ramp = of.load.split(" ").map(parts);
      for (const sight of Object.keys(SIGHTS)) {
        for (const [set, names] of Object.entries(sets)) {
          names.forEach((name, place) => names.slice(0, place).forEach((other) => {
            const far = apart(parts(of[name]), parts(of[other]), sight);
            assert.ok(far >= 0.08, `${scheme}, ${sight}: ${name} and ${other} of ${set} are ${far.toFixed(3)} apart`);
          }));
        }
        // More load is darker on light, brighter on dark; selection and critical path are no load.
        const bright = ramp.map((stop) => seen(stop, sight)[0] * (scheme === "light" ? -1 : 1));
        bright.slice(1).forEach((value, place) => assert.ok(value - bright[place] > 0.012, `${scheme}, ${sight}: load ${place + 1}`));
        for (const mark of ["accent", "lit"]) {
          for (const [place, stop] of ramp.entries()) {
            const far = apart(parts(of[mark]), stop, sight);
            assert.ok(far >= 0.08, `${scheme}, ${sight}: ${mark} and load ${place} are ${far.toFixed(3)} apart`);
          }
        }
      }
      for (const [ink, least] of [["text", 7], ["muted", 4.5], ["accent", 4.5], ["bad", 4.5], ["lit", 3]]) {
        for (const paper of ["panel", "sunken"]) {
          const found = contrast(parts(of[ink]), parts(of[paper]));
          assert.ok(found >= least * (paper === "panel" ? 1 : 0.9), `${scheme}: contrast of ${ink} on ${paper} is ${found.toFixed(2)}`);
        }
      }
    }
  }],

  ["x5_a_browser_that_cannot_open_the_data_is_told_so", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { page } = await open(file, { before: () => delete window.DecompressionStream });
    assert.ok((await text(page, "#notice")).includes("no DecompressionStream"));
    await page.close();
  }],
);
await browser?.close();
