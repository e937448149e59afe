"""The letters of words in a tagger."""

import torch

from regard.configs.head import HeadConfig
from regard.configs.letters import LettersConfig
from regard.configs.recurrent import ReaderConfig
from regard.models.labeller import Labeller
from regard.models.letters import Letters

PIECES = ["", "", "", "", "un", "do", "ing", "x" * 40, "él"]


def letters(filters: int = 8) -> Letters:
    torch.manual_seed(1)
    found = Letters(LettersConfig(filters=filters), len(PIECES), 4)
    found.spell(PIECES)
    return found


def test_words_have_the_letters_of_their_pieces_in_order() -> None:
    tokens = torch.tensor([[2, 4, 5, 6, 8, 3], [2, 7, 7, 3, 0, 0]])
    units = torch.tensor([[-1, 0, 0, 0, 1, -1], [-1, 0, 0, -1, -1, -1]])
    found = letters().words(tokens, units)
    written = [
        ["".join(chr(kind - 1) for kind in word.tolist() if kind) for word in row] for row in found
    ]
    assert written == [["undoing", "él"], ["x" * 24, ""]]


def test_how_a_word_is_cut_into_pieces_changes_nothing() -> None:
    model = letters()
    model.spell(["", "", "", "", "un", "do", "undo", "", ""])
    whole = model(torch.tensor([[6]]), torch.tensor([[0]]))
    parts = model(torch.tensor([[4, 5]]), torch.tensor([[0, 0]]))
    assert torch.allclose(parts[0, 0], whole[0, 0], atol=1e-6)
    assert torch.equal(parts[0, 0], parts[0, 1])


def test_tokens_outside_of_words_get_zeros_and_padding_changes_nothing() -> None:
    model = letters()
    short = model(torch.tensor([[2, 4, 3]]), torch.tensor([[-1, 0, -1]]))
    padded = model(
        torch.tensor([[2, 4, 3, 0], [2, 5, 6, 3]]), torch.tensor([[-1, 0, -1, -1], [-1, 0, 1, -1]])
    )
    assert torch.allclose(padded[0, :3], short[0], atol=1e-6)
    assert not padded[:, 0].any()
    assert not padded[0, 2:].any()


def test_a_labeller_with_letters_learns_from_them() -> None:
    torch.manual_seed(1)
    model = Labeller(
        ReaderConfig(d_model=4), HeadConfig(), len(PIECES), 3, LettersConfig(filters=8)
    )
    assert model.letters is not None
    model.letters.spell(PIECES)
    tokens, units = torch.tensor([[2, 4, 5, 3]]), torch.tensor([[-1, 0, 1, -1]])
    model(tokens, torch.ones_like(tokens) > 0, units).sum().backward()
    assert model.letters.convolution.weight.grad is not None
    assert model.letters.convolution.weight.grad.any()
    names = dict(model.named_parameters())
    count = LettersConfig(filters=8).parameters(4)
    assert sum(each.numel() for name, each in names.items() if "letters" in name) == count
