// SPDX-License-Identifier: MIT OR Apache-2.0
// A program trace in GOAL: ranks on a torus exchange their faces with their neighbours, a few times over.

/** Text of the trace, for `shape` of ranks; a face has `bytes`. */
export function halo(shape, { steps = 3, bytes = 2048, work = 4000 } = {}) {
  const count = shape.reduce((product, size) => product * size, 1);
  const at = (rank) => shape.map((size) => { const own = rank % size; rank = Math.floor(rank / size); return own; });
  const rankOf = (place) => place.reduceRight((rank, own, d) => rank * shape[d] + own, 0);
  const lines = [`num_ranks ${count}`];
  for (let rank = 0; rank < count; rank++) {
    lines.push(`rank ${rank} {`);
    const place = at(rank);
    let before = [];
    for (let step = 0; step < steps; step++) {
      // Some ranks have more work, so that others wait for them.
      lines.push(`w${step}: calc ${work + (rank % 5) * 400}`, ...before.map((label) => `w${step} requires ${label}`));
      before = [];
      for (let way = 0; way < 2 * shape.length; way++) {
        const [d, sign] = [way >> 1, way & 1 ? -1 : 1];
        const other = (by) => rankOf(place.map((own, dim) => (dim === d ? (own + by + shape[d]) % shape[d] : own)));
        const tag = step * 16 + way;
        lines.push(`s${step}_${way}: send ${bytes}b to ${other(sign)} tag ${tag}`, `r${step}_${way}: recv ${bytes}b from ${other(-sign)} tag ${tag}`);
        for (const kind of ["s", "r"]) {
          lines.push(`${kind}${step}_${way} requires w${step}`);
          before.push(`${kind}${step}_${way}`);
        }
      }
    }
    lines.push("}");
  }
  return `${lines.join("\n")}\n`;
}
