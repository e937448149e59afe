"""Masked language models: hidden tokens of a running text are predicted from both sides."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.configs.bert import BertConfig
from regard.configs.work import Work
from regard.data.texts import paragraphs, read_documents
from regard.errors import DataError, RecipeError
from regard.evaluate.metrics import ACCURACY, FREQUENT_TOKEN, NEXT_SENTENCE_ACCURACY, PERPLEXITY
from regard.planning.task_planning import Sizes as PlannedSizes
from regard.planning.task_planning import TaskPlanning
from regard.recipe import Recipe, parse_section
from regard.run import Run
from regard.tasks import running_text
from regard.tasks.checking import text_report
from regard.tasks.language_model import text_evaluation
from regard.tasks.measuring import assumed_sizes, text_facts
from regard.tasks.running_text import Windows, require, streams
from regard.tasks.sections import (
    MaskedSection,
    TokenizerSection,
    TokenTraining,
    check_embeddings,
    check_positions,
)
from regard.tasks.suggestions import PIECES
from regard.tasks.task import (
    Description,
    Evaluation,
    Reason,
    Section,
    Sizes,
    Suggestion,
    Task,
    Test,
    TextQuestion,
)
from regard.tasks.text_sizes import suggest_for_text
from regard.training.events import Event, ExamplesReady, Phase

if TYPE_CHECKING:
    from torch import nn

    from regard.data.stream import Stream
    from regard.inspect.flow.parts import Flow
    from regard.inspect.maps import Maps
    from regard.tasks.embedder import Reader
    from regard.tasks.filler import Filler
    from regard.training.setup import TrainingSetup


class MaskedLanguageModelRecipe(Recipe):
    """A model that fills in what is missing."""

    models: ClassVar = {"bert": BertConfig}
    metrics = ("loss", "accuracy")

    task: Literal["masked-language-model"] = Field(
        default="masked-language-model", description="What the model is for."
    )
    data: MaskedSection
    tokenizer: TokenizerSection = TokenizerSection()
    model: BertConfig = Field(default_factory=dict, validate_default=True)
    train: TokenTraining = TokenTraining()

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        check_embeddings(self.data, self.tokenizer)
        if self.data.cooccurrence_window:
            for setting, given in (
                ("data.embeddings", self.data.embeddings),
                ("train.from_run", self.train.from_run),
            ):
                if given:
                    raise ValueError(
                        f"data.cooccurrence_window and {setting}: a model starts with one of "
                        "them; leave one out (data.cooccurrence_window=0)"
                    )
        check_positions(self.model.max_positions, self.data.context, "data.context")
        return self


def build(recipe: MaskedLanguageModelRecipe, sizes: Sizes) -> "nn.Module":
    from regard import models

    return models.build(recipe.model, sizes["inputs"], sizes["outputs"])


def around(model: BertConfig) -> int:
    """Tokens of a window that are not text: a start, an end, and an end between two halves."""
    return 3 if model.next_sentence else 2


def setup(run: Run, recipe: MaskedLanguageModelRecipe) -> "Generator[Event, None, TrainingSetup]":
    from regard import objectives
    from regard.data.masked import MaskedExamples, Masking
    from regard.data.stream import WindowBatches
    from regard.evaluate import simple
    from regard.evaluate.masked import HeldOutMasked
    from regard.tasks.embeddings import from_vectors
    from regard.training.setup import TrainingSetup

    data, model = recipe.data, recipe.model
    if not model.masked_head:
        raise RecipeError("model.masked_head = false: a masked language model needs its head")
    tokenizer, train, valid = yield from streams(run, recipe, verbatim=False)
    if tokenizer.specials.mask is None:
        raise RecipeError(f"{recipe.train.from_run}: its tokenizer has no piece for what is masked")
    content = data.context - around(model)
    require(train, content + 1, data, "train")
    require(valid, content + 1, data, "valid")
    masking = Masking.of(tokenizer, data.masked_share, data.whole_words)
    batch_tokens, hidden = recipe.train.batch_tokens, masking.count(content)
    batches = WindowBatches(len(train), content, batch_tokens, recipe.seed, hidden=hidden)
    yield ExamplesReady(len(train), len(valid), "tokens", batches.padding())
    if data.cooccurrence_window and not run.checkpoints():
        yield Phase("Counting which pieces stand near each other, for the model to start from")
    in_pairs = model.next_sentence
    held_out = MaskedExamples(valid, content, masking, in_pairs)
    return TrainingSetup(
        sizes={"inputs": len(tokenizer), "outputs": len(tokenizer)},
        examples=MaskedExamples(train, content, masking, in_pairs),
        batches=batches,
        objective=partial(objectives.masked_token, label_smoothing=recipe.train.label_smoothing),
        held_out=HeldOutMasked(held_out, tokenizer, batch_tokens),
        beside=simple.frequent_token(train.ids, valid.ids),
        initialise=from_vectors(data, tokenizer) or from_counts(run, data.cooccurrence_window),
        remark=f"vocabulary {len(tokenizer):,}",
    )


def from_counts(run: Run, window: int) -> "Callable[[nn.Module], str] | None":
    """A function that fills a new model with the co-occurrence counts of its text, if any."""
    from regard.data.stream import Stream

    if not window:
        return None
    return lambda model: take_counts(model, Stream.open(run.training / "data", "train"), window)


def take_counts(model: "nn.Module", text: "Stream", window: int) -> str:
    """Set the embeddings of all pieces in the text from their neighbours, as strong as the
    positions that are added to them, and the output's bias from how often each piece occurs.
    """
    import torch

    from regard.data.cooccurrence import cooccurrence_vectors
    from regard.models import Bert

    assert isinstance(model, Bert)  # the only model of the task
    weight, bias = model.embedding.weight, model.output.bias
    vocabulary, width = weight.shape
    vectors, occurrences = cooccurrence_vectors(text, vocabulary, width, window)
    known = occurrences.to(weight.device) > 0
    strength = model.positions.table.pow(2).mean().sqrt() * width**0.5
    with torch.no_grad():
        weight[known, : vectors.size(1)] = strength * vectors.to(weight)[known]
        bias.copy_(((occurrences + 1) / occurrences.sum()).log())
    return ""


def load(folder: Path, device: str) -> "Filler":
    from regard.tasks.filler import Filler

    return Filler.load(folder, device)


def evaluate(run: Run, test: Test) -> Evaluation:
    files = test.without_search().files
    column = run.recipe_for("masked-language-model").data.text
    documents = [text for text in read_documents(list(files), column) if text is not None]
    return scored(load(run.folder, test.device), documents, files)


def scored(filler: "Filler", lines: Iterable[str], files: Sequence[Path]) -> Evaluation:
    """Score as validation does: the same share of the text is hidden, the same tokens each time."""
    import numpy as np

    from regard.data.masked import MaskedExamples, Masking
    from regard.data.stream import Stream
    from regard.evaluate.masked import HeldOutMasked

    recipe: Any = Run(Path(filler.folder or ".")).recipe_for("masked-language-model")
    model, tokenizer = filler.model, filler.tokenizer
    texts = [text for text in paragraphs(iter(lines)) if text is not None]
    ids = [i for row in tokenizer.encode_batch(texts) for i in (*row, tokenizer.specials.end)]
    if len(ids) < 3:
        where = f"{files[0]}: no text in it" if files else "evaluate: there is no text"
        raise DataError(f"{where}; give some to hide words of")
    content = min(len(ids), recipe.data.context - around(model.config))
    stream = Stream(np.array(ids), sum(map(len, texts)), tokenizer.fingerprint)
    masking = Masking.of(tokenizer, recipe.data.masked_share, recipe.data.whole_words)
    examples = MaskedExamples(stream, content, masking, model.config.next_sentence)
    findings = HeldOutMasked(examples, tokenizer, recipe.train.batch_tokens).findings(model)
    scores = {name: value for name, value in findings.scores.items() if value is not None}
    return text_evaluation(files, len(ids), {"loss": findings.loss, **scores})


def describe(recipe: MaskedLanguageModelRecipe, run: Run | None) -> Description:
    vocabulary, size = running_text.described_vocabulary(recipe, run)
    return Description(
        what="A masked language model that fills in what is missing",
        data=recipe.data.shown(),
        columns=("text", "filled in", "as it was"),
        facts={"data": recipe.data.shown(), "vocabulary": vocabulary},
        sizes={"inputs": size, "outputs": size},
    )


def windows_of(recipe: MaskedLanguageModelRecipe) -> Windows:
    data = recipe.data
    content = max(1, data.context - around(recipe.model))
    predicted = max(1, round(data.masked_share * content))
    rows = max(1, recipe.train.batch_tokens // content)
    return Windows(rows, data.context, content, predicted)


def work(recipe: MaskedLanguageModelRecipe, share: float, sizes: PlannedSizes) -> Work:
    return windows_of(recipe).work(share, reads=True)


def counted_tokens(recipe: MaskedLanguageModelRecipe, work: Work) -> float:
    """Count each token of the text once, hidden or not, and no special tokens."""
    windows = windows_of(recipe)
    return work.source_tokens * windows.content / windows.context


def suggest(data: Section, asked: Mapping[str, Any], preset: str) -> Suggestion:
    """The sizes of a language model of pieces, for a model that sees both sides."""
    section = parse_section(MaskedLanguageModelRecipe, "data", data, "command line")
    found = suggest_for_text(data, section, {**asked, "kind": "bert"})
    values = found.values
    values["tokenizer"] = {"vocabulary_size": 8000}
    values["model"] |= {"kind": "bert", "num_segments": 1}
    values["train"] |= {"learning_rate": 1e-3, "adam_betas": (0.9, 0.999), "adam_epsilon": 1e-6}
    pieces = "pieces of words are the tokens, up to 8,000 of them"
    reasons = [*found.reasons[:2], Reason(pieces, PIECES)]
    if not data.get("embeddings"):
        values["data"] = {"cooccurrence_window": 8, **values["data"]}
        counted = "their embeddings start from which pieces stand near each other in the text"
        reasons.append(Reason(counted, ("data.cooccurrence_window",)))
    return Suggestion(values, reasons)


def look(filler: "Filler", asked: TextQuestion) -> Section:
    from regard.tasks.filler import look

    return look(filler, asked)


def attend(folder: Path, text: str, output: str | None, device: str) -> "tuple[Any, Maps]":
    from regard.tasks.attender import attend_filler

    return attend_filler(folder, text, output, device)


def reader(run: Run, device: str) -> "Reader":
    from regard.tasks.embedder import masked_reader

    return masked_reader(run, device)


def flow(filler: "Filler", asked: TextQuestion) -> "Flow":
    from regard.tasks.text_flow import filler_flow

    return filler_flow(filler, asked)


TASK = Task(
    name="masked-language-model",
    recipe=MaskedLanguageModelRecipe,
    build=build,
    setup=setup,
    load=load,
    evaluate=evaluate,
    test_files="data",
    metrics=(PERPLEXITY, ACCURACY, NEXT_SENTENCE_ACCURACY, FREQUENT_TOKEN),
    describe=describe,
    commands=lambda recipe: (
        'regard fill {run} "… [MASK] …"',
        "regard embed {run} < text.txt",
        "regard evaluate {run} --data test.txt",
    ),
    suggest=suggest,
    check=text_report,
    planning=TaskPlanning(
        facts=text_facts(
            running_text.measured, partial(running_text.learned_tokenizers, False), assumed_sizes
        ),
        work=work,
        padded_work=work,
        counted_tokens=counted_tokens,
        examples="text",
        batch=lambda recipe, tokens: windows_of(recipe).batch(tokens / recipe.train.batch_tokens),
        remark=lambda recipe: f", {windows_of(recipe).predicted} hidden in each window",
        # The loss keeps its probabilities, for hidden tokens only.
        loss_bytes=lambda recipe, sizes, work: 4.0 * sizes.outputs * work.target_tokens,
        has_lengths=False,
    ),
    look=look,
    flow=flow,
    attend=attend,
    reader=reader,
    sizes_of_old_run=running_text.same_size,
)
