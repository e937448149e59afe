"""Translator: sentences in one language to sentences in another.

PyTorch is loaded where it is needed, so that another engine starts at once.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.engines import Engine, EngineName, Stopped, never
from regard.engines.ctranslate2 import CTranslate2, graphics_cards
from regard.errors import RequestError, RunError
from regard.tasks.translation.looking import LooksInside
from regard.text.segments import segments
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from regard.models import Model


@dataclass(frozen=True)
class Translation:
    """An output with what is known of it; `score` is the mean log-probability that ranks it."""

    text: str
    score: float
    tokens: list[str]
    log_probabilities: list[float]
    finished: bool
    ids: list[int] = field(default_factory=list)  # of the tokens


class Parts(NamedTuple):
    """Texts as an engine takes them: a long one in several parts."""

    sources: list[list[int]]
    owners: list[int]  # which text a part is of
    prefixes: list[list[int]]


class Translator(LooksInside):
    """Sentences in one language to sentences in another."""

    def __init__(
        self,
        model: "Callable[[], Model]",
        engine: Engine,
        tokenizers: Tokenizers,
        search: Search,
        limit: int,
        folder: Path | None = None,
    ) -> None:
        self._model = model
        self.engine = engine
        self.tokenizers = tokenizers
        self.search = search
        # The longest source in pieces; longer texts are translated in parts.
        self.limit = limit
        self.folder = folder

    @classmethod
    def load(
        cls,
        folder: Path | str,
        device: str = "cpu",
        engine: EngineName = "torch",
        int8: bool = False,
    ) -> Self:
        """The translator of a run folder. `int8` is quicker, and CTranslate2's alone."""
        if engine == "torch":
            if int8:
                raise RequestError("engine torch: has no int8; use ctranslate2 or leave int8 out")
            return cls._with_torch(folder, device)
        slow = cache(lambda: cls._with_torch(folder, device))
        otherwise = (lambda: slow().engine) if engine == "auto" else None
        try:
            if device not in ("auto", "cpu") or (engine == device == "auto" and graphics_cards()):
                raise RequestError(
                    f"engine ctranslate2: runs on the CPU, not on {device}; use --engine torch"
                )
            fast = CTranslate2.of_run(Path(folder), int8=int8, otherwise=otherwise)
        except RequestError:
            if engine == "ctranslate2":
                raise
            return slow()
        except OSError:
            return slow()  # which says what the folder lacks
        return cls(
            lambda: slow().model,
            fast,
            fast.tokenizers,
            fast.defaults,
            fast.longest_source,
            Path(folder),
        )

    @classmethod
    def _with_torch(cls, folder: Path | str, device: str) -> Self:
        from regard.engines.native import Native
        from regard.machine.devices import choose_device
        from regard.run import Run
        from regard.weights import load_model

        run = Run.open(folder)
        recipe = run.recipe_for("translation")
        tokenizers = run.tokenizers()
        model: Any = load_model(run).to(choose_device(device))
        search = Search(**recipe.decode.model_dump())
        engine = Native(model, tokenizers.target.specials)
        limit = recipe.data.max_length - 1
        return cls(lambda: model, engine, tokenizers, search, limit, run.folder)

    def languages(self) -> tuple[str, str] | None:
        """The languages that the run names, or its recipe, or the names of its training files."""
        from regard.run import Run

        if self.folder is None:
            return None
        run = Run(self.folder)
        with suppress(RunError):  # a damaged run.json leaves it to the recipe
            match run.info().get("languages"):
                case [str(source), str(target)]:
                    return source, target
        codes: tuple[str, str] | None = run.recipe_for("translation").data.codes()
        return codes

    @property
    def model(self) -> "Model":
        return self._model()

    def translate(self, texts: Sequence[str], beam_size: int | None = None) -> list[str]:
        """The best translation of each text, in order; an empty text stays empty."""
        if isinstance(texts, str):
            raise RequestError("translate takes a list of texts; put the text in brackets")
        search = self.search if beam_size is None else replace(self.search, beam_size=beam_size)
        return self.texts(texts, search)

    def texts(
        self,
        texts: Sequence[str],
        search: Search,
        prefixes: Sequence[str] = (),
        stopped: Stopped = never,
    ) -> list[str]:
        """The best translation of each text, and nothing else about it: the quickest way."""
        parts = self._parts(texts, prefixes)
        outputs = self.engine.best(parts.sources, parts.prefixes, search, stopped)
        found: list[list[str]] = [[] for _ in texts]
        decoded = self.tokenizers.target.decode_batch(outputs)
        for owner, text in zip(parts.owners, decoded, strict=True):
            if text:
                found[owner].append(text)
        return [" ".join(each) for each in found]

    def translations(
        self,
        texts: Sequence[str],
        search: Search,
        prefixes: Sequence[str] = (),
        stopped: Stopped = never,
    ) -> list[list[Translation]]:
        """Up to n_best translations of each text, best first; prefixes begin the outputs."""
        parts = self._parts(texts, prefixes)
        searched = self.engine.search(parts.sources, parts.prefixes, search, stopped)
        found: list[list[list[Translation]]] = [[] for _ in texts]
        for owner, hypotheses in zip(parts.owners, searched, strict=True):
            found[owner].append([self._translation(each) for each in hypotheses])
        empty = [Translation("", 0.0, [], [], finished=True)]
        return [joined(results) if results else empty for results in found]

    def _parts(self, texts: Sequence[str], prefixes: Sequence[str]) -> Parts:
        if prefixes and len(prefixes) != len(texts):
            raise RequestError(f"{len(prefixes)} prefixes for {len(texts)} texts; give one each")
        parts = Parts([], [], [])
        for owner, ids in enumerate(self.tokenizers.source.encode_batch(texts)):
            begin = self.tokenizers.target.encode(prefixes[owner]) if prefixes else []
            for part in segments(ids, self.tokenizers.source, self.limit) if ids else []:
                parts.sources.append(part)
                parts.owners.append(owner)
                parts.prefixes.append(begin)
                begin = []
        return parts

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        tokenizer = self.tokenizers.target
        return Translation(
            text=tokenizer.decode(hypothesis.tokens),
            score=hypothesis.score,
            tokens=tokenizer.pieces(hypothesis.tokens),
            log_probabilities=hypothesis.log_probabilities,
            finished=hypothesis.finished,
            ids=hypothesis.tokens,
        )


def joined(parts: Sequence[list[Translation]]) -> list[Translation]:
    """The translations of a text's parts as translations of the text, rank by rank."""
    if len(parts) == 1:
        return parts[0]
    return [
        Translation(
            text=" ".join(each.text for each in ranked if each.text),
            score=sum(each.score for each in ranked) / len(ranked),
            tokens=[token for each in ranked for token in each.tokens],
            log_probabilities=[value for each in ranked for value in each.log_probabilities],
            finished=all(each.finished for each in ranked),
            ids=[token for each in ranked for token in each.ids],
        )
        for ranked in zip(*parts, strict=False)
    ]
