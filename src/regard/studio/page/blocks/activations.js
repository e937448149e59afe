// Activations, and what they let back.

const SPREAD = 5;
const STEPS = 80;
const FUNCTIONS = {
  ReLU: (x) => Math.max(0, x),
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  tanh: Math.tanh,
  SiLU: (x) => x / (1 + Math.exp(-x)),
};
const SLOPES = {
  ReLU: (x) => (x > 0 ? 1 : 0),
  sigmoid: (x) => FUNCTIONS.sigmoid(x) * (1 - FUNCTIONS.sigmoid(x)),
  tanh: (x) => 1 - Math.tanh(x) ** 2,
  SiLU: (x) => FUNCTIONS.sigmoid(x) * (1 + x * (1 - FUNCTIONS.sigmoid(x))),
};

export function curve(name) {
  const inputs = Array.from({ length: STEPS + 1 }, (_, at) => -SPREAD + (2 * SPREAD * at) / STEPS);
  return { values: inputs.map(FUNCTIONS[name]), slopes: inputs.map(SLOPES[name]) };
}

export const activations = {
  title: "Activations",
  text: "What comes between two linear layers, from −5 to 5, and its slope: the factor by which a gradient is multiplied on its way back.",
  controls: [{ name: "name", label: "Function", options: Object.keys(FUNCTIONS) }],
  ask: { question: "What is the largest slope of the sigmoid?", number: 0.25, within: 0.002 },
  after: "So ten sigmoids let back at most 0.25¹⁰ of a gradient: less than a millionth.",
  run({ name }) {
    const { values, slopes } = curve(name);
    return {
      lines: [
        { name, values },
        { name: "slope", values: slopes },
      ],
      across: "x",
    };
  },
};
