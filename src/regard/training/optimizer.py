"""The optimizer and the moving average of weights."""

from collections.abc import Mapping
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor, nn

from regard.recipe import TrainSection
from regard.training.parallel import distribute_like
from regard.weights import buffers, weights

MUON_MOMENTUM = 0.95


class WithoutCompiler(torch.optim.Optimizer):
    """Runs the methods of PyTorch's optimizers without loading its compiler, which their decorators
    would do. That takes two seconds, and nothing here is compiled.
    """

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)


class Adam(WithoutCompiler, torch.optim.Adam):
    step = torch.no_grad()(unwrap(torch.optim.Adam.step))


class AdamW(WithoutCompiler, torch.optim.AdamW):
    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))


class Rowwise(WithoutCompiler):
    """Adam without its first moment, and with one second moment for all numbers of a row, which is
    their mean. So an update of a row has the direction of its gradient, however rare the row is:
    Adam would give every number of a rare word's vector the same step, and only its sign would
    count.
    """

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            decay, epsilon = group["betas"][1], group["eps"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                gradient, state = parameter.grad, self.state[parameter]
                if not state:
                    state["step"] = torch.zeros(())
                    state["row_moments"] = torch.zeros_like(gradient.flatten(1)[:, 0])
                state["step"] += 1
                rows = gradient.flatten(1) if gradient.dim() > 1 else gradient[:, None]
                moments = state["row_moments"].lerp_(rows.square().mean(1), 1 - decay)
                sizes = (moments / (1 - decay ** float(state["step"]))).sqrt_().add_(epsilon)
                steps = (-group["lr"] / sizes).view(-1, *(1,) * (gradient.dim() - 1))
                if group["weight_decay"]:
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.addcmul_(gradient, steps)


class Muon(AdamW):
    """Momentum whose matrices are made orthogonal (Jordan 2024), so that an update moves all
    directions of a hidden matrix alike, also those in which its gradients are small. Groups
    without `momentum` are AdamW's: vectors, embeddings and the output.

    An update is scaled to the size that AdamW's have (Liu et al. 2025), so both understand one
    learning rate and one weight decay. PyTorch's own Muon computes in bfloat16, which is slow on
    many CPUs and not safe on all.
    """

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            if not group["momentum"]:
                continue
            alike: dict[torch.Size, list[nn.Parameter]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    alike.setdefault(parameter.shape, []).append(parameter)
            for parameters in alike.values():
                self._update_alike(parameters, group)
                for parameter in parameters:
                    parameter.grad = None  # so that AdamW leaves it out
        super().step()

    def _update_alike(self, parameters: list[nn.Parameter], group: dict[str, Any]) -> None:
        """Update matrices of one shape together."""
        updates = []
        for parameter in parameters:
            state, gradient = self.state[parameter], parameter.grad
            assert gradient is not None
            if not state:
                state["momentum"] = torch.zeros_like(gradient)
            momentum = state["momentum"].lerp_(gradient, 1 - group["momentum"])
            updates.append(gradient.lerp(momentum, group["momentum"]).flatten(1))
        rate = group["lr"]
        size = 0.2 * max(updates[0].shape) ** 0.5
        for parameter, update in zip(parameters, orthogonal(torch.stack(updates)), strict=True):
            parameter.mul_(1 - rate * group["weight_decay"])
            parameter.add_(update.view_as(parameter), alpha=-rate * size)


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices [N, rows, columns] with all singular values near 1 and the same singular vectors, by
    five steps of a Newton-Schulz iteration (Jordan 2024).
    """
    tall = matrices.size(-2) > matrices.size(-1)
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = 3.4445 * x + (2.0315 * gram @ gram - 4.7750 * gram) @ x
    made: Tensor = x.mT if tall else x
    return made


def build_optimizer(model: nn.Module, train: TrainSection) -> torch.optim.Optimizer:
    """Adam with the paper's constants (§5.3) by default, in its fused form.

    Weight decay leaves out vectors: norms and biases should not shrink towards 0.
    """
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    groups: list[dict[str, Any]] = [
        {"params": matrices, "weight_decay": train.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    if train.optimizer == "muon":
        hidden = hidden_matrices(model)
        others = [p for p in matrices if all(p is not each for each in hidden)]
        groups = [
            {"params": hidden, "weight_decay": train.weight_decay, "momentum": MUON_MOMENTUM},
            {"params": others, "weight_decay": train.weight_decay, "momentum": 0.0},
            {"params": vectors, "weight_decay": 0.0, "momentum": 0.0},
        ]
    if train.optimizer == "rowwise":
        moments = {"lr": 0.0, "betas": train.adam_betas, "eps": train.adam_epsilon}
        return Rowwise(groups, moments)
    kinds: dict[str, type[Adam] | type[AdamW]] = {"adam": Adam, "adamw": AdamW, "muon": Muon}
    kind = kinds[train.optimizer]
    return kind(groups, lr=0.0, betas=train.adam_betas, eps=train.adam_epsilon, fused=True)


def hidden_matrices(model: nn.Module) -> list[nn.Parameter]:
    """Those between the layers: all but embeddings, tables of positions, and the output."""
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    return [
        parameter
        for name, parameter in model.named_parameters()
        if parameter.dim() > 1
        and parameter.requires_grad
        and id(parameter) not in tables
        and name != "output.weight"
        and not name.endswith("positions")
    ]


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The moments under the names of their parameters; empty for a parameter not yet updated."""
    return {
        f"{key}/{name}": value
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def load_optimizer(
    model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]
) -> None:
    """Load the moments into the optimizer, on the device of their parameters."""
    parameters = dict(model.named_parameters())
    optimizer.state.clear()
    for key, tensor in tensors.items():
        kind, _, name = key.partition("/")
        parameter = parameters[name]
        # Copied, since tensors read from a file are views of it; the update count is one number.
        optimizer.state[parameter][kind] = (
            distribute_like(tensor, parameter)
            if tensor.dim()
            else tensor.to(parameter.device, copy=True)
        )


class MovingAverage:
    """An exponential moving average of the weights (Polyak averaging), corrected for its start."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: tensor.clone() for name, tensor in weights(model).items()}
        self.buffers = list(buffers(model))

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        # Early on the average follows faster, so that it forgets the random start.
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        parameters = tuple(model.parameters())
        torch._foreach_lerp_(list(self.weights.values())[: len(parameters)], parameters, share)
        for name in self.buffers:
            buffer = model.get_buffer(name)
            if buffer.is_floating_point():
                self.weights[name].lerp_(buffer, share)
            else:  # a count has no average
                self.weights[name].copy_(buffer)

    @torch.no_grad()
    def load(self, tensors: Mapping[str, Tensor]) -> None:
        for name, weight in self.weights.items():
            weight.copy_(distribute_like(tensors[name], weight))
