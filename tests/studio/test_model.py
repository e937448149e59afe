"""The model view's answers are the numbers of the real model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.errors import RequestError
from regard.studio.model import cell, opened_box, outline, stage
from regard.studio.requests import InBox, InCell, Input, InStage, checked
from regard.studio.runs import OpenRun
from tests.studio.conftest import SENTENCE, Served


def asked(run: OpenRun, **more: Any) -> dict[str, Any]:
    """The input of a run: digits for a translator, a sentence for the others."""
    if "translate" not in run.describe()["views"]:
        text = "the [MASK] cat" if run.task == "masked-language-model" else SENTENCE
        return {"text": text, **more}
    with run.translator() as translator:
        source, target = translator.tokenizers
        return {"source": source.encode("4 1 7"), "output": target.encode("kva ein sep"), **more}


@pytest.fixture(scope="module")
def runs(folders: dict[str, Path], text_folders: dict[str, Path]) -> dict[str, OpenRun]:
    return {name: OpenRun(folder) for name, folder in {**folders, **text_folders}.items()}


KINDS = (
    *("digits", "recurrent", "language-model", "masked-language-model"),
    *("classification", "tagging"),
)


def hooked(run: OpenRun) -> tuple[dict[str, Tensor], list[Any]]:
    """Hooks that keep what every module of a run's model gives back, by name."""
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> Any:
        def hook(module: nn.Module, given: Any, output: Any) -> None:
            if isinstance(output, Tensor):
                seen[name] = output

        return hook

    with run.opened() as found:
        hooks = [
            module.register_forward_hook(keep(name))
            for name, module in found.model.named_modules()
            if name
        ]
    return seen, hooks


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_the_models(kind: str, runs: dict[str, OpenRun]) -> None:
    run = runs[kind]
    seen, hooks = hooked(run)
    values = asked(run)
    found = outline(run, Input(**values, row=1))
    for hook in hooks:
        hook.remove()
    compared = 0
    for box in (box for stack in found["stacks"] for box in stack["boxes"]):
        stages = opened_box(run, InBox(**values, row=1, box=box["name"]))["stages"]
        assert stages, box["name"]
        last = stage(run, InStage(**values, row=1, box=box["name"], stage=len(stages) - 1))
        assert list(last.shape) == stages[-1]["size"]
        name = box["name"]
        real = seen.get(name, seen.get(f"reader.{name}"))
        if real is not None and real.shape[1:] == last.shape:
            if not name.endswith(("embedding", "head", "bridge", "readout")):
                assert torch.allclose(last, real[0].float(), atol=1e-5), name
                compared += 1
            assert box["strip"] == pytest.approx(last[box["row"], :24].tolist(), abs=1e-5) or (
                name == "output"
            )
        for at, each in enumerate(stages):
            rows, columns = each["size"]
            place = (rows - 1, columns // 2)
            told = cell(run, InCell(**values, row=1, box=name, stage=at, at=place))
            assert told["steps"][-1][1] == pytest.approx(told["value"], abs=1e-4), (name, each)
    assert compared >= (4 if kind != "recurrent" else 0)


def test_the_output_is_what_the_page_says_elsewhere(runs: dict[str, OpenRun]) -> None:
    run = runs["digits"]
    values = asked(run)
    with run.translator() as translator:
        source, target = values["source"], values["output"]
        end = translator.tokenizers.target.specials.end
        from regard.data.batch import batch_pairs

        batch = batch_pairs([[*source, end]], [[*target, end]])
        with torch.no_grad():
            logits = translator.model(batch.source, batch.source_mask, batch.target)[0]
    shares = stage(run, InStage(**values, row=2, box="output", stage=1))
    expected = logits[2].softmax(-1).topk(len(shares)).values
    assert np.allclose(shares[:, 0], expected, atol=1e-6)


def test_heads_that_are_off_change_the_figure(runs: dict[str, OpenRun]) -> None:
    run = runs["digits"]
    values = asked(run)
    usual = outline(run, Input(**values))
    without = outline(run, Input(**values, off=["cross.0.0"]))
    strips = [
        {box["name"]: box["strip"] for stack in each["stacks"] for box in stack["boxes"]}
        for each in (usual, without)
    ]
    assert strips[0]["encoder_norm"] == strips[1]["encoder_norm"]
    assert strips[0]["decoder.0.cross_attention"] != strips[1]["decoder.0.cross_attention"]


def test_what_is_not_there_is_said(runs: dict[str, OpenRun]) -> None:
    run = runs["digits"]
    values = asked(run)
    with pytest.raises(RequestError, match="no box 'nowhere'"):
        opened_box(run, InBox(**values, box="nowhere"))
    with pytest.raises(RequestError, match="stages"):
        stage(run, InStage(**values, box="output", stage=9))
    with pytest.raises(RequestError, match="no number 99, 0"):
        cell(run, InCell(**values, box="output", stage=0, at=(99, 0)))
    with pytest.raises(RequestError, match="no sentence yet"):
        outline(run, Input())
    with pytest.raises(RequestError, match="text is empty"):
        outline(runs["classification"], Input(text=" "))
    with pytest.raises(RequestError, match="at"):
        checked(InCell, {**values, "box": "output", "stage": 0, "at": [1]})


def test_a_stage_comes_as_numbers_in_memory(served: Served, runs: dict[str, OpenRun]) -> None:
    values = asked(runs["digits"])
    body = {**values, "box": "encoder.0.self_attention", "stage": 2}
    found = served.ask("/api/model_stage", body)
    shape = [int(each) for each in found.headers["x-shape"].split(",")]
    numbers = np.frombuffer(found.body, "<f4").reshape(shape)
    expected = stage(runs["digits"], InStage(**body)).numpy()
    assert np.allclose(numbers, expected, atol=1e-6)
    # What may not be looked at is −∞, which JSON does not have.
    masked = served.ask(
        "/api/model_cell", {**values, "box": "decoder.0.self_attention", "stage": 6, "at": [0, 2]}
    ).json()
    assert masked["value"] is None
