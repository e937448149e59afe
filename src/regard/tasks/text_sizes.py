"""Sizes for running text and for labelled text, each with its reason."""

from collections.abc import Mapping
from typing import Any

from regard.data.texts import count_characters, read_documents
from regard.recipe import DataSection, parse_data
from regard.training.label_lesson import read_labelled
from regard.training.reasons import LENGTH, PIECES, Reason, Section, Suggestion

# Up to so many characters: layers, d_model, heads, context, dropout, passes. Below the first, a
# model of characters; above, of pieces. The third row is that of nanoGPT for a megabyte.
TEXTS = (
    (400_000, 2, 128, 4, 128, 0.2, 25),
    (3_000_000, 4, 128, 4, 128, 0.1, 20),
    (30_000_000, 6, 256, 8, 256, 0.1, 8),
    (10**15, 8, 512, 8, 512, 0.1, 3),
)
# Text with fewer characters than this is learned character by character.
PIECES_PAY_FROM = 3_000_000
SHAPE = ("model.num_layers", "model.d_model", "model.cell")


def window(section: DataSection, name: str, suggested: int, model: Mapping[str, Any]) -> int:
    """What is read at a time: as asked for, and otherwise no more than there are positions."""
    if name in section.model_fields_set:
        return int(getattr(section, name))
    positions = model.get("max_positions")
    return min(suggested, max(2, positions)) if isinstance(positions, int) else suggested


def suggest_for_text(data: Section, asked: Mapping[str, Any]) -> Suggestion:
    section = parse_data(data, "command line")
    characters = count_characters(read_documents(section.paths("train")))
    layers, d_model, heads, context, dropout, passes = next(
        row[1:] for row in TEXTS if characters <= row[0]
    )
    if asked.get("kind") == "recurrent":
        # Shorter, since what was read before a window is carried into it.
        context = window(section, "context", context // 2, asked)
        model, rates, shape = recurrent_for_text(layers, d_model, dropout)
    else:
        context = window(section, "context", context, asked)
        model, rates, shape = gpt_for_text(layers, d_model, heads, dropout)
        model["max_positions"] = context
    by_character = characters <= PIECES_PAY_FROM
    tokens = characters if by_character else characters // 4
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
    return values, [
        Reason(f"{characters:,} characters: so"),
        Reason(f"{shape} {context:,} tokens at a time", SHAPE),
        Reason(pieces, PIECES),
        Reason(length, (*LENGTH, "tokenizer.kind")),
    ]


def paces(steps: int, warmup_steps: int, every: int) -> Section:
    return {
        "steps": steps,
        "schedule": "cosine",
        "final_learning_rate": 1e-5,
        "warmup_steps": warmup_steps,
        "eval_every": every,
        "save_every": every,
    }


def gpt_for_text(
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


def recurrent_for_text(layers: int, d_model: int, dropout: float) -> tuple[Section, Section, str]:
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


def suggest_for_masked(data: Section, asked: Mapping[str, Any]) -> Suggestion:
    """The sizes of a language model of pieces, for a model that sees both sides."""
    values, reasons = suggest_for_text(data, {**asked, "kind": "bert"})
    values["tokenizer"] = {"vocabulary_size": 8000}
    values["model"] |= {"kind": "bert", "num_segments": 1}
    values["train"] |= {"learning_rate": 1e-3, "adam_betas": (0.9, 0.999), "adam_epsilon": 1e-6}
    pieces = "pieces of words are the tokens, up to 8,000 of them"
    reasons = [*reasons[:2], Reason(pieces, PIECES)]
    if not data.get("embeddings"):
        values["data"] = {"counted_window": 8, **values["data"]}
        counted = "their embeddings begin with which pieces stand near each other in the text"
        reasons.append(Reason(counted, ("data.counted_window",)))
    return values, reasons


def suggest_for_labels(data: Section, task: str, asked: Mapping[str, Any]) -> Suggestion:
    section = parse_data(data, "command line")
    count = words = 0
    for example in read_labelled(task, section.paths("train"), section.label):
        count += 1
        words += sum(unit.count(" ") + 1 for unit in example.units)
    few = count <= 50_000
    passes = 15 if few else 6
    max_length = window(section, "max_length", 256, asked)
    model, rates, shape = (
        bert_for_labels(few, max_length) if asked.get("kind") == "bert" else reader_for_labels(few)
    )
    vocabulary = max(400, min(16_000, words // 20))
    batch_tokens = 4096 if words > 500_000 else 1024
    batches = max(1, round(1.4 * words / batch_tokens))
    steps = max(200, min(passes * batches, 100_000))
    train = {"batch_tokens": batch_tokens, "label_smoothing": 0.0, "patience": 5, "average": 1}
    paced = paces(steps, min(200, steps // 10), max(25, steps // 15))
    values = {
        "data": {"max_length": max_length, **data},
        "tokenizer": {"vocabulary_size": vocabulary},
        "model": model,
        "train": {**paced, **train, "metric": "accuracy", **rates},
    }
    unit = "texts" if task == "classification" else "sentences"
    pieces = f"vocabulary of up to {vocabulary:,} pieces: each is then met often enough"
    length = f"{steps:,} updates, {passes} passes at most: fewer when validation stops getting"
    return values, [
        Reason(f"{count:,} {unit}, {words:,} words: so"),
        shape,
        Reason(f"{pieces} to be learned", PIECES),
        Reason(f"{length} better", LENGTH),
    ]


def reader_for_labels(few: bool) -> tuple[Section, Section, Reason]:
    d_model, dropout = (128, 0.5) if few else (256, 0.3)
    shape = f"a bidirectional LSTM of width {d_model}, dropout {dropout}: it needs the least data"
    about = ("model.d_model", "model.dropout", "model.cell", "model.bidirectional")
    model = {"kind": "recurrent", "d_model": d_model, "dropout": dropout}
    return model, {"learning_rate": 2e-3}, Reason(shape, about)


def bert_for_labels(few: bool, max_length: int) -> tuple[Section, Section, Reason]:
    layers, d_model, d_ff, heads, dropout, rate = (
        (2, 128, 256, 4, 0.3, 1e-3) if few else (4, 256, 1024, 8, 0.2, 5e-4)
    )
    model = {
        "kind": "bert",
        "num_layers": layers,
        "d_model": d_model,
        "d_ff": d_ff,
        "num_heads": heads,
        "dropout": dropout,
        "max_positions": max_length,
        "num_segments": 1,
    }
    rates = {"optimizer": "adamw", "learning_rate": rate, "weight_decay": 0.01}
    shape = f"a Transformer encoder, {layers} layers of width {d_model}, dropout {dropout}"
    return model, rates, Reason(shape, ("model.num_layers", "model.d_model", "model.dropout"))
