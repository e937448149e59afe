"""Masked language models: running text, of which hidden tokens are found from all around them."""

from collections.abc import Generator

from regard import objectives
from regard.checkpoint import Run
from regard.data.masked import MaskedExamples, Masking
from regard.data.stream import WindowBatches
from regard.errors import RecipeError
from regard.evaluate.masked import HeldOutMasked
from regard.models import BertConfig
from regard.recipe import Recipe
from regard.training.events import Event, ExamplesReady
from regard.training.lesson import Lesson
from regard.training.text_lesson import require, streams


def masked_lesson(run: Run, recipe: Recipe) -> Generator[Event, None, Lesson]:
    data, model = recipe.data, recipe.model
    assert isinstance(model, BertConfig)  # the only kind that MODELS has for the task
    if not model.masked_head:
        raise RecipeError("model.masked_head = false: a masked language model needs its head")
    tokenizer, train, valid = yield from streams(run, recipe, verbatim=False)
    if tokenizer.specials.mask is None:
        raise RecipeError(f"{recipe.train.from_run}: its tokenizer has no piece for what is masked")
    # A start and an end go around a window, and an end between two halves.
    content = data.context - (3 if model.next_sentence else 2)
    require(train, content + 1, data, "train")
    require(valid, content + 1, data, "valid")
    masking = Masking.of(tokenizer, data.masked_share, data.whole_words)
    hidden = masking.count(content)
    batches = WindowBatches(
        len(train), content, recipe.train.batch_tokens, recipe.seed, hidden=hidden
    )
    yield ExamplesReady(len(train), len(valid), "tokens", batches.padding())
    return Lesson(
        inputs=len(tokenizer),
        outputs=len(tokenizer),
        examples=MaskedExamples(train, content, masking, model.next_sentence),
        batches=batches,
        objective=objectives.masked_token,
        held_out=HeldOutMasked(
            MaskedExamples(valid, content, masking, model.next_sentence), tokenizer
        ),
    )
