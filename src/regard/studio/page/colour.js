// Colour scales. Steps look even because they are even in OKLab (Ottosson 2020).

const RAMPS = {
  light: ["#fdfcf9", "#dbe8ee", "#97c0d8", "#4b8cbd", "#24569a", "#14275c"],
  dark: ["#1a1c21", "#1e3247", "#23527a", "#3382ae", "#71b9d6", "#e2f5f7"],
};
const SIGNED = {
  light: ["#8a3d0c", "#d98a4b", "#fdfcf9", "#6ea6cc", "#1b4f8f"],
  dark: ["#f6b27a", "#a55f2a", "#1a1c21", "#2f6f9f", "#a9d9f0"],
};

export const RUN_COLOURS = { light: ["#24569a", "#a54d0b"], dark: ["#71b9d6", "#eda15e"] };

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function linear(channel) {
  const value = channel / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function gamma(value) {
  const channel = value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.min(1, Math.max(0, channel)));
}

function toLab(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => linear(parseInt(hex.slice(at, at + 2), 16)));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromLab([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** 256 colours [r, g, b] through the stops. */
export function ramp(stops) {
  const labs = stops.map(toLab);
  return Array.from({ length: 256 }, (_, index) => {
    const place = (index / 255) * (labs.length - 1);
    const low = Math.min(labs.length - 2, Math.floor(place));
    const share = place - low;
    return fromLab(labs[low].map((value, part) => value * (1 - share) + labs[low + 1][part] * share));
  });
}

const made = {
  light: { plain: ramp(RAMPS.light), signed: ramp(SIGNED.light) },
  dark: { plain: ramp(RAMPS.dark), signed: ramp(SIGNED.dark) },
};

export function table(dark, signed = false) {
  return made[dark ? "dark" : "light"][signed ? "signed" : "plain"];
}

/** The place of a value in a table of 256: from 0 to most, or from -most to most when signed. */
export function shade(value, most, signed = false) {
  const share = signed ? 0.5 + value / (2 * most || 1) : value / (most || 1);
  return Math.min(255, Math.max(0, Math.round(255 * share)));
}

export function css([r, g, b]) {
  return `rgb(${r}, ${g}, ${b})`;
}

/** Ink that can be read on a colour. */
export function ink([r, g, b]) {
  const bright = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  // Black and white are as far from this brightness as each other: 4.6 to 1 at the least.
  return bright > 0.179 ? "#000000" : "#ffffff";
}
