// Run inside the page: the modules that need no document, on cases worked by hand.
const done = arguments[0];
const names = ["weights", "diff", "curves", "state", "treeplace", "scene", "worked", "pieces"];
Promise.all(names.map((name) => import(`/${name}.js`))).then((modules) => {
  const [weights, diff, curves, state, tree, scene, worked, pieces] = modules;
  const matrix = { rows: 2, cols: 3, data: Float32Array.of(0.5, 0.25, 0.25, 0.1, 0.2, 0.7) };
  const list = ({ data }) => Array.from(data);
  const changed = { text: "ä&b=#", prefix: [4, 5], off: ["cross.0.1"], words: false };
  const peak = Array.from({ length: 1000 }, (_, at) => [at, at === 500 ? 9 : 0]);
  const text = scene.text(1, 1, "<&>", { fill: "red" });
  const ends = [
    { id: 0, fate: "finished", total: -4, step: 2 },
    { id: 1, fate: "finished", total: -6, step: 4 },
    { id: 2, fate: "pruned", total: 0, step: 1 },
  ];
  done({
    merged: list(weights.mergeWords(matrix, [0, 0], [0, 0, -1])),
    without: list(weights.withoutColumns(matrix, new Set([2]))),
    rollout: list(
      weights.rollout([
        { rows: 2, data: Float32Array.of(1, 0, 1, 0) },
        { rows: 2, data: Float32Array.of(1, 0, 0.5, 0.5) },
      ]),
    ),
    mass: Array.from(weights.outsideMass(matrix, 0.7)),
    softmax: weights.softmax([0, 0, -Infinity]),
    diff: diff.wordDiff(["a", "b", "c"], ["a", "x", "c"]),
    smoothed: curves.smoothed([1, 3, 3], 0.5),
    thinned: curves.thinned(peak, 50),
    ticks: curves.ticks(0, 10, 5),
    state: state.parse(state.format({ ...state.DEFAULTS, ...changed })),
    csv: scene.toCsv([["=1+1", 'a"b', 2, -2]]),
    svg: scene.toSvg({ width: 9, height: 9, background: "red", items: [text] }),
    latex: worked.latex("A", [[1, 0.5]]),
    plain: pieces.plain(["▁a", "<0xC3>", "<0xA9>", "▁b"]),
    ranked: [0, 1].map((penalty) => tree.reranked(ends, penalty).map((node) => node.id)),
  });
});
