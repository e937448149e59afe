"""Vectors of words from their letters: patterns of neighbouring letters, of which each word has the
strongest occurrence (dos Santos & Zadrozny 2014).

Shapes: B texts, T tokens, U units (words), P letters of a piece, W letters of a word, V vocabulary.
"""

import torch
from torch import Tensor, nn

from regard.configs.letters import (
    KINDS,
    LETTER_WIDTH,
    PIECE_LETTERS,
    WORD_LETTERS,
    LettersConfig,
)


class Letters(nn.Module):
    spelling: Tensor

    def __init__(self, config: LettersConfig, vocabulary: int, d_model: int) -> None:
        super().__init__()
        # The letters of each token, [V, P]; 0 = no letter. `spell` fills it.
        self.register_buffer("spelling", torch.zeros(vocabulary, PIECE_LETTERS, dtype=torch.int64))
        self.embedding = nn.Embedding(KINDS, LETTER_WIDTH, padding_idx=0)
        self.convolution = nn.Conv1d(
            LETTER_WIDTH, config.filters, config.width, padding=config.width - 1
        )
        self.output = nn.Linear(config.filters, d_model)

    @torch.no_grad()
    def spell(self, pieces: list[str]) -> None:
        """Note how the tokens of a vocabulary are written; special ones are empty."""
        self.spelling.zero_()
        for number, piece in enumerate(pieces):
            kinds = [1 + ord(letter) % (KINDS - 1) for letter in piece[:PIECE_LETTERS]]
            self.spelling[number, : len(kinds)] = torch.tensor(kinds, dtype=torch.int64)

    def forward(self, tokens: Tensor, units: Tensor) -> Tensor:
        """[B, T] → [B, T, d]: each token gets the vector of its word, and zeros outside of words.
        `units` [B, T] says which word a token belongs to, -1 for none.
        """
        letters = self.words(tokens, units)  # [B, U, W]
        rows, words, length = letters.shape
        x = self.embedding(letters.view(-1, length)).transpose(1, 2)
        found = self.convolution(x).amax(-1).relu().view(rows, words, -1)
        vectors = self.output(found)
        places = units.clamp(min=0)[..., None].expand(-1, -1, vectors.size(-1))
        return vectors.gather(1, places) * (units >= 0)[..., None]  # type: ignore[no-any-return]

    def words(self, tokens: Tensor, units: Tensor) -> Tensor:
        """The letters of each word in order, [B, U, W]."""
        letters = (self.spelling[tokens] * (units >= 0)[..., None]).flatten(1)
        owners = units.clamp(min=0).repeat_interleave(PIECE_LETTERS, 1)
        real = letters > 0
        count = max(1, int(units.max()) + 1)
        sizes = torch.zeros(len(tokens), count, dtype=torch.int64, device=tokens.device)
        sizes.scatter_add_(1, owners, real.long())
        starts = sizes.cumsum(1) - sizes
        places = real.cumsum(1) - 1 - starts.gather(1, owners)
        kept = real & (places < WORD_LETTERS)
        length = max(1, min(WORD_LETTERS, int(sizes.max())))
        found = torch.zeros(len(tokens), count, length, dtype=torch.int64, device=tokens.device)
        rows = torch.arange(len(tokens), device=tokens.device)[:, None].expand_as(owners)
        found[rows[kept], owners[kept], places[kept]] = letters[kept]
        return found
