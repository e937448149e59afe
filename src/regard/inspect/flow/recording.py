"""What the modules of a model were given, and what they gave back, in one real pass."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from inspect import Signature, signature
from typing import Any

import torch
from torch import Tensor, nn

from regard.layers.recurrent import LayerState, RecurrentLayer


@dataclass(frozen=True)
class Call:
    given: dict[str, Any]  # the arguments, by name
    output: Any


@dataclass(frozen=True)
class Step:
    """One step of a recurrent layer, outside the fused kernel."""

    from_input: Tensor  # [B, gates * d]: U x + b
    before: LayerState
    after: LayerState


@dataclass
class Recording:
    """The calls of each module, and the steps of recurrent layers, in their order."""

    calls: dict[nn.Module, list[Call]] = field(default_factory=dict)
    steps: dict[nn.Module, list[Step]] = field(default_factory=dict)

    def last(self, module: nn.Module) -> Call:
        return self.calls[module][-1]

    def output(self, module: nn.Module) -> Tensor:
        """What a module gave back for the first row of the batch: [T, d]."""
        found: Tensor = self.last(module).output
        return found[0]

    def given(self, module: nn.Module, name: str) -> Tensor:
        """What a module was given for the first row of the batch."""
        found: Tensor = self.last(module).given[name]
        return found[0]


@torch.no_grad()
def recorded(model: nn.Module, read: Callable[[], object]) -> Recording:
    """Everything that happens inside a model while it reads. Nothing that it computes changes."""
    recording = Recording()
    hooks = []
    layers = [each for each in model.modules() if isinstance(each, RecurrentLayer)]
    try:
        for module in model.modules():
            keep = partial(keep_call, recording, signature(module.forward))
            hooks.append(module.register_forward_hook(keep, with_kwargs=True))
        for layer in layers:
            layer.__dict__["advance"] = partial(keep_step, recording, layer, layer.advance)
        read()
    finally:
        for hook in hooks:
            hook.remove()
        for layer in layers:
            layer.__dict__.pop("advance", None)
    return recording


def keep_call(
    recording: Recording,
    names: Signature,
    module: nn.Module,
    given: tuple[Any, ...],
    named: dict[str, Any],
    output: Any,
) -> None:
    arguments = dict(names.bind(*given, **named).arguments)
    recording.calls.setdefault(module, []).append(Call(arguments, output))


def keep_step(
    recording: Recording,
    layer: RecurrentLayer,
    advance: Callable[[Tensor, LayerState], LayerState],
    from_input: Tensor,
    state: LayerState,
) -> LayerState:
    after = advance(from_input, state)
    recording.steps.setdefault(layer, []).append(Step(from_input, state, after))
    return after
