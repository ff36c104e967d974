// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes a picture of a page: node tests/browser/picture.mjs PAGE.html PICTURE.png

import { resolve } from "node:path";

import { chromium } from "./harness.mjs";

const [page, picture] = process.argv.slice(2).map((path) => resolve(path));
const browser = await chromium();
const tab = await browser.newPage();
await tab.setViewport({ width: 1400, height: 840 });
await tab.goto(`file://${page}`);
await tab.waitForFunction("window.gyre");
// Until the lanes are drawn.
await new Promise((done) => setTimeout(done, 1000));
await tab.screenshot({ path: picture });
await browser.close();
