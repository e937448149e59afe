"""Settings of a BERT. The base model of Devlin et al. (2019, §3) is the default."""

from typing import Literal

from pydantic import Field, model_validator

from regard.configs.stack import OneStack
from regard.configs.work import Work


class BertConfig(OneStack):
    """An encoder that fills in what is masked, and that reads for classifiers and taggers."""

    kind: Literal["bert"] = Field(default="bert", description="The model: a BERT.")
    activation: Literal["gelu", "gelu_tanh", "relu"] = Field(
        default="gelu", description="Function between the two feed-forward products."
    )
    norm_epsilon: float = Field(
        default=1e-12, gt=0, le=1, description="Small number that keeps norms from dividing by 0."
    )
    max_positions: int = Field(
        default=512, ge=1, le=1_000_000, description="Most tokens that the model reads at a time."
    )
    num_segments: int = Field(
        default=2, ge=1, le=1000, description="Texts side by side in a sequence: 2 for pairs."
    )
    masked_head: bool = Field(
        default=True, description="Whether the model has the layers that predict masked tokens."
    )
    pooler: bool = Field(
        default=False, description="Whether it makes one vector of a text, from its first token."
    )
    next_sentence: bool = Field(
        default=False, description="Whether it predicts if the second segment follows the first."
    )

    @model_validator(mode="after")
    def fits_together(self) -> "BertConfig":
        if self.next_sentence and not (self.pooler and self.num_segments > 1):
            raise ValueError("next_sentence needs pooler = true and num_segments of at least 2")
        return self

    def summary(self) -> str:
        return f"bert, {self.sizes}, {self.max_positions} positions, {self.activation}"

    def training_flops(self, outputs: int, work: Work) -> float:
        return self.stack_flops(outputs, work, work.source_tokens, work.source_length)

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        return self.stack_bytes(work.source_tokens, mixed)
