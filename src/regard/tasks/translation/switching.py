"""Switches off heads of a translator, by the names that commands take."""

from collections.abc import Iterator
from contextlib import contextmanager

from regard.errors import RequestError
from regard.inspect.heads.heads import How, all_but, choose_heads, head_means
from regard.run import Run
from regard.tasks.translation.held_out import held_out_batches
from regard.tasks.translation.translator import Translator

# Validation sentences over which a head's output is averaged.
SENTENCES_FOR_MEANS = 64


@contextmanager
def switched(
    translator: Translator, off: str | None, only: str | None, how: How = "zero"
) -> Iterator[None]:
    """Inside the block the translator works without the heads in `off`, and in the layers of the
    heads in `only` with these alone. Names have commas between them.
    """
    if translator.folder is None:
        raise RequestError("heads are switched off by name in the translator of a run folder")
    model, means = translator.model, None
    chosen = choose_heads(model, off.split(",")) if off else []
    if only:
        chosen += all_but(model, only.split(","))
    if how == "mean":
        batches = held_out_batches(Run.open(translator.folder), SENTENCES_FOR_MEANS)
        means = head_means(model, batches)
    with translator.heads_off(chosen, how, means):
        yield
