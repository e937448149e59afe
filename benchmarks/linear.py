"""Measures a translator's update with and without oneDNN in its linear maps.

    python -m benchmarks.linear

One thread, processor time, the best of several rounds in which both take turns. On processors where
MKL is as fast, regard never uses oneDNN for them; see regard/layers/linear.py.
"""

import time

import torch

from regard.configs.transformer import TransformerConfig
from regard.layers import linear
from regard.layers.cross_entropy import linear_cross_entropy
from regard.models.transformer import Transformer

ROUNDS, LENGTH, VOCABULARY = 6, 16, 8000
# Layers of each side, d_model, d_ff, heads, sentences of a batch.
SIZES = {
    "tiny": (4, 128, 256, 4, 128),
    "small": (3, 256, 1024, 4, 128),
    "base": (6, 512, 2048, 8, 64),
}


def update_seconds(model: Transformer, sentences: int) -> float:
    tokens = torch.randint(4, VOCABULARY, (2, sentences, LENGTH))
    mask = torch.ones(sentences, LENGTH, dtype=torch.bool)
    started = time.process_time()
    features = model.features(tokens[0], mask, tokens[1])
    output = model.output
    loss = linear_cross_entropy(
        features.flatten(0, 1), output.weight, tokens[1].flatten(), 0.1, output.bias
    )
    loss.backward()
    model.zero_grad(set_to_none=True)
    return time.process_time() - started


def main() -> None:
    torch.set_num_threads(1)
    print(f"used on this processor: {'yes' if linear.convolutions_are_faster() else 'no'}")
    print("size   oneDNN     MKL   ratio")
    for name, (layers, d_model, d_ff, heads, sentences) in SIZES.items():
        config = TransformerConfig(
            encoder_layers=layers,
            decoder_layers=layers,
            d_model=d_model,
            d_ff=d_ff,
            num_heads=heads,
            dropout=0.1,
        )
        model = Transformer(config, VOCABULARY, VOCABULARY).train()
        best = {True: float("inf"), False: float("inf")}
        for _ in range(ROUNDS):
            for used in best:
                linear.convolutions_are_faster = lambda used=used: used  # type: ignore[assignment]
                best[used] = min(best[used], update_seconds(model, sentences))
        ratio = best[False] / best[True]
        print(f"{name:<6}{best[True]:7.3f} s{best[False]:7.3f} s{ratio:6.2f}")


if __name__ == "__main__":
    main()
