"""Sizes that follow from the amount of data, each with its reason."""

from typing import Any, Literal

from regard.recipe import DataSection
from regard.training.prepare import corpus, survey

# Up to this many pairs: layers a side, d_model, d_ff, heads, vocabulary, dropout, epochs.
# The second row is the size that published work settled on for 29,000 pairs, the last the paper's.
TABLE = (
    (8_000, 2, 128, 256, 4, 2_000, 0.3, 60),
    (60_000, 4, 128, 256, 4, 8_000, 0.3, 40),
    (250_000, 4, 256, 1024, 4, 10_000, 0.2, 20),
    (1_500_000, 6, 256, 1024, 4, 16_000, 0.1, 10),
    (10**15, 6, 512, 2048, 8, 32_000, 0.1, 5),
)


# "fast" is as large as "standard", and most of it is in the encoder: an output is written piece by
# piece, so it is the decoder's depth that translating waits for (Kasai et al. 2021).
Preset = Literal["standard", "fast"]


def fast_layers(
    encoder_layers: int, decoder_layers: int, d_model: int, d_ff: int
) -> tuple[int, int]:
    """One decoder layer, and as many encoder layers as the parameters of the others make."""
    encoder_layer = 4 * d_model**2 + 2 * d_model * d_ff
    decoder_layer = encoder_layer + 4 * d_model**2
    return encoder_layers + (decoder_layers - 1) * decoder_layer // encoder_layer, 1


def suggest(data: dict[str, Any], preset: Preset = "standard") -> tuple[dict[str, Any], list[str]]:
    """Recipe values for a [data] section, and sentences that say why."""
    found = survey(corpus(DataSection.model_validate(data)))
    layers, d_model, d_ff, heads, vocabulary, dropout, epochs = next(
        row[1:] for row in TABLE if found.pairs <= row[0]
    )
    encoder_layers, decoder_layers = layers, layers
    if preset == "fast":
        encoder_layers, decoder_layers = fast_layers(layers, layers, d_model, d_ff)
    # A vocabulary larger than this has pieces too rare to learn from.
    vocabulary = max(400, min(vocabulary, found.words // 20))
    batch_tokens = 4096 if found.pairs > 8_000 else 2048
    # A word is about 1.3 pieces; both sides of a batch hold batch_tokens.
    batches = max(1, round(1.3 * found.words / (2 * batch_tokens)))
    steps = max(400, min(epochs * batches, 100_000))
    every = max(50, steps // 20)
    values = {
        "data": data,
        "tokenizer": {"vocabulary_size": vocabulary},
        "model": {
            "encoder_layers": encoder_layers,
            "decoder_layers": decoder_layers,
            "d_model": d_model,
            "d_ff": d_ff,
            "num_heads": heads,
            "dropout": dropout,
            "norm": "pre",
        },
        "train": {
            "steps": steps,
            "batch_tokens": batch_tokens,
            "learning_rate": 3e-3 if d_model <= 128 else 1e-3,
            "schedule": "cosine",
            "final_learning_rate": 1e-5,
            "warmup_steps": min(1000, steps // 8),
            "eval_every": every,
            "save_every": every,
            "metric": "bleu",
            "patience": 8,
        },
    }
    shape = f"{encoder_layers} + {decoder_layers}"
    reasons = [
        f"{found.pairs:,} pairs, {found.words:,} words on both sides: so",
        f"{shape} layers of width {d_model}: larger ones learn such a corpus by heart",
        f"vocabulary of up to {vocabulary:,} pieces: each is then met often enough to be learned",
        f"dropout {dropout}: "
        + ("much, since the data is small" if dropout > 0.1 else "the paper's"),
    ]
    length = (
        f"{steps:,} updates of about {batch_tokens:,} tokens a side: {steps / batches:.0f} passes "
        "over the data, fewer when validation stops getting better"
    )
    return values, [*reasons, length]
