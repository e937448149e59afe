"""The names of the alternatives that layers offer. It loads without PyTorch."""

from typing import Literal

Norm = Literal["post", "pre"]
Normalisation = Literal["layer", "rms"]
# "gelu_tanh" is the approximation that GPT-2 was trained with, "swish" what OPUS-MT's models were.
Activation = Literal["relu", "gelu", "gelu_tanh", "swish", "swiglu"]
Cell = Literal["rnn", "gru", "lstm"]
Nonlinearity = Literal["tanh", "relu"]
