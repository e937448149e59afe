// A Transformer (Vaswani et al. 2017) over typed arrays: it reads a sentence and writes its
// translation, one piece after the other, each time the most probable one.

(() => {
  /** A linear map of the rows of `x` [rows, inputs]: weight [outputs, inputs], from row `first` to `last`. */
  function linear(x, { weight, bias }, first = 0, last = weight.shape[0]) {
    const [, inputs] = weight.shape;
    const rows = x.length / inputs;
    const outputs = last - first;
    const y = new Float32Array(rows * outputs);
    const w = weight.data;
    for (let o = 0; o < outputs; o += 1) {
      const from = (first + o) * inputs;
      for (let r = 0; r < rows; r += 1) {
        const at = r * inputs;
        let a = 0;
        let b = 0;
        let i = 0;
        for (; i + 1 < inputs; i += 2) {
          a += x[at + i] * w[from + i];
          b += x[at + i + 1] * w[from + i + 1];
        }
        if (i < inputs) a += x[at + i] * w[from + i];
        y[r * outputs + o] = a + b + (bias ? bias.data[first + o] : 0);
      }
    }
    return y;
  }

  function normalise(x, { weight, bias }, isRms) {
    const width = weight.data.length;
    const y = new Float32Array(x.length);
    for (let at = 0; at < x.length; at += width) {
      let mean = 0;
      if (!isRms) {
        for (let i = 0; i < width; i += 1) mean += x[at + i];
        mean /= width;
      }
      let square = 0;
      for (let i = 0; i < width; i += 1) square += (x[at + i] - mean) ** 2;
      const scale = 1 / Math.sqrt(square / width + (isRms ? 1e-6 : 1e-5));
      for (let i = 0; i < width; i += 1) {
        y[at + i] = (x[at + i] - mean) * scale * weight.data[i] + (bias ? bias.data[i] : 0);
      }
    }
    return y;
  }

  const sigmoid = (x) => 1 / (1 + Math.exp(-x));

  /** The error function (Abramowitz and Stegun 7.1.26). */
  function erf(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    return Math.sign(x) * (1 - sum * Math.exp(-x * x));
  }

  const ACTIVATIONS = {
    relu: (x) => Math.max(0, x),
    gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
    gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
    quick_gelu: (x) => x * sigmoid(1.702 * x),
    swish: (x) => x * sigmoid(x),
  };

  function softmax(scores) {
    const top = Math.max(...scores);
    let sum = 0;
    for (let i = 0; i < scores.length; i += 1) sum += scores[i] = Math.exp(scores[i] - top);
    for (let i = 0; i < scores.length; i += 1) scores[i] /= sum;
  }

  /** What the queries [rows, width] find among keys and values [seen, width], head by head. */
  function attend(queries, keys, values, width, headWidth) {
    const rows = queries.length / width;
    const seen = keys.length / width;
    const found = new Float32Array(queries.length);
    const scores = new Float32Array(seen);
    const root = Math.sqrt(headWidth);
    for (let row = 0; row < rows; row += 1) {
      for (let head = 0; head < width; head += headWidth) {
        for (let s = 0; s < seen; s += 1) {
          let sum = 0;
          for (let i = 0; i < headWidth; i += 1) sum += queries[row * width + head + i] * keys[s * width + head + i];
          scores[s] = sum / root;
        }
        softmax(scores);
        for (let s = 0; s < seen; s += 1) {
          const weight = scores[s];
          for (let i = 0; i < headWidth; i += 1) found[row * width + head + i] += weight * values[s * width + head + i];
        }
      }
    }
    return found;
  }

  const joined = (first, second) => {
    const both = new Float32Array(first.length + second.length);
    both.set(first);
    both.set(second, first.length);
    return both;
  };
  const add = (x, y) => x.map((each, i) => each + y[i]);

  class Transformer {
    constructor(config, tensors) {
      this.config = config;
      this.tensors = tensors;
    }

    part(name) {
      return { weight: this.tensors[`${name}.weight`], bias: this.tensors[`${name}.bias`] };
    }

    norm(x, name) {
      return normalise(x, this.part(name), this.config.normalisation === "rms");
    }

    /** Add & norm around a part of a block, after it or before it. */
    residual(x, name, work) {
      const isPre = this.config.norm === "pre";
      const y = add(x, work(isPre ? this.norm(x, `${name}_residual.normalise`) : x));
      return isPre ? y : this.norm(y, `${name}_residual.normalise`);
    }

    embed(name, ids, start) {
      const { d_model: width, positions } = this.config;
      const table = this.tensors[name].data;
      const x = new Float32Array(ids.length * width);
      ids.forEach((id, row) => {
        for (let i = 0; i < width; i += 1) {
          const position = positions === "sinusoidal" ? this.wave(start + row, i, width)
            : positions === "learned" ? this.tensors["positions.table"].data[(start + row) * width + i] : 0;
          x[row * width + i] = table[id * width + i] * Math.sqrt(width) + position;
        }
      });
      return x;
    }

    wave(position, i, width) {
      const angle = position * Math.exp(((i - (i % 2)) * -Math.log(10000)) / width);
      return i % 2 ? Math.cos(angle) : Math.sin(angle);
    }

    /** Rotary positions: turn each pair of numbers of a head by the angle of its position. */
    rotate(x, width, start) {
      if (this.config.positions !== "rotary") return x;
      const { d_k: headWidth } = this.config;
      const y = new Float32Array(x.length);
      for (let at = 0; at < x.length; at += 2) {
        const angle = (start + Math.floor(at / width))
          * Math.exp(((at % headWidth) * -Math.log(10000)) / headWidth);
        const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
        y[at] = x[at] * cosine - x[at + 1] * sine;
        y[at + 1] = x[at] * sine + x[at + 1] * cosine;
      }
      return y;
    }

    feedForward(x, name) {
      const { activation } = this.config;
      const inner = this.part(`${name}.inner`);
      let hidden = linear(x, inner);
      if (activation === "swiglu") {
        const width = inner.weight.shape[0] / 2;
        hidden = Float32Array.from({ length: hidden.length / 2 }, (_, i) => {
          const at = Math.floor(i / width) * 2 * width + (i % width);
          return ACTIVATIONS.swish(hidden[at]) * hidden[at + width];
        });
      } else {
        hidden = hidden.map(ACTIVATIONS[activation]);
      }
      return linear(hidden, this.part(`${name}.outer`));
    }

    /** Self-attention; `cache` has the keys and values of the tokens before, and gets those of `x`. */
    selfAttention(x, name, start, cache = { keys: new Float32Array(0), values: new Float32Array(0) }) {
      const projection = this.part(`${name}.in_projection`);
      const width = projection.weight.shape[0] / 3;
      const queries = this.rotate(linear(x, projection, 0, width), width, start);
      cache.keys = joined(cache.keys, this.rotate(linear(x, projection, width, 2 * width), width, start));
      cache.values = joined(cache.values, linear(x, projection, 2 * width));
      const found = attend(queries, cache.keys, cache.values, width, this.config.d_k);
      return linear(found, this.part(`${name}.out_projection`));
    }

    crossAttention(x, name, { keys, values }) {
      const projection = this.part(`${name}.in_projection`);
      const width = projection.weight.shape[0] / 3;
      const found = attend(linear(x, projection, 0, width), keys, values, width, this.config.d_k);
      return linear(found, this.part(`${name}.out_projection`));
    }

    encode(ids) {
      const table = this.tensors["source_embedding.weight"] ? "source_embedding.weight" : "target_embedding.weight";
      let x = this.embed(table, ids, 0);
      for (let layer = 0; layer < this.config.encoder_layers; layer += 1) {
        const name = `encoder.${layer}`;
        x = this.residual(x, `${name}.self_attention`, (y) => this.selfAttention(y, `${name}.self_attention`, 0));
        x = this.residual(x, `${name}.feed_forward`, (y) => this.feedForward(y, `${name}.feed_forward`));
      }
      return this.config.norm === "pre" ? this.norm(x, "encoder_norm") : x;
    }

    /** The state before the first token: the source's keys and values for each layer. */
    start(ids) {
      const memory = this.encode(ids);
      const layers = Array.from({ length: this.config.decoder_layers }, (_, layer) => {
        const projection = this.part(`decoder.${layer}.cross_attention.in_projection`);
        const width = projection.weight.shape[0] / 3;
        return {
          source: {
            keys: linear(memory, projection, width, 2 * width),
            values: linear(memory, projection, 2 * width),
          },
          cache: { keys: new Float32Array(0), values: new Float32Array(0) },
        };
      });
      return { position: 0, layers };
    }

    /** The logits of the token after `token`. */
    step(token, state) {
      let x = this.embed("target_embedding.weight", [token], state.position);
      state.layers.forEach(({ source, cache }, layer) => {
        const [self, cross, inner] = ["self_attention", "cross_attention", "feed_forward"]
          .map((part) => `decoder.${layer}.${part}`);
        x = this.residual(x, self, (y) => this.selfAttention(y, self, state.position, cache));
        x = this.residual(x, cross, (y) => this.crossAttention(y, cross, source));
        x = this.residual(x, inner, (y) => this.feedForward(y, inner));
      });
      state.position += 1;
      if (this.config.norm === "pre") x = this.norm(x, "decoder_norm");
      const weight = this.tensors["output.weight"] ?? this.tensors["target_embedding.weight"];
      return linear(x, { weight, bias: this.tensors["output.bias"] });
    }
  }

  globalThis.regard = { ...globalThis.regard, Transformer };
})();
