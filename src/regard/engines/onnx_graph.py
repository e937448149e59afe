"""The nodes of an ONNX graph that computes parts of a Transformer."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from regard.configs.transformer import TransformerConfig
from regard.engines.specification import sinusoids

OPSET = 20
POSITIONS = 1024
HIDDEN = -1e9  # a score that softmax makes 0


class Graph:
    """Collects the nodes of a graph. Values are known by their names."""

    def __init__(self, tensors: dict[str, Any], config: TransformerConfig) -> None:
        self.tensors, self.config = tensors, config
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.is_rms = config.normalisation == "rms"

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"{kind}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def named(self, value: str, name: str) -> None:
        """Make a value an output of the graph."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def constant(self, value: Any, kind: str = "float32") -> str:
        array = np.asarray(value, dtype=kind)
        name = f"constant_{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def weight(self, name: str, array: Any) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def length(self, value: str, axis: int) -> str:
        shape = self.op("Shape", value)
        return str(
            self.op("Slice", shape, *(self.constant([n], "int64") for n in (axis, axis + 1)))
        )

    def whole(self, *numbers: int) -> str:
        return self.constant(numbers, "int64")

    def linear(self, x: str, name: str, part: slice = slice(None), label: str = "") -> str:
        weight = self.tensors[f"{name}.weight"][part]
        y = self.op("MatMul", x, self.weight(f"{name}.weight{label}", weight.T))
        if f"{name}.bias" in self.tensors:
            y = self.op(
                "Add", y, self.weight(f"{name}.bias{label}", self.tensors[f"{name}.bias"][part])
            )
        return str(y)

    def norm(self, x: str, name: str) -> str:
        weight = self.weight(f"{name}.weight", self.tensors[f"{name}.weight"])
        if not self.is_rms:
            bias = self.weight(f"{name}.bias", self.tensors[f"{name}.bias"])
            return str(self.op("LayerNormalization", x, weight, bias, axis=-1, epsilon=1e-5))
        square = self.op("ReduceMean", self.op("Mul", x, x), self.whole(-1), keepdims=1)
        root = self.op("Sqrt", self.op("Add", square, self.constant(1e-6)))
        return str(self.op("Mul", self.op("Div", x, root), weight))

    def residual(self, x: str, name: str, work: Callable[[str], str]) -> str:
        name = f"{name}_residual.normalise"
        if self.config.norm == "pre":
            return str(self.op("Add", x, work(self.norm(x, name))))
        return self.norm(self.op("Add", x, work(x)), name)

    def embed(self, side: str, ids: str, start: str) -> str:
        """Tokens plus positions from `start`."""
        target = "target_embedding.weight"
        name = f"{side}_embedding.weight"
        name = name if name in self.tensors else target
        table = self.weight(name, self.tensors[name])
        scale = self.constant(math.sqrt(self.config.d_model))
        x = self.op("Mul", self.op("Gather", table, ids), scale)
        if self.config.positions == "learned":
            waves = self.tensors["positions.table"]
        else:
            waves = sinusoids(POSITIONS, self.config.d_model)
        end = self.op("Add", start, self.length(ids, 1))
        places = self.op("Slice", self.weight("positions", waves), start, end, self.whole(0))
        return str(self.op("Add", x, places))

    def heads(self, x: str) -> str:
        """[B, T, d_model] → [B, h, T, d_k]"""
        shape = self.whole(0, 0, self.config.num_heads, self.config.d_k)
        return str(self.op("Transpose", self.op("Reshape", x, shape), perm=[0, 2, 1, 3]))

    def attend(self, queries: str, keys: str, values: str, bias: str) -> str:
        scale = self.constant(1 / math.sqrt(self.config.d_k))
        turned = self.op("Transpose", keys, perm=[0, 1, 3, 2])
        scores = self.op("MatMul", self.op("Mul", queries, scale), turned)
        weights = self.op("Softmax", self.op("Add", scores, bias), axis=-1)
        found = self.op("Transpose", self.op("MatMul", weights, values), perm=[0, 2, 1, 3])
        return str(self.op("Reshape", found, self.whole(0, 0, self.config.d_model)))

    def projections(self, x: str, name: str, which: Iterable[int]) -> list[str]:
        """The queries (0), keys (1) and values (2) of an attention."""
        width = self.config.d_model
        return [
            self.heads(
                self.linear(x, f"{name}.in_projection", slice(n * width, (n + 1) * width), f".{n}")
            )
            for n in which
        ]

    def feed_forward(self, x: str, name: str) -> str:
        hidden = self.linear(x, f"{name}.inner")
        match self.config.activation:
            case "relu":
                hidden = self.op("Relu", hidden)
            case "gelu":
                hidden = self.op("Gelu", hidden)
            case "gelu_tanh":
                hidden = self.op("Gelu", hidden, approximate="tanh")
            case "quick_gelu":
                inner = self.op("Mul", hidden, self.constant(1.702))
                hidden = self.op("Mul", hidden, self.op("Sigmoid", inner))
            case "swish":
                hidden = self.op("Mul", hidden, self.op("Sigmoid", hidden))
            case "swiglu":
                gate, value = self.op("Split", hidden, outputs=2, axis=-1, num_outputs=2)
                hidden = self.op("Mul", self.op("Mul", gate, self.op("Sigmoid", gate)), value)
        return self.linear(hidden, f"{name}.outer")

    def bias_of(self, mask: str) -> str:
        """[B, S], 1 for a token and 0 for padding → [B, 1, 1, S]"""
        padding = self.op("Sub", self.constant(1.0), self.op("Cast", mask, to=TensorProto.FLOAT))
        bias = self.op("Mul", padding, self.constant(HIDDEN))
        return str(self.op("Unsqueeze", bias, self.whole(1, 2)))

    def model(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        graph = helper.make_graph(self.nodes, "regard", inputs, outputs, [*self.constants.values()])
        opsets = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(graph, opset_imports=opsets, producer_name="regard")
        made.ir_version = 9
        onnx.checker.check_model(made, full_check=True)
        return made


def ids(name: str, length: str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", length])


def numbers(name: str, *shape: str | int) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])
