"""The tokenizers of a run: its own, another run's, or learned from its text."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from regard.data.corpus import Pair
from regard.errors import RecipeError, RunError
from regard.run import Run
from regard.tasks.sections import TokenizerSection
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.text.typography import Variants


def known_tokenizers(run: Run, recipe: Any) -> Tokenizers | None:
    """The tokenizers of the run, or else of another that the recipe names, which become its own."""
    if not run.has_tokenizers():
        given = given_tokenizers(recipe)
        if given is None:
            return None
        run.save_tokenizers(given)
    return run.tokenizers()


def given_tokenizers(recipe: Any) -> Tokenizers | None:
    """The tokenizers of another run: the one that training starts from, whose weights belong to its
    pieces, or else the one that the recipe names.
    """
    if recipe.train.from_run:
        return Run.open(recipe.train.from_run).tokenizers()
    section = recipe.tokenizer
    if section.folder is None:
        return None
    folder = Path(recipe.data.folder, section.folder)
    try:
        given = Tokenizers.load(folder)
    except RunError as error:
        raise RecipeError(f"tokenizer.folder: {error}") from None
    joint = getattr(section, "joint", True)
    if given.joint != joint:
        raise RecipeError(
            f"tokenizer.folder: {folder} has {'two vocabularies' if joint else 'one'}; "
            f"set tokenizer.joint={str(not joint).lower()} as it has"
        )
    return given


def learn(section: TokenizerSection, texts: Iterable[str], verbatim: bool = False) -> Tokenizer:
    """A tokenizer of these texts, which are read by the model. A verbatim one keeps every space and
    line end.
    """
    variants = Variants()
    tokenizer = learn_as_is(section, variants.watch(texts), verbatim)
    return folded(section, tokenizer, variants, verbatim)


def learn_pairs(
    section: TokenizerSection, pairs: Callable[[], Iterable[Pair]], joint: bool
) -> Tokenizers:
    """The tokenizers of both sides of these pairs. Only the source is folded."""
    variants = Variants()
    if joint:
        texts = (
            text for pair in pairs() for text in (*variants.watch((pair.source,)), pair.target)
        )
        both = learn_as_is(section, texts)
        return Tokenizers(folded(section, both, variants), both)
    return Tokenizers(
        learn(section, (pair.source for pair in pairs())),
        learn_as_is(section, (pair.target for pair in pairs())),
    )


def folded(
    section: TokenizerSection, tokenizer: Tokenizer, variants: Variants, verbatim: bool = False
) -> Tokenizer:
    if section.typography == "keep":
        return tokenizer
    return tokenizer.folding(variants.rules(verbatim))


def learn_as_is(
    section: TokenizerSection, texts: Iterable[str], verbatim: bool = False
) -> Tokenizer:
    return Tokenizer.train(
        texts,
        kind=section.kind,
        vocabulary_size=section.vocabulary_size,
        lowercase=section.lowercase,
        verbatim=verbatim,
    )
