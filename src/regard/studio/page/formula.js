// Formulas as MathML, built from small parts.

import { math } from "./dom.js";

export const mi = (text) => math("mi", {}, text);
export const mn = (text) => math("mn", {}, text);
export const mo = (text) => math("mo", {}, text);
export const mtext = (text) => math("mtext", {}, text);
export const row = (...parts) => math("mrow", {}, ...parts);
export const sub = (base, index) => math("msub", {}, base, index);
export const sup = (base, index) => math("msup", {}, base, index);
export const frac = (over, under) => math("mfrac", {}, over, under);
export const root = (inside) => math("msqrt", {}, inside);
export const block = (...parts) => math("math", { display: "block" }, row(...parts));
export const inline = (...parts) => math("math", {}, row(...parts));

const transposed = (name) => sup(mi(name), mi("⊤"));

/** softmax(QKᵀ/√d)V */
export function scaledDotProduct() {
  return block(
    // Brackets grow with what stands in their row, so each pair has its own.
    row(mi("Attention"), mo("("), mi("Q"), mo(","), mi("K"), mo(","), mi("V"), mo(")")),
    mo("="),
    row(mi("softmax"), mo("("), frac(row(mi("Q"), transposed("K")), root(sub(mi("d"), mi("k")))), mo(")")),
    mi("V"),
  );
}

/** h = ReLU(V h + U x), o = W h */
export function recurrentStep() {
  const now = (name) => sub(mi(name), mi("t"));
  return block(
    now("h"),
    mo("="),
    mi("ReLU"),
    mo("("),
    row(mi("V"), sub(mi("h"), row(mi("t"), mo("−"), mn("1")))),
    mo("+"),
    row(mi("U"), now("x")),
    mo(")"),
    mo(","),
    math("mspace", { width: "1em" }),
    now("o"),
    mo("="),
    row(mi("W"), now("h")),
  );
}

/** Q = X W^Q, K = X W^K */
export function linear() {
  const product = (name) => row(mi(name), mo("="), mi("X"), sup(mi("W"), mi(name)));
  return block(product("Q"), mo(","), math("mspace", { width: "1em" }), product("K"));
}

/** e = vᵀ tanh(W s + U h) */
export function additive() {
  return block(
    sub(mi("e"), row(mi("i"), mi("j"))),
    mo("="),
    transposed("v"),
    mi("tanh"),
    mo("("),
    mi("W"),
    sub(mi("s"), row(mi("i"), mo("−"), mn("1"))),
    mo("+"),
    mi("U"),
    sub(mi("h"), mi("j")),
    mo(")"),
  );
}

/** PE(pos, 2i) = sin(pos / 10000^(2i/d)), or cos for 2i+1, with the numbers put in. */
export function sinusoid(position, dimension, width, value) {
  const even = dimension - (dimension % 2);
  return block(
    sub(mi("PE"), row(mn(position), mo(","), mn(dimension))),
    mo("="),
    mi(dimension % 2 ? "cos" : "sin"),
    mo("("),
    frac(mn(position), sup(mn("10000"), frac(mn(even), mn(width)))),
    mo(")"),
    mo("="),
    mn(value.toFixed(4)),
  );
}
