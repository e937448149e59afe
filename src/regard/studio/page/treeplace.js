// Where the nodes of a beam search stand: a column a step, a row a rank. Pure.

/** [{…node, piece, x, y, children}], and the size in columns and rows. */
export function placed({ nodes, pieces }, { pruned = true } = {}) {
  const shown = nodes.filter((node) => pruned || node.fate !== "pruned");
  const byId = new Map();
  let rows = 0;
  const rankAt = new Map();
  for (const node of shown) {
    const rank = pruned ? node.rank : (rankAt.get(node.step) ?? 0);
    rankAt.set(node.step, rank + 1);
    byId.set(node.id, { ...node, piece: pieces[node.id], x: node.step - 1, y: rank, children: [] });
    rows = Math.max(rows, rank + 1);
  }
  for (const node of byId.values()) byId.get(node.parent)?.children.push(node);
  const all = [...byId.values()];
  const [first] = [...all].sort((a, b) => a.x - b.x || a.y - b.y);
  return { nodes: all, first, byId, columns: Math.max(0, ...[...rankAt.keys()]), rows };
}

/** The nodes from the first token to this one. */
export function pathTo(byId, id) {
  const path = [];
  for (let node = byId.get(id); node; node = byId.get(node.parent)) path.unshift(node);
  return path;
}

/** Outputs as another length penalty ranks them, finished ones first. */
export function reranked(nodes, penalty) {
  return nodes
    .filter((node) => node.fate === "finished" || node.fate === "cut")
    .map((node) => ({ ...node, score: node.total / node.step ** penalty }))
    .sort((a, b) => (a.fate === "cut") - (b.fate === "cut") || b.score - a.score);
}

/** The node that an arrow key leads to. */
export function neighbour({ nodes, byId }, node, key) {
  if (key === "ArrowLeft") return byId.get(node.parent);
  if (key === "ArrowRight") return [...node.children].sort((a, b) => a.rank - b.rank)[0];
  const column = nodes.filter((each) => each.x === node.x).sort((a, b) => a.y - b.y);
  const at = column.indexOf(node) + { ArrowUp: -1, ArrowDown: 1 }[key];
  return column[at];
}
