"""Sizes for running text, each with its reason: of language models and of masked ones."""

from collections.abc import Mapping
from typing import Any

from regard.data.texts import count_characters, read_documents
from regard.tasks.suggestions import LENGTH, PIECES, paces, window
from regard.tasks.task import Reason, Section, Suggestion

# Up to this many characters: layers, d_model, heads, context, dropout, passes. The third row is
# nanoGPT's choice for a megabyte.
SIZES = (
    (400_000, 2, 128, 4, 128, 0.2, 25),
    (3_000_000, 4, 128, 4, 128, 0.1, 20),
    (30_000_000, 6, 256, 8, 256, 0.1, 8),
    (10**15, 8, 512, 8, 512, 0.1, 3),
)
# Text with fewer characters than this is learned character by character.
PIECES_PAY_FROM = 3_000_000
SHAPE = ("model.num_layers", "model.d_model", "model.cell")


def suggest_for_text(data: Section, section: Any, asked: Mapping[str, Any]) -> Suggestion:
    """Sizes for running text, also for a masked model, which asks for the kind "bert"."""
    characters = count_characters(read_documents(section.paths("train"), section.text))
    layers, d_model, heads, context, dropout, passes = next(
        row[1:] for row in SIZES if characters <= row[0]
    )
    if asked.get("kind") == "recurrent":
        # Shorter, since the state is carried from one window into the next.
        context = window(section, "context", context // 2, asked)
        model, rates, shape = recurrent_sizes(layers, d_model, dropout)
    else:
        context = window(section, "context", context, asked)
        model, rates, shape = gpt_sizes(layers, d_model, heads, dropout)
        model["max_positions"] = context
    by_character = characters <= PIECES_PAY_FROM
    tokens = max(1, characters if by_character else characters // 4)
    batch_tokens = 2048 if by_character else 4096
    steps = max(200, min(passes * tokens // batch_tokens, 100_000))
    every = max(50, steps // 10)
    train = {"batch_tokens": batch_tokens, "label_smoothing": 0.0, "patience": 4, "average": 1}
    values = {
        "data": {"context": context, **data},
        "tokenizer": {
            "kind": "character" if by_character else "bpe",
            "vocabulary_size": 1000 if by_character else 8000,
        },
        "model": model,
        "train": {**paces(steps, min(200, steps // 10), every), **train, **rates},
    }
    pieces = "pieces of words are the tokens, up to 8,000 of them"
    if by_character:
        pieces = "characters are the tokens: there is too little text to learn words from"
    amount = f"{steps:,} updates of {batch_tokens:,} tokens: {steps * batch_tokens / tokens:.0f}"
    length = f"{amount} passes over the text, fewer when validation stops getting better"
    reasons = [
        Reason(f"{characters:,} characters: so"),
        Reason(f"{shape} {context:,} tokens at a time", SHAPE),
        Reason(pieces, PIECES),
        Reason(length, (*LENGTH, "tokenizer.kind")),
    ]
    return Suggestion(values, reasons)


def gpt_sizes(
    layers: int, d_model: int, heads: int, dropout: float
) -> tuple[Section, Section, str]:
    model = {
        "num_layers": layers,
        "d_model": d_model,
        "d_ff": 4 * d_model,
        "num_heads": heads,
        "dropout": dropout,
    }
    rate = 3e-3 if d_model <= 128 else 1e-3
    rates = {"optimizer": "adamw", "learning_rate": rate, "weight_decay": 0.1}
    return model, rates, f"{layers} layers of width {d_model} that see"


def recurrent_sizes(layers: int, d_model: int, dropout: float) -> tuple[Section, Section, str]:
    """About as many parameters as a GPT has, in fewer and wider layers."""
    layers, d_model = min(2, layers // 2), 2 * d_model
    model = {
        "kind": "recurrent",
        "num_layers": layers,
        "d_model": d_model,
        "dropout": round(dropout + 0.1, 1),
    }
    rates = {"learning_rate": 3e-3 if d_model <= 256 else 1e-3}
    shape = f"{layers} LSTM layers" if layers > 1 else "an LSTM"
    return model, rates, f"{shape} of width {d_model} that see{'s' * (layers == 1)}"
