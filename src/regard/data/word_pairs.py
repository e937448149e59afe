"""Words and their neighbours in running text, from which word vectors are learned.

Everything that chance decides (which frequent words are left out, how far a word sees, which words
it is compared with) is drawn from PyTorch's generator, which training seeds for each batch with
(seed, update, batch). So it is a pure function of these numbers, as dropout is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from regard.configs.word_vectors import GROUP_WORDS, NEGATIVES, block_length
from regard.data.batches import Indices
from regard.data.on_disk import id_type, write_arrays
from regard.data.stream import Stream
from regard.text.word_vocabulary import WordVocabulary

# Words that are read in one piece; batches are made of such passages from all over the text.
PASSAGE = 1024
CHUNK_WORDS = 1_000_000
# Marks at the end of a line after which the next line is a passage of its own. Other lines are cut
# only because the page is narrow.
SENTENCE_ENDS = tuple(".!?…:;\"'”’»)]。！？」』")
# Counts are raised to this power where words are drawn at random (Mikolov et al. 2013, §2.2).
SMOOTHING = 0.75


def write_words(
    texts: Iterable[str | None], vocabulary: WordVocabulary, folder: Path, name: str
) -> None:
    """Encode lines of text; None marks the end of a document. The vocabulary's end stands between
    passages, since words on either side of it are no neighbours.
    """
    written = 0

    def chunks() -> Iterator[dict[str, npt.NDArray[Any]]]:
        nonlocal written
        ids: list[int] = []
        for text in texts:
            stripped = text.strip() if text else ""
            ids += vocabulary.encode(stripped)
            ended = not stripped or stripped.endswith(SENTENCE_ENDS)
            if ended and ids and ids[-1] != vocabulary.end:
                ids.append(vocabulary.end)
            if len(ids) >= CHUNK_WORDS:
                written += len(ids)
                yield {"ids": np.array(ids, np.int64)}
                ids = []
        written += len(ids)
        yield {"ids": np.array(ids, np.int64)}

    def facts() -> dict[str, Any]:
        return {"characters": written, "tokenizer": vocabulary.fingerprint}

    write_arrays(folder, name, {"ids": id_type(len(vocabulary) + 1)}, chunks(), facts)


@dataclass(frozen=True)
class WordBatch:
    """Words in blocks, which of them are neighbours, and words drawn at random for each group."""

    words: Tensor  # [G, R, T]
    near: Tensor  # [G, R, T, T], True where the second word is a neighbour of the first
    negatives: Tensor  # [G, K]
    size: int  # words of the text that it was made of, those that were left out included

    def to(self, device: torch.device) -> "WordBatch":
        if device.type == "cpu":
            return self
        words, near, negatives = self.words, self.near, self.negatives
        return WordBatch(words.to(device), near.to(device), negatives.to(device), self.size)


@dataclass(frozen=True)
class WordExamples:
    """Passages of a text as batches of neighbours. `kept` [V + 1] is the chance of each word to
    stay, 0 for the end of a passage; `drawn` [V] adds up the chances to be a negative.
    """

    stream: Stream
    window: int
    passage: int
    kept: Tensor
    drawn: Tensor

    @classmethod
    def of(
        cls, stream: Stream, counts: npt.NDArray[np.int64], window: int, subsample: float
    ) -> "WordExamples":
        smoothed = torch.from_numpy(counts.astype(np.float64) ** SMOOTHING)
        kept = torch.cat((chances(counts, subsample), torch.zeros(1)))
        drawn = smoothed.cumsum(0) / smoothed.sum()
        return cls(stream, window, min(PASSAGE, len(stream) - 1), kept, drawn)

    def batch(self, rows: Indices) -> WordBatch:
        places = rows[:, None] + np.arange(self.passage)
        ids = torch.from_numpy(self.stream.ids[places].astype(np.int64))
        ends = ids == len(self.drawn)
        ends[:, 0] = True  # where a passage begins
        passages = ends.flatten().cumsum(0)
        stays = (torch.rand(ids.shape) < self.kept[ids]).flatten()
        words, passages = self.blocks(ids.flatten()[stays], passages[stays])
        return WordBatch(words, self.neighbours(passages), self.negatives(len(words)), ids.numel())

    def blocks(self, words: Tensor, passages: Tensor) -> tuple[Tensor, Tensor]:
        """[N] → [G, R, T]; passage 0 is what fills the last group."""
        length = block_length(self.window)
        rows = max(1, GROUP_WORDS // length)
        missing = -len(words) % (rows * length) or (rows * length) * (len(words) == 0)
        filled = (torch.cat((each, each.new_zeros(missing))) for each in (words, passages))
        first, second = (each.view(-1, rows, length) for each in filled)
        return first, second

    def neighbours(self, passages: Tensor) -> Tensor:
        """Each word sees its neighbours within a distance that is drawn for each word, so that near
        ones count more.
        """
        place = torch.arange(passages.size(-1))
        distance = (place[:, None] - place).abs()
        sees = torch.randint(1, self.window + 1, (*passages.shape, 1))
        together = (passages[..., :, None] == passages[..., None, :]) & (passages > 0)[..., None]
        return together & (distance <= sees) & (distance > 0)

    def negatives(self, groups: int) -> Tensor:
        chance = torch.rand(groups, NEGATIVES, dtype=torch.float64)
        return torch.searchsorted(self.drawn, chance).clamp_(max=len(self.drawn) - 1)


def chances(counts: npt.NDArray[np.int64], subsample: float) -> Tensor:
    """The chance of each word to stay: less for those whose share of the text is above `subsample`,
    as in Word2Vec's program.
    """
    share = torch.from_numpy(counts / counts.sum()).float()
    if not subsample:
        return torch.ones_like(share)
    return ((subsample / share).sqrt() + subsample / share).clamp(max=1.0)
