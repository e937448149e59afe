"""The table of positions is the one that the model adds, or rotates by."""

from typing import Any

import pytest
import torch

from regard.errors import RequestError
from regard.inspect.figures import evenly, terminal_heat
from regard.inspect.positions import position_table
from regard.layers.positions import Learned, rotate, sinusoids
from regard.models.recurrent import Recurrent, RecurrentConfig
from regard.models.transformer import Transformer, TransformerConfig


def build(positions: Any) -> Transformer:
    sizes: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "d_ff": 16}
    config = TransformerConfig(positions=positions, num_heads=2, max_positions=12, **sizes)
    return Transformer(config, 15, 15).eval()


def test_sinusoidal_positions_follow_the_formula() -> None:
    found = position_table(build("sinusoidal"), 10)
    assert found.kind == "sinusoidal"
    assert torch.tensor(found.table) == pytest.approx(sinusoids(10, 16).float(), abs=1e-6)
    # Each pair gives sin² + cos² = 1, and a distance means the same everywhere.
    assert found.dots[3][3] == pytest.approx(8, abs=1e-5)
    assert found.dots[2][5] == pytest.approx(found.dots[6][9], abs=1e-5)


def test_learned_positions_are_the_parameters_and_end() -> None:
    model = build("learned")
    found = position_table(model, 12)
    assert isinstance(model.positions, Learned)
    assert torch.equal(torch.tensor(found.table), model.positions.table)
    with pytest.raises(RequestError, match="12 positions"):
        position_table(model, 13)


def test_dots_of_rotary_positions_are_what_turning_does() -> None:
    model = build("rotary")
    found = position_table(model, 9)
    same = torch.tensor([1.0, 0.0]).repeat(4).expand(1, 1, 9, 8)
    turned = rotate(same, model.rotary(0, 9, same))[0, 0]  # type: ignore[misc]
    assert torch.tensor(found.dots) == pytest.approx(turned @ turned.T, abs=1e-5)


def test_a_recurrent_model_has_none() -> None:
    with pytest.raises(RequestError, match="counts no positions"):
        position_table(Recurrent(RecurrentConfig(d_model=8), 15, 15), 4)


def test_a_heat_map_fits_a_terminal() -> None:
    lines = terminal_heat([[0.1 * i] * 500 for i in range(301)]).plain.splitlines()
    assert len(lines) == 30
    assert {len(line) for line in lines} == {96}
    assert terminal_heat([[1.0, -1.0]] * 3).plain.splitlines() == ["▀▀", "▀▀"]
    assert evenly(range(10), 5) == [0, 2, 4, 6, 8]
