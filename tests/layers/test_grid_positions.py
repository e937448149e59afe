"""Positions with a row and a column."""

import pytest
import torch
from torch.testing import assert_close

from regard.layers.grid_positions import grid_rotation, grid_sinusoids
from regard.layers.positions import rotate

ROWS, COLUMNS, D_K = 3, 5, 8


def test_one_half_tells_the_row_and_the_other_the_column() -> None:
    table = grid_sinusoids(ROWS, COLUMNS, 12).unflatten(0, (ROWS, COLUMNS))
    assert torch.equal(table[..., :6], table[:, :1, :6].expand(ROWS, COLUMNS, 6))
    assert torch.equal(table[..., 6:], table[:1, :, 6:].expand(ROWS, COLUMNS, 6))
    assert len(torch.unique(table.flatten(0, 1), dim=0)) == ROWS * COLUMNS


def test_rotated_products_depend_on_differences_of_rows_and_columns_only() -> None:
    rotation = grid_rotation(ROWS, COLUMNS, D_K).double()
    torch.manual_seed(1)
    query, key = torch.randn(2, 1, 1, 1, D_K, dtype=torch.float64)
    everywhere = (1, 1, ROWS * COLUMNS, D_K)
    queries = rotate(query.expand(everywhere), rotation)
    keys = rotate(key.expand(everywhere), rotation)
    scores = (queries @ keys.transpose(-2, -1)).view(ROWS, COLUMNS, ROWS, COLUMNS)
    # Moved by one row and by two columns, every pair of patches has the product it had.
    assert_close(scores[1:, :, 1:], scores[:-1, :, :-1], atol=1e-6, rtol=0)
    assert_close(scores[:, 2:, :, 2:], scores[:, :-2, :, :-2], atol=1e-6, rtol=0)
    assert not torch.isclose(scores[0, 0, 0, 0], scores[0, 0, 1, 0])
    assert not torch.isclose(scores[0, 0, 0, 0], scores[0, 0, 0, 1])


def test_a_token_without_a_place_is_not_turned() -> None:
    x = torch.randn(2, 3, 1 + ROWS * COLUMNS, D_K)
    turned = rotate(x, grid_rotation(ROWS, COLUMNS, D_K, before=1))
    assert torch.equal(turned[:, :, 0], x[:, :, 0])
    assert torch.equal(turned[:, :, 1], x[:, :, 1])  # row 0, column 0
    assert not torch.isclose(turned[:, :, 2], x[:, :, 2]).all()


def test_a_head_has_pairs_for_rows_and_for_columns() -> None:
    with pytest.raises(ValueError, match="4 divides"):
        grid_rotation(2, 2, 6)
