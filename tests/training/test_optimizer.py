"""Adam against its formulas, its moments under names, and the moving average."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.errors import RecipeError
from regard.models.transformer import Transformer, TransformerConfig
from regard.recipe import Recipe, TrainSection
from regard.training.optimizer import (
    MovingAverage,
    build_optimizer,
    hidden_matrices,
    load_optimizer,
    optimizer_tensors,
    orthogonal,
)


def model(seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    config = TransformerConfig(
        encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, num_heads=2, dropout=0.0
    )
    return Transformer(config, 11, 11).double()


def update(model: nn.Module, optimizer: torch.optim.Optimizer, rate: float, seed: int) -> None:
    """One step along random gradients."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()


def test_the_first_step_has_the_size_of_the_rate() -> None:
    moved = model()
    optimizer = build_optimizer(moved, TrainSection())
    before = [parameter.detach().clone() for parameter in moved.parameters()]
    update(moved, optimizer, 0.01, seed=1)
    for old, new in zip(before, moved.parameters(), strict=True):
        # Both moments are corrected to the gradient itself: m̂ / √v̂ = g / |g|.
        assert new.grad is not None
        assert_close(new.detach(), old - 0.01 * new.grad / (new.grad.abs() + 1e-9))


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_adam_is_its_formula(kind: str) -> None:
    settings: dict[str, Any] = {"optimizer": kind, "weight_decay": 0.2, "adam_betas": (0.8, 0.95)}
    moved = model()
    optimizer = build_optimizer(moved, TrainSection(**settings))
    expected = [parameter.detach().clone() for parameter in moved.parameters()]
    firsts = [torch.zeros_like(weight) for weight in expected]
    seconds = [torch.zeros_like(weight) for weight in expected]
    for step in range(1, 6):
        rate = 0.01 * step
        update(moved, optimizer, rate, seed=step)
        for number, parameter in enumerate(moved.parameters()):
            assert parameter.grad is not None
            gradient, weight = parameter.grad.clone(), expected[number]
            decay = 0.2 if weight.dim() > 1 else 0.0
            if kind == "adam":
                gradient += decay * weight
            else:
                weight -= rate * decay * weight
            firsts[number] = 0.8 * firsts[number] + 0.2 * gradient
            seconds[number] = 0.95 * seconds[number] + 0.05 * gradient**2
            first = firsts[number] / (1 - 0.8**step)
            second = seconds[number] / (1 - 0.95**step)
            weight -= rate * first / (second.sqrt() + 1e-9)
            assert_close(parameter.detach(), weight)


def test_every_parameter_is_trained_once() -> None:
    trained = model()
    groups = build_optimizer(trained, TrainSection()).param_groups
    parameters = [id(parameter) for group in groups for parameter in group["params"]]
    assert len(parameters) == len(set(parameters))
    assert set(parameters) == {id(parameter) for parameter in trained.parameters()}


def test_the_constants_of_the_paper_are_the_defaults() -> None:
    for group in build_optimizer(model(), TrainSection()).param_groups:
        assert group["betas"] == (0.9, 0.98)
        assert group["eps"] == 1e-9


def test_moments_are_saved_under_the_names_of_their_parameters() -> None:
    moved = model()
    optimizer = build_optimizer(moved, TrainSection())
    assert optimizer_tensors(moved, optimizer) == {}
    update(moved, optimizer, 0.01, seed=1)
    tensors = optimizer_tensors(moved, optimizer)
    kinds = ("step", "exp_avg", "exp_avg_sq")
    names = [name for name, _ in moved.named_parameters()]
    assert tensors.keys() == {f"{kind}/{name}" for kind in kinds for name in names}
    for name, parameter in moved.named_parameters():
        assert parameter.grad is not None
        assert_close(tensors[f"exp_avg/{name}"], 0.1 * parameter.grad)
        assert_close(tensors[f"exp_avg_sq/{name}"], 0.02 * parameter.grad**2)
        assert tensors[f"step/{name}"].item() == 1


def test_loaded_moments_go_on_bit_for_bit() -> None:
    whole, train = model(), TrainSection(weight_decay=0.1)
    optimizer = build_optimizer(whole, train)
    for step in range(3):
        update(whole, optimizer, 0.01, seed=step)
    weights = {name: value.clone() for name, value in whole.state_dict().items()}
    saved = {name: value.clone() for name, value in optimizer_tensors(whole, optimizer).items()}
    resumed = model(seed=9)
    resumed.load_state_dict(weights)
    fresh = build_optimizer(resumed, train)
    # The names decide, not the order in which a file lists them.
    load_optimizer(resumed, fresh, dict(reversed(saved.items())))
    for step in range(3, 6):
        update(whole, optimizer, 0.01, seed=step)
        update(resumed, fresh, 0.01, seed=step)
    for ours, theirs in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_the_moving_average_is_its_loop() -> None:
    moved, decay = model(), 0.6
    average = MovingAverage(moved, decay)
    expected = {name: value.detach().clone() for name, value in moved.named_parameters()}
    for step in range(1, 21):
        with torch.no_grad():
            for parameter in moved.parameters():
                parameter += torch.randn_like(parameter)
        average.update(moved, step)
        kept = min(decay, (1 + step) / (10 + step))
        for name, value in moved.named_parameters():
            expected[name] = kept * expected[name] + (1 - kept) * value.detach()
    # By step 20 the start is over: 21 / 30 is more than the decay.
    assert average.weights.keys() == expected.keys()
    for name, value in expected.items():
        assert_close(average.weights[name], value)


def test_the_average_of_weights_that_rest_is_those_weights() -> None:
    resting = model()
    average = MovingAverage(resting, 0.999)
    shared: dict[str, Tensor] = dict(resting.named_parameters())
    assert all(average.weights[name].data_ptr() != shared[name].data_ptr() for name in shared)
    for step in range(1, 5):
        average.update(resting, step)
    for name, value in shared.items():
        assert_close(average.weights[name], value.detach())
        assert not average.weights[name].requires_grad


def test_rowwise_updates_follow_the_gradient_of_each_row() -> None:
    moved = nn.Embedding(5, 3).double()
    optimizer = build_optimizer(moved, TrainSection(optimizer="rowwise", adam_betas=(0, 0.9)))
    expected, seconds = moved.weight.detach().clone(), torch.zeros(5, dtype=torch.double)
    for step in range(1, 6):
        before = moved.weight.detach().clone()
        update(moved, optimizer, 0.01 * step, seed=step)
        gradient = moved.weight.grad
        assert gradient is not None
        seconds = 0.9 * seconds + 0.1 * gradient.square().mean(1)
        sizes = (seconds / (1 - 0.9**step)).sqrt() + 1e-9
        expected -= 0.01 * step * gradient / sizes[:, None]
        assert_close(moved.weight.detach(), expected)
        change = before - moved.weight.detach()
        assert_close(torch.cosine_similarity(change, gradient), torch.ones(5, dtype=torch.double))


def test_a_row_without_a_gradient_stays_where_it_is() -> None:
    moved = nn.Embedding(4, 3)
    optimizer = build_optimizer(moved, TrainSection(optimizer="rowwise"))
    update(moved, optimizer, 0.1, seed=1)
    before = moved.weight.detach().clone()
    moved.weight.grad = torch.zeros_like(moved.weight)
    moved.weight.grad[2] = 1.0
    optimizer.step()
    changed = (moved.weight.detach() != before).any(1)
    assert changed.tolist() == [False, False, True, False]


def test_orthogonal_keeps_the_directions_and_evens_out_the_sizes() -> None:
    generator = torch.Generator().manual_seed(1)
    for shape in ((3, 8, 8), (2, 5, 12), (2, 12, 5)):
        matrices = torch.randn(shape, generator=generator, dtype=torch.double)
        left, sizes, right = torch.linalg.svd(matrices, full_matrices=False)
        made = orthogonal(matrices)
        # The same singular vectors: seen through them, what is made is diagonal.
        seen = left.mT @ made @ right.mT
        evened = seen.diagonal(dim1=-2, dim2=-1)
        assert_close(seen, torch.diag_embed(evened))
        large = sizes > 0.05 * sizes.amax(-1, keepdim=True)
        assert large.any(-1).all()
        assert ((evened > 0.6) & (evened < 1.3))[large].all()


def test_muon_updates_hidden_matrices_by_their_orthogonal_momentum() -> None:
    settings: dict[str, Any] = {"optimizer": "muon", "weight_decay": 0.2}
    moved = model()
    optimizer = build_optimizer(moved, TrainSection(**settings))
    names = {id(p): name for name, p in moved.named_parameters()}
    hidden = hidden_matrices(moved)
    assert hidden
    assert not any("embedding" in names[id(p)] for p in hidden)
    expected = [parameter.detach().clone() for parameter in hidden]
    momenta = [torch.zeros_like(weight) for weight in expected]
    for step in range(1, 4):
        rate = 0.01 * step
        generator = torch.Generator().manual_seed(step)
        gradients = {
            id(p): torch.randn(p.shape, generator=generator, dtype=p.dtype)
            for p in moved.parameters()
        }
        update(moved, optimizer, rate, seed=step)
        for number, parameter in enumerate(hidden):
            gradient, weight = gradients[id(parameter)], expected[number]
            momenta[number] = 0.95 * momenta[number] + 0.05 * gradient
            direction = orthogonal((0.05 * gradient + 0.95 * momenta[number])[None])[0]
            weight *= 1 - rate * 0.2
            weight -= rate * 0.2 * max(weight.shape) ** 0.5 * direction
            assert_close(parameter.detach(), weight)


def test_muon_leaves_vectors_and_embeddings_to_adamw() -> None:
    ours, theirs = model(), model()
    muon = build_optimizer(ours, TrainSection(optimizer="muon", weight_decay=0.1))
    adamw = build_optimizer(theirs, TrainSection(optimizer="adamw", weight_decay=0.1))
    for step in range(3):
        update(ours, muon, 0.01, seed=step)
        update(theirs, adamw, 0.01, seed=step)
    hidden = {id(parameter) for parameter in hidden_matrices(ours)}
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, other) == (id(mine) not in hidden)


def test_muon_resumes_bit_for_bit_and_trains_every_parameter_once() -> None:
    whole, train = model(), TrainSection(optimizer="muon", weight_decay=0.1)
    optimizer = build_optimizer(whole, train)
    parameters = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(parameters) == sorted(map(id, whole.parameters()))
    for step in range(3):
        update(whole, optimizer, 0.01, seed=step)
    weights = {name: value.clone() for name, value in whole.state_dict().items()}
    saved = {name: value.clone() for name, value in optimizer_tensors(whole, optimizer).items()}
    resumed = model(seed=9)
    resumed.load_state_dict(weights)
    fresh = build_optimizer(resumed, train)
    load_optimizer(resumed, fresh, saved)
    for step in range(3, 6):
        update(whole, optimizer, 0.01, seed=step)
        update(resumed, fresh, 0.01, seed=step)
    for ours, theirs in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_muon_is_refused_where_no_process_has_whole_matrices() -> None:
    with pytest.raises(RecipeError, match="whole matrices"):
        Recipe(
            task="translation",
            data={"builtin": "phrasebook"},
            train={"optimizer": "muon", "parallel": "fsdp"},
        )
