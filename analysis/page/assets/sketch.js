// SPDX-License-Identifier: MIT OR Apache-2.0
// Pictures that take long: what was drawn before stands in, stretched, while the new one is made between frames.

/** Items that are drawn at once. */
const AT_ONCE = 60000;

/** Milliseconds of work between two frames. */
const SLICE = 8;

/** Milliseconds without a change after which a picture is remade. */
const STILL_FOR = 40;

/** A picture of a panel's lanes, remade as the span of time and the rows change. */
class Sketch {
  constructor(panel) {
    this.panel = panel;
    this.done = null;
    this.job = null;
  }

  /**
   * Draws a picture of `columns` and `lines` of pixels at the lanes' place, each line `tall`. `kind` says all but the span of
   * time that it depends on; `items` how many things are looked at; `paint` is a generator that fills pixels and stops now and
   * then.
   */
  draw(context, { kind, columns, lines, tall, items, paint, top }) {
    const wanted = { kind, from: view.from, to: view.to };
    const same = (one) => one && one.kind === kind && one.from === wanted.from && one.to === wanted.to;
    const made = this.done;
    if (!same(made) && !same(this.job)) {
      const image = new ImageData(columns, lines);
      this.job = { ...wanted, image, work: paint(new Uint32Array(image.data.buffer)) };
      if (items <= AT_ONCE) this.go(this.job, Infinity);
      else this.later(made ? STILL_FOR : 0);
    }
    if (!this.done || this.done.kind.split("|")[0] !== kind.split("|")[0]) return;
    const { from, to, picture } = this.done;
    const scale = columns / (view.to - view.from);
    context.imageSmoothingEnabled = false;
    context.save();
    context.beginPath();
    context.rect(GUTTER, RULER, columns, 1e5);
    context.clip();
    context.drawImage(picture, GUTTER + (from - view.from) * scale, top, (to - from) * scale, picture.height * tall);
    context.restore();
  }

  later(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (!this.job) return;
      this.go(this.job, performance.now() + SLICE);
      if (this.job) this.later(0);
      else this.panel.redraw();
    });
  }

  /** Works on a picture until a time; keeps it if it is made. */
  go(job, until) {
    let ended = false;
    do ended = job.work.next().done; while (!ended && performance.now() < until);
    if (!ended) return;
    const picture = document.createElement("canvas");
    Object.assign(picture, { width: job.image.width, height: job.image.height });
    picture.getContext("2d").putImageData(job.image, 0, 0);
    this.done = { kind: job.kind, from: job.from, to: job.to, picture };
    this.job = null;
  }
}
