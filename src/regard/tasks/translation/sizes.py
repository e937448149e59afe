"""Suggests sizes of a translator from the number of its pairs, each with its reason."""

from collections.abc import Mapping
from typing import Any, Literal

from regard.errors import RecipeError
from regard.recipe import parse_section
from regard.tasks.suggestions import LENGTH, PIECES, paces
from regard.tasks.task import Reason, Section, Suggestion
from regard.tasks.translation.pairs import Split, corpus, survey
from regard.tasks.translation.recipe import TranslationRecipe

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

SHAPE = ("model.encoder_layers", "model.decoder_layers", "model.d_model", "model.cell")


def fast_layers(
    encoder_layers: int, decoder_layers: int, d_model: int, d_ff: int
) -> tuple[int, int]:
    """One decoder layer, and encoder layers with the parameters of the other decoder layers."""
    encoder_layer = 4 * d_model**2 + 2 * d_model * d_ff
    decoder_layer = encoder_layer + 4 * d_model**2
    return encoder_layers + (decoder_layers - 1) * decoder_layer // encoder_layer, 1


def suggest(data: Section, asked: Mapping[str, Any], preset: str) -> Suggestion:
    """Recipe values for a [data] section. `asked` are the user's settings of the model: each kind
    has sizes of its own.
    """
    section = parse_section(TranslationRecipe, "data", data, "command line")
    found = survey(corpus(section))
    layers, d_model, d_ff, heads, vocabulary, dropout, epochs = next(
        row[1:] for row in TABLE if found.pairs <= row[0]
    )
    if asked.get("kind") == "recurrent":
        model, rate, shape = recurrent_for_pairs(layers, d_model, preset)
    else:
        model, rate, shape = transformer_for_pairs(layers, d_model, d_ff, heads, preset)
    # A vocabulary larger than this has pieces too rare to learn from.
    vocabulary = max(400, min(vocabulary, found.words // 20))
    batch_tokens = 4096 if found.pairs > 8_000 else 2048
    # A word is about 1.3 pieces; both sides of a batch hold batch_tokens.
    words = found.words
    if section.weights:
        words = survey(Split(section, seed=1, share=0.0).train()).words
    batches = max(1, round(1.3 * words / (2 * batch_tokens)))
    steps = max(400, min(epochs * batches, 100_000))
    train = {"batch_tokens": batch_tokens, "learning_rate": rate, "metric": "bleu", "patience": 8}
    values = {
        "data": data,
        "tokenizer": {"vocabulary_size": vocabulary},
        "model": {**model, "dropout": dropout},
        "train": {**paces(steps, min(1000, steps // 8), max(50, steps // 20)), **train},
    }
    pieces = f"vocabulary of up to {vocabulary:,} pieces: each is then met often enough"
    much = "much, since the data is small" if dropout > 0.1 else "the paper's"
    length = (
        f"{steps:,} updates of about {batch_tokens:,} tokens a side: {steps / batches:.0f} passes "
        "over the data, fewer when validation stops getting better"
    )
    reasons = [
        Reason(f"{found.pairs:,} pairs, {found.words:,} words on both sides: so"),
        Reason(f"{shape}: larger ones learn such a corpus by heart", SHAPE),
        Reason(f"{pieces} to be learned", PIECES),
        Reason(f"dropout {dropout}: {much}", ("model.dropout",)),
        Reason(length, LENGTH),
    ]
    return Suggestion(values, reasons)


def transformer_for_pairs(
    layers: int, d_model: int, d_ff: int, heads: int, preset: str
) -> tuple[Section, float, str]:
    encoder_layers, decoder_layers = layers, layers
    if preset == "fast":
        encoder_layers, decoder_layers = fast_layers(layers, layers, d_model, d_ff)
    model = {
        "encoder_layers": encoder_layers,
        "decoder_layers": decoder_layers,
        "d_model": d_model,
        "d_ff": d_ff,
        "num_heads": heads,
        "norm": "pre",
    }
    shape = f"{encoder_layers} + {decoder_layers} layers of width {d_model}"
    return model, 3e-3 if d_model <= 128 else 1e-3, shape


def recurrent_for_pairs(layers: int, d_model: int, preset: str) -> tuple[Section, float, str]:
    """About as many parameters as a Transformer has, in fewer and wider layers."""
    if preset == "fast":
        raise RecipeError('--preset fast: is for Transformers; leave it out with "recurrent"')
    layers, d_model = max(1, layers // 3), 2 * d_model
    model = {
        "kind": "recurrent",
        "encoder_layers": layers,
        "decoder_layers": layers,
        "d_model": d_model,
        "attention": "dot",
    }
    shape = f"{layers} + {layers} LSTM layers of width {d_model}"
    return model, 3e-3 if d_model <= 256 else 1e-3, shape
