"""Skip-gram and CBOW against their formulas, pair by pair."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.configs.word_vectors import CbowConfig, SkipGramConfig
from regard.data.word_pairs import WordBatch
from regard.models.word_vectors import WordVectorsModel
from regard.objectives import word_neighbours

WORDS, WIDTH = 9, 4
CONFIGS = {"skip-gram": SkipGramConfig(d_model=WIDTH), "cbow": CbowConfig(d_model=WIDTH)}


def model(kind: str) -> WordVectorsModel:
    torch.manual_seed(1)
    made = WordVectorsModel(CONFIGS[kind], WORDS).double()
    for table in (made.embedding, made.context):
        torch.nn.init.normal_(table.weight)
    return made


def batch() -> WordBatch:
    """2 groups of 3 blocks of 5 words; the last block has no neighbours."""
    torch.manual_seed(2)
    words = torch.randint(WORDS, (2, 3, 5))
    near = (torch.rand(2, 3, 5, 5) < 0.4) & ~torch.eye(5, dtype=torch.bool)
    near[-1, -1] = False
    return WordBatch(words, near, torch.randint(WORDS, (2, 7)), 40)


def by_hand(made: WordVectorsModel, given: WordBatch, negatives: float) -> Tensor:
    """The mean over predictions of −ln σ(v·u) − negatives · mean over drawn words of ln σ(−v·u)."""
    vectors, contexts = made.embedding.weight, made.context.weight
    total, count = torch.zeros((), dtype=torch.double), 0
    for group, drawn in zip(range(2), given.negatives, strict=True):
        for row in range(3):
            words = given.words[group, row]
            for place, word in enumerate(words):
                around = words[given.near[group, row, place]]
                if made.config.kind == "skip-gram":
                    predictions = [(vectors[word], other) for other in around]
                else:
                    mean = vectors[around].mean(0) if len(around) else None
                    predictions = [] if mean is None else [(mean, word)]
                for vector, target in predictions:
                    total = total - F.logsigmoid(vector @ contexts[target])
                    far = F.logsigmoid(-(contexts[drawn] @ vector)).mean()
                    total, count = total - negatives * far, count + 1
    return total / count


@pytest.mark.parametrize("kind", ["skip-gram", "cbow"])
def test_the_loss_and_its_gradient_are_the_formulas(kind: str) -> None:
    made, given = model(kind), batch()
    loss = word_neighbours(made, given, negatives=3)
    assert loss.count == given.size
    mean = loss.total / loss.count
    expected = by_hand(made, given, negatives=3)
    torch.testing.assert_close(mean, expected)
    found = torch.autograd.grad(mean, list(made.parameters()))
    wanted = torch.autograd.grad(expected, list(made.parameters()))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("kind", ["skip-gram", "cbow"])
def test_new_vectors_know_nothing(kind: str) -> None:
    new = WordVectorsModel(CONFIGS[kind], WORDS)
    loss = word_neighbours(new, batch(), negatives=5)
    assert loss.total.item() / loss.count == pytest.approx(6 * math.log(2))


def test_a_batch_without_neighbours_has_no_loss() -> None:
    given = batch()
    empty = WordBatch(given.words, torch.zeros_like(given.near), given.negatives, 40)
    loss = word_neighbours(model("skip-gram"), empty)
    assert loss.total.item() == 0.0
