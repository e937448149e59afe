"""Sizes that follow from the amount of data, each with its reason."""

from typing import Any, Literal

from regard.checkpoint import Run
from regard.data.texts import count_characters, read_documents
from regard.errors import RecipeError
from regard.recipe import parse_data
from regard.training.label_lesson import read_labelled
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

# "fast" is as large as "standard", and most of it is in the encoder: an output is written piece by
# piece, so it is the decoder's depth that translating waits for (Kasai et al. 2021).
Preset = Literal["standard", "fast"]

# The learning rate of a model that has learned before, times its width: 6.5e-5 for BERT's; and by
# what its time is divided. A translator must also learn other words, not only what to do with them.
RATE_FROM_RUN, SHORTER_FROM_RUN = 0.05, 5
RATE_OF_TRANSLATOR, SHORTER_OF_TRANSLATOR = 0.125, 2


def fast_layers(
    encoder_layers: int, decoder_layers: int, d_model: int, d_ff: int
) -> tuple[int, int]:
    """One decoder layer, and as many encoder layers as the parameters of the others make."""
    encoder_layer = 4 * d_model**2 + 2 * d_model * d_ff
    decoder_layer = encoder_layer + 4 * d_model**2
    return encoder_layers + (decoder_layers - 1) * decoder_layer // encoder_layer, 1


def suggest_from(
    from_run: str, data: dict[str, Any], task: str
) -> tuple[dict[str, Any], list[str]]:
    """The same for what begins with the model and the tokenizer of a run."""
    values, reasons = suggest(data, task)
    values.pop("model")
    values.pop("tokenizer")
    values["data"].pop("counted_window", None)
    model = Run.open(from_run).recipe().model
    train = values["train"]
    rate, shorter = RATE_FROM_RUN, SHORTER_FROM_RUN
    if task == "translation":
        rate, shorter = RATE_OF_TRANSLATOR, SHORTER_OF_TRANSLATOR
    steps = max(100, train["steps"] // shorter)
    every = max(25, steps // 10)
    train |= {"steps": steps, "warmup_steps": steps // 10, "eval_every": every, "save_every": every}
    train["learning_rate"] = float(f"{rate / model.d_model:.1g}")
    positions = getattr(model, "max_positions", None)
    for name in {"max_length", "context"} & values["data"].keys():
        values["data"][name] = min(values["data"][name], positions or values["data"][name])
    kept = f"the model and tokenizer of {from_run}, learning slowly, so that what it knows stays"
    return values, [reasons[0], kept, f"{steps:,} updates: much is known already"]


def suggest(
    data: dict[str, Any], task: str = "translation", preset: Preset = "standard"
) -> tuple[dict[str, Any], list[str]]:
    """Recipe values for a [data] section, and sentences that say why."""
    match task:
        case "translation":
            return suggest_for_pairs(data, preset)
        case "language-model":
            return suggest_for_text(data)
        case "classification" | "tagging":
            return suggest_for_labels(data, task)
        case "masked-language-model":
            return suggest_for_masked(data)
        case _:
            raise RecipeError(f"task {task}: there is no such task")


def suggest_for_pairs(data: dict[str, Any], preset: Preset) -> tuple[dict[str, Any], list[str]]:
    found = survey(corpus(parse_data(data, "command line")))
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


def suggest_for_text(data: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    section = parse_data(data, "command line")
    characters = count_characters(read_documents(section.paths("train")))
    layers, d_model, heads, context, dropout, passes = next(
        row[1:] for row in TEXTS if characters <= row[0]
    )
    by_character = characters <= PIECES_PAY_FROM
    tokens = characters if by_character else characters // 4
    batch_tokens = 2048 if by_character else 4096
    steps = max(200, min(passes * tokens // batch_tokens, 100_000))
    every = max(50, steps // 10)
    values = {
        "data": {"context": context, **data},
        "tokenizer": {
            "kind": "character" if by_character else "bpe",
            "vocabulary_size": 1000 if by_character else 8000,
        },
        "model": {
            "num_layers": layers,
            "d_model": d_model,
            "d_ff": 4 * d_model,
            "num_heads": heads,
            "dropout": dropout,
            "max_positions": context,
        },
        "train": {
            "steps": steps,
            "batch_tokens": batch_tokens,
            "optimizer": "adamw",
            "learning_rate": 3e-3 if d_model <= 128 else 1e-3,
            "schedule": "cosine",
            "final_learning_rate": 1e-5,
            "warmup_steps": min(200, steps // 10),
            "weight_decay": 0.1,
            "label_smoothing": 0.0,
            "eval_every": every,
            "save_every": every,
            "patience": 4,
            "average": 1,
        },
    }
    amount = f"{steps:,} updates of {batch_tokens:,} tokens: {steps * batch_tokens / tokens:.0f}"
    reasons = [
        f"{characters:,} characters: so",
        f"{layers} layers of width {d_model} that see {context} tokens at a time",
        "characters are the tokens: there is too little text to learn words from"
        if by_character
        else "pieces of words are the tokens, up to 8,000 of them",
        f"{amount} passes over the text, fewer when validation stops getting better",
    ]
    return values, reasons


def suggest_for_labels(data: dict[str, Any], task: str) -> tuple[dict[str, Any], list[str]]:
    section = parse_data(data, "command line")
    count = words = 0
    for example in read_labelled(task, section.paths("train"), section.label):
        count += 1
        words += sum(unit.count(" ") + 1 for unit in example.units)
    d_model, dropout, passes = (128, 0.5, 15) if count <= 50_000 else (256, 0.3, 6)
    vocabulary = max(400, min(16_000, words // 20))
    batch_tokens = 4096 if words > 500_000 else 1024
    batches = max(1, round(1.4 * words / batch_tokens))
    steps = max(200, min(passes * batches, 100_000))
    every = max(25, steps // 15)
    values = {
        "data": {"max_length": 256, **data},
        "tokenizer": {"vocabulary_size": vocabulary},
        "model": {"kind": "recurrent", "d_model": d_model, "dropout": dropout},
        "train": {
            "steps": steps,
            "batch_tokens": batch_tokens,
            "learning_rate": 2e-3,
            "schedule": "cosine",
            "final_learning_rate": 1e-5,
            "warmup_steps": min(200, steps // 10),
            "label_smoothing": 0.0,
            "eval_every": every,
            "save_every": every,
            "metric": "accuracy",
            "patience": 5,
            "average": 1,
        },
    }
    unit = "texts" if task == "classification" else "sentences"
    reasons = [
        f"{count:,} {unit}, {words:,} words: so",
        f"a bidirectional LSTM of width {d_model}, dropout {dropout}: it needs the least data",
        f"vocabulary of up to {vocabulary:,} pieces: each is then met often enough to be learned",
        f"{steps:,} updates, {passes} passes at most: fewer when validation stops getting better",
    ]
    return values, reasons


def suggest_for_masked(data: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The sizes of a language model of pieces, for a model that sees both sides."""
    values, reasons = suggest_for_text(data)
    model = {**values["model"], "kind": "bert", "num_segments": 1}
    values["tokenizer"] = {"vocabulary_size": 8000}
    values["model"] = model
    values["train"] |= {"learning_rate": 1e-3, "adam_betas": (0.9, 0.999), "adam_epsilon": 1e-6}
    reasons = [*reasons[:2], "pieces of words are the tokens, up to 8,000 of them"]
    if not data.get("embeddings"):
        values["data"] = {"counted_window": 8, **values["data"]}
        reasons.append("their embeddings begin with which pieces stand near each other in the text")
    return values, reasons
