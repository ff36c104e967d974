// SPDX-License-Identifier: MIT OR Apache-2.0
// Pages of `--timeline FILE.html`, opened in Chromium from their file.

import { statSync } from "node:fs";

import { assert, chromium, gyre, gyreJson, run } from "./harness.mjs";

const NEEDS = ["node", "chromium"];
const LULESH = ["run", "lulesh", "--timeline", "FILE:run.html"];

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

  ["x5_a_browser_that_cannot_open_the_data_is_told_so", NEEDS, async () => {
    const { file } = gyreJson(...LULESH);
    const { page } = await open(file, { before: () => delete window.DecompressionStream });
    assert.ok((await text(page, "#notice")).includes("no DecompressionStream"));
    await page.close();
  }],
);
await browser?.close();
