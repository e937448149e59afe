"""The names of the alternatives that layers offer. It loads without PyTorch."""

from typing import Literal

Norm = Literal["post", "pre"]
Normalisation = Literal["layer", "rms"]
# "gelu_tanh" and "quick_gelu" are the approximations that GPT-2 and CLIP were trained with, "swish"
# is what OPUS-MT's models were.
Activation = Literal["relu", "gelu", "gelu_tanh", "quick_gelu", "swish", "swiglu"]
Cell = Literal["rnn", "gru", "lstm"]
Nonlinearity = Literal["tanh", "relu"]
# What a forecast of a number is: p(y_t | h_t).
Head = Literal["gaussian", "student", "quantiles"]
# What is subtracted from a window and what it is divided by.
Scaling = Literal["standard", "last", "absolute"]
