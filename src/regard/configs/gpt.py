"""Settings of a GPT. The defaults are GPT-2's smallest model, but for its tanh form of GELU."""

from typing import Literal

from pydantic import Field, model_validator

from regard.configs.stack import OneStack
from regard.configs.work import Work


class GPTConfig(OneStack):
    """A decoder on its own, which continues a text."""

    kind: Literal["gpt"] = Field(default="gpt", description="The model: a GPT.")
    positions: Literal["learned", "sinusoidal", "rotary"] = Field(
        default="learned", description="How the model knows where a token stands."
    )
    max_positions: int = Field(
        default=1024,
        ge=1,
        le=1_000_000,
        description="Longest context, where positions are learned.",
    )
    tied_embeddings: bool = Field(
        default=True, description="Whether input and output share one table of embeddings."
    )

    @model_validator(mode="after")
    def fits_together(self) -> "GPTConfig":
        d_k = self.d_model // self.num_heads
        if self.positions == "rotary" and d_k % 2:
            raise ValueError(
                'positions = "rotary" turns pairs of numbers, and a head of '
                f"d_model / num_heads = {d_k} is odd"
            )
        return self

    def summary(self) -> str:
        return f"gpt, {self.sizes}, {self.positions} positions, {self.activation}"

    def training_flops(self, outputs: int, work: Work) -> float:
        return self.stack_flops(outputs, work, work.target_tokens, work.target_length)

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        return self.stack_bytes(work.target_tokens, mixed, self.positions == "rotary")
