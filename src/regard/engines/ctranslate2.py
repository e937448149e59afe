"""Search with CTranslate2, which is faster than PyTorch on a CPU and does not load it.

It follows the rules of `decode.beam` and gives the same outputs, up to rounding; each core
translates batches of its own. Another engine does what CTranslate2 cannot do by our rules.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.engines import Engine, Stopped, cache, never
from regard.engines import shortlist as shortlists
from regard.engines.batches import batches_by_length
from regard.engines.package import require_package
from regard.errors import RegardError, RequestError
from regard.machine.cores import usable_cores
from regard.run import Run
from regard.small_files import read_json
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from regard.engines import Attention

# This number rises when folders of earlier versions can no longer be used.
LAYOUT = 2
FACTS = "regard.json"

# The largest batch of a core: source pieces, padding included, and for each type of the products
# sentences and hypotheses. Measured on short sentences.
BATCH_PIECES = 4096
BATCH = {"float32": (128, 320), "int8": (32, 160)}
# The most outputs whose attention is asked for at once.
ALIGNED = 32


class Output(NamedTuple):
    pieces: list[str]  # without END
    finished: bool


class CTranslate2:
    """The engine over a converted run. `otherwise` gives the engine for what it cannot do."""

    def __init__(
        self,
        folder: Path,
        *,
        int8: bool = False,
        shortlist: bool = False,
        otherwise: Callable[[], Engine] | None = None,
        cores: int = 0,
    ) -> None:
        import ctranslate2

        facts = read_json(folder / FACTS)
        self.defaults = Search(**facts["search"])
        self.longest_source: int = facts["longest_source"]
        self.tokenizers = Tokenizers.load(folder)
        self._positions: int | None = facts["positions"]
        self._positions_end: bool = facts["positions_end"]
        self._read: bool = facts.get("alignment", {}).get("read", False)
        self._otherwise = otherwise
        self._type = "int8" if int8 else "float32"
        self._shortlist = shortlist
        if shortlist and not (folder / shortlists.FILE).is_file():
            raise RequestError(
                f"{facts['run']}: has no shortlist; `regard inspect shortlist` learns one"
            )
        source, target = self.tokenizers
        self._source_pieces = source.vocabulary
        self._target_ids = {piece: i for i, piece in enumerate(target.vocabulary)}
        self._end, self._never = target.vocabulary[target.specials.end], target.specials.never
        # Short sentences make small products: a batch for each core, not a product on all cores.
        self._translator = ctranslate2.Translator(
            str(folder),
            device="cpu",
            compute_type=self._type,
            inter_threads=cores or usable_cores(),
            intra_threads=1,
            max_queued_batches=-1,
        )
        # A call is cut into at least this many batches, so that no core waits; 1 suits a program
        # that calls from a thread for each core.
        self.batches_a_call = 2 * (cores or usable_cores())

    @classmethod
    def of_run(
        cls,
        folder: Path,
        *,
        int8: bool = False,
        shortlist: bool = False,
        otherwise: Callable[[], Engine] | None = None,
        cores: int = 0,
    ) -> "CTranslate2":
        """The engine of a run, converted at the first use and kept in the user's cache under a
        name that changes when the run does. It uses all cores, unless there is a number of them.
        """
        require_package()
        run = Run(folder)
        name = cache.key(run, LAYOUT)
        if (kept := cache.find(name)) is not None:
            try:
                return cls(kept, int8=int8, shortlist=shortlist, otherwise=otherwise, cores=cores)
            except RequestError:
                raise
            except (OSError, RuntimeError, RegardError):
                pass  # removed just now: convert again
        from regard.engines.conversion import convert

        def same() -> bool:
            return cache.key(run, LAYOUT) == name

        with cache.made(name, lambda path: convert(folder, path), same) as converted:
            return cls(converted, int8=int8, shortlist=shortlist, otherwise=otherwise, cores=cores)

    def search(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped = never,
    ) -> list[list[Hypothesis]]:
        if (other := self._other(sources, prefixes, search)) is not None:
            return other.search(sources, prefixes, search, stopped)
        outputs = self._outputs(sources, search)
        scored = self._scored(sources, outputs, search)
        return [sorted(each, key=lambda one: (not one.finished, -one.score)) for each in scored]

    def best(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped = never,
    ) -> list[list[int]]:
        if (other := self._other(sources, prefixes, search)) is not None:
            return other.best(sources, prefixes, search, stopped)
        ids = self._target_ids
        return [[ids[piece] for piece in each[0].pieces] for each in self._outputs(sources, search)]

    def attention(
        self, sources: Sequence[list[int]], outputs: Sequence[list[int]]
    ) -> "list[Attention | None]":
        names = self.tokenizers.target.vocabulary
        found: list[Attention | None] = [None] * len(outputs)
        pending: list[tuple[int, Any]] = []
        for rows in batches_by_length([len(ids) + 1 for ids in outputs], BATCH_PIECES, ALIGNED):
            if self._positions is not None and len(outputs[rows[0]]) >= self._positions:
                continue  # there is no step after the last position
            # Each output is its own prefix, and one more step reads its last piece.
            results = self._translator.translate_batch(
                [self._pieces(sources[row]) for row in rows],
                [[names[index] for index in outputs[row]] for row in rows],
                asynchronous=True,
                beam_size=1,
                return_attention=True,
                return_end_token=True,
                max_input_length=0,
                max_decoding_length=max(len(outputs[row]) for row in rows) + 1,
            )
            pending += zip(rows, results, strict=True)
        for row, result in pending:
            weights = np.array(result.result().attention[0], np.float32)
            first, count = int(self._read), len(outputs[row])
            found[row] = weights[first : count + first].reshape(count, len(sources[row]))
        return found

    def _other(
        self, sources: Sequence[list[int]], prefixes: Sequence[list[int]], search: Search
    ) -> Engine | None:
        """The engine to ask instead, if this one cannot answer by our rules."""
        # CTranslate2 gives the probability of forbidden tokens to the others, so that scores are
        # no longer the model's. For PAD, UNKNOWN and START the difference is negligible.
        reasons = {
            "draw at random": search.temperature is not None,
            "keep to a minimum length": search.min_length > 0,
            "forbid repetitions": search.no_repeat_ngram > 0,
            "begin with a prefix": any(prefixes),
            f"keep {search.beam_size} hypotheses": 2 * search.beam_size
            > len(self._target_ids) - len(self._never) - 1,
            f"go beyond {self._positions} pieces": self._positions is not None
            and max(self._limits(sources, search), default=0) > self._positions,
        }
        reason = next((reason for reason, holds in reasons.items() if holds), None)
        if reason is None:
            return None
        if self._otherwise is None:
            raise RequestError(
                f"engine ctranslate2: cannot {reason} by the rules of regard; use --engine torch"
            )
        return self._otherwise()

    def _limits(self, sources: Sequence[list[int]], search: Search) -> list[int]:
        """The most tokens of each output, END included, by the length of its own source."""
        limits = [int(search.max_length_ratio * (len(ids) + 1)) + 20 for ids in sources]
        if self._positions_end and self._positions is not None:
            return [min(limit, self._positions) for limit in limits]
        return limits

    def _outputs(self, sources: Sequence[list[int]], search: Search) -> list[list[Output]]:
        """The n_best outputs of each source, best first."""
        limits = self._limits(sources, search)
        found: dict[int, list[list[str]]] = {}
        # A batch has one limit, the largest in it. All outputs of the beam are asked for, since
        # the longest of them shows how far a search went, and so whether it went too far.
        for row, outputs in self._translate(
            sources, self._batches(sources, limits, search), search
        ):
            if search.beam_size == 1:
                found[row] = [outputs[0][: limits[row]]]
            elif all(map(self._ends, outputs)) and max(map(len, outputs)) <= limits[row]:
                found[row] = outputs
        cut = sorted(set(range(len(sources))) - found.keys(), key=limits.__getitem__)
        again = ((list(rows), limit) for limit, rows in groupby(cut, key=limits.__getitem__))
        # At its limit a search closes a whole beam, beside fewer than a beam of outputs that ended
        # earlier. A patience of two beams returns all of them; finished outputs come first.
        for row, outputs in self._translate(sources, again, search, beams=2):
            found[row] = sorted(outputs, key=lambda each: not self._ends(each))
        return [
            [
                Output(each[:-1], True) if self._ends(each) else Output(each, False)
                for each in found[row][: search.n_best]
            ]
            for row in range(len(sources))
        ]

    def _batches(
        self, sources: Sequence[list[int]], limits: Sequence[int], search: Search
    ) -> Iterator[tuple[list[int], int]]:
        """Rows with the limit of their batch."""
        share = math.ceil(len(sources) / self.batches_a_call)
        sentences, hypotheses = BATCH[self._type]
        most = max(1, min(share, sentences, hypotheses // search.beam_size))
        for rows in batches_by_length([len(ids) + 1 for ids in sources], BATCH_PIECES, most):
            yield rows, max(limits[row] for row in rows)

    def _translate(
        self,
        sources: Sequence[list[int]],
        batches: Iterable[tuple[list[int], int]],
        search: Search,
        beams: int = 1,
    ) -> Iterator[tuple[int, list[list[str]]]]:
        """Rows and their outputs by score, END included; a batch is its rows and its limit."""
        forbidden = [[self.tokenizers.target.vocabulary[index]] for index in self._never]
        pending: list[tuple[int, Any]] = []
        for rows, limit in batches:
            results = self._translator.translate_batch(
                [self._pieces(sources[row]) for row in rows],
                asynchronous=True,
                beam_size=search.beam_size,
                num_hypotheses=beams * search.beam_size,
                patience=beams,
                # At 0 CTranslate2 stops sooner; this is as good as 0 and does not.
                length_penalty=search.length_penalty or 1e-30,
                suppress_sequences=forbidden,
                return_end_token=True,
                max_input_length=0,
                max_decoding_length=limit,
                min_decoding_length=0,
                use_vmap=self._shortlist,
            )
            pending += zip(rows, results, strict=True)
        for row, result in pending:
            yield row, result.result().hypotheses

    def _scored(
        self, sources: Sequence[list[int]], outputs: list[list[Output]], search: Search
    ) -> list[list[Hypothesis]]:
        """The outputs with the model's own log-probabilities, from one pass over them."""
        pairs = [(row, output) for row, each in enumerate(outputs) for output in each]
        results = self._translator.score_batch(
            [self._pieces(sources[row]) for row, _ in pairs],
            [output.pieces for _, output in pairs],
            max_batch_size=BATCH_PIECES,
            batch_type="tokens",
            max_input_length=0,
        )
        scored: list[list[Hypothesis]] = [[] for _ in sources]
        for (row, output), result in zip(pairs, results, strict=True):
            count = len(output.pieces) + output.finished
            values: list[float] = result.log_probs[:count]
            scored[row].append(
                Hypothesis(
                    tokens=[self._target_ids[piece] for piece in output.pieces],
                    log_probabilities=values,
                    score=sum(values) / count**search.length_penalty,
                    finished=output.finished,
                )
            )
        return scored

    def _pieces(self, ids: list[int]) -> list[str]:
        table = self._source_pieces
        return [table[index] for index in ids]

    def _ends(self, pieces: list[str]) -> bool:
        return pieces[-1] == self._end


def fingerprint(run: Run) -> str:
    """Names a run for those who made something of it: the header of its weights, which has their
    checksum, its recipe and its tokenizers.
    """
    tokenizers = sorted(run.folder.glob("*tokenizer.json"))
    found = run.fingerprint(run.recipe_path, *tokenizers, layout=f"layout {LAYOUT}")
    if not found:
        raise FileNotFoundError(run.model_path)
    return found
