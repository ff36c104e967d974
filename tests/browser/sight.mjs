// SPDX-License-Identifier: MIT OR Apache-2.0
// Colours as eyes see them: simulated dichromats (Machado, Oliveira and Fernandes 2009, severity 1), differences in OKLab
// (Ottosson 2020), contrast (WCAG 2.2).

/** Linear RGB of dichromats from that of all, by rows. */
export const SIGHTS = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanope: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranope: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};

/** Parts of `#rrggbb`, from 0 to 1. */
export const parts = (hex) => [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16) / 255);

const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
const applied = (rows, vector) => rows.map((row) => row.reduce((sum, factor, place) => sum + factor * vector[place], 0));

/** OKLab of a colour, from parts from 0 to 1, as `sight` sees it. */
export function seen(rgb, sight) {
  const light = applied(SIGHTS[sight], rgb.map(linear)).map((part) => Math.min(Math.max(part, 0), 1));
  const cones = applied([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], light);
  return applied([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]], cones.map(Math.cbrt));
}

/** How different two colours look, in OKLab. */
export const apart = (a, b, sight) => Math.hypot(...seen(a, sight).map((part, place) => part - seen(b, sight)[place]));

const luminance = (rgb) => applied([[0.2126, 0.7152, 0.0722]], rgb.map(linear))[0];

/** Contrast of two colours, from 1 to 21. */
export function contrast(a, b) {
  const [dark, bright] = [luminance(a), luminance(b)].sort((p, q) => p - q);
  return (bright + 0.05) / (dark + 0.05);
}
