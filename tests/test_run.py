"""The run folder: the last good file is never lost, and no file is believed without a check."""

import errno
import fcntl
import io
import itertools
import json
import os
import pickle
import resource
import shutil
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pytest
import torch
from safetensors.torch import save
from torch import Tensor

from regard import files
from regard.errors import RunError
from regard.files import write_file
from regard.recipe import Recipe, parse
from regard.run import Run, Tokenizers
from regard.text.tokenizer import Tokenizer
from regard.weights import (
    build,
    load_checkpoint,
    load_model,
    read_tensors,
    save_checkpoint,
    save_model,
    saved_sizes,
    weights,
    write_tensors,
)

# Tasks and models that between them use all layers.
SIZED = """
import sys
import torch
from regard.recipe import parse
from regard.weights import build, without_memory

for task, model in [
    ("translation", {"positions": "sinusoidal"}),
    ("translation", {"positions": "learned", "output_bias": True}),
    ("translation", {"positions": "rotary"}),
    ("translation", {"kind": "recurrent", "d_model": 8}),
    ("language-model", {"kind": "gpt"}),
    ("language-model", {"kind": "recurrent", "d_model": 8}),
    ("masked-language-model", {"kind": "bert"}),
    ("classification", {"kind": "recurrent", "d_model": 8}),
    ("tagging", {"kind": "bert"}),
    ("image-classification", {"kind": "cnn", "widths": [4]}),
    ("image-classification", {"kind": "vit"}),
    ("image-classification", {"kind": "vit", "pooling": "token", "positions": "sinusoidal"}),
    ("image-classification", {"kind": "vit", "positions": "rotary"}),
    ("image-classification", {"kind": "mlp", "d_model": 8}),
    ("captioning", {"kind": "recurrent", "d_model": 8}),
    ("captioning", {"kind": "transformer", "num_layers": 1, "d_model": 8, "d_ff": 8}),
    ("matching", {"kind": "bag", "d_model": 8}),
    ("forecasting", {"kind": "linear"}),
    ("forecasting", {"kind": "recurrent", "d_model": 8}),
    ("forecasting", {"kind": "transformer", "num_layers": 1, "d_model": 8, "num_heads": 2}),
    ("word-vectors", {"d_model": 8}),
]:
    if model.get("kind") in ("gpt", "bert", "vit"):
        model |= {"num_layers": 1, "d_model": 8, "d_ff": 8, "num_heads": 2}
    elif "kind" not in model and task == "translation":
        model |= {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "num_heads": 2}
    files = ["a.x", "a.y"] if task == "translation" else ["a.tsv"]
    recipe = parse({"task": task, "data": {"train": files}, "model": model}, "sized")
    sizes = {"inputs": 30, "outputs": 30, "height": 64, "width": 64, "channels": 3}
    sizes |= {"context": 24, "horizon": 6, "season": 12}
    shapes, real = without_memory(recipe, sizes), build(recipe, sizes)
    counted, numbers = ([each.shape for each in model.parameters()] for model in (shapes, real))
    assert counted == numbers, task
    assert "torch._dynamo" not in sys.modules, (task, model)
"""
TENSORS = {
    "weight/a": torch.arange(6, dtype=torch.float32).view(2, 3),
    "weight/b": torch.tensor([1.5, -2.0]),
    "optimizer/step/a": torch.tensor(7.0),
}
PROGRESS = {"position": {"step": 12, "epoch": 0, "index": 3}, "text": "zwölf"}
MODEL = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 16, "num_heads": 2}


def small_recipe(**model: Any) -> Recipe:
    data = {"train": ["a", "b"]}
    return parse({"data": data, "model": {**MODEL, **model}}, "small")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["ein kleiner Text", "a small text"], vocabulary_size=300)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path)
    run.training.mkdir()
    return run


@pytest.fixture
def trained(run: Run, tokenizer: Tokenizer) -> Run:
    """A folder as training leaves it, with random weights."""
    run.save_recipe(small_recipe())
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    sizes = {"inputs": len(tokenizer), "outputs": len(tokenizer)}
    save_model(run, weights(build(small_recipe(), sizes)), 5, sizes)
    return run


def save_again(run: Run, tensors: dict[str, Tensor]) -> None:
    """Other weights, with the sizes that the folder has."""
    save_model(run, tensors, 5, saved_sizes(run, files.read_metadata(run.model_path)))


def same(found: tuple[dict[str, Tensor], dict[str, Any]]) -> bool:
    tensors, progress = found
    return (
        progress == PROGRESS
        and tensors.keys() == TENSORS.keys()
        and all(torch.equal(tensors[name], tensor) for name, tensor in TENSORS.items())
    )


def assert_one_sentence(error: BaseException, *parts: object) -> None:
    text = str(error)
    assert "\n" not in text
    assert all(str(part) in text for part in parts), text


# A save that is cut short

CALLS = ("mkdir", "open", "chmod", "fsync", "replace")


@contextmanager
def failing_call(number: int, code: int) -> Iterator[list[str]]:
    """Let the n-th call to the system fail; yields the names of the calls."""
    seen: list[str] = []

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            seen.append(name)
            if len(seen) == number:
                raise OSError(code, os.strerror(code))
            return function(*arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, counted(name, getattr(os, name)))
        patch.setattr(io, "open", counted("write", io.open))
        patch.setattr(files, "save_file", counted("write", files.save_file))
        yield seen


def calls_of(write: Callable[[], object]) -> tuple[range, int]:
    """All calls of a write by number, and the last that matters: cleaning up comes after it."""
    with failing_call(0, 0) as seen:
        write()
    assert [name for name in seen if name != "open"] == [
        *("mkdir", "write", "chmod", "fsync", "replace", "fsync")
    ]
    return range(1, len(seen) + 1), len(seen) - seen[::-1].index("fsync")


@contextmanager
def expected_error(expected: bool, *parts: object) -> Iterator[None]:
    if not expected:
        yield
        return
    with pytest.raises(RunError) as raised:
        yield
    assert_one_sentence(raised.value, *parts)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
def test_a_save_that_fails_anywhere_costs_nothing(run: Run, code: int) -> None:
    save_checkpoint(run, 12, TENSORS, PROGRESS)
    new = run.checkpoint_path(18)
    calls, last = calls_of(lambda: save_checkpoint(run, 18, TENSORS, PROGRESS))
    for number in calls:
        new.unlink(missing_ok=True)
        with (
            expected_error(number <= last, new, os.strerror(code)),
            failing_call(number, code),
        ):
            save_checkpoint(run, 18, TENSORS, PROGRESS)
        assert same(load_checkpoint(run, run.checkpoint_path(12)))
        # There is no half-written one: it is whole, or it is not there.
        assert all(read_tensors(path) for path in run.checkpoints())
        run.sweep()
        assert {path.suffix for path in run.training.iterdir()} == {".safetensors"}


def test_a_failing_save_leaves_the_old_content_or_the_new(run: Run) -> None:
    path = run.folder / "run.json"
    calls, last = calls_of(lambda: write_file(path, b"old"))
    contents = []
    for number in calls:
        write_file(path, b"old")
        with expected_error(number <= last, path), failing_call(number, errno.ENOSPC):
            write_file(path, b"new")
        contents.append(path.read_bytes())
        run.sweep()
        assert sorted(run.folder.iterdir()) == [path, run.training]
    # The new name came after all but the flush of the folder and cleaning up.
    assert contents[: last - 2] == [b"old"] * (last - 2)
    assert set(contents[last - 1 :]) == {b"new"}


def test_the_disk_has_the_content_before_the_name(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[object] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        order.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def noted_replace(old: Path, new: Path) -> None:
        order.append("replace")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    path = save_checkpoint(run, 12, TENSORS, PROGRESS)
    assert order == [path.stat().st_ino, "replace", run.training.stat().st_ino]


def test_a_real_full_disk(run: Run) -> None:
    """The system itself refuses to let a file grow, in the middle of the write."""
    big = {"weight/a": torch.zeros(100_000)}
    save_checkpoint(run, 12, TENSORS, PROGRESS)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        with pytest.raises(RunError) as raised:
            save_checkpoint(run, 18, big, PROGRESS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert_one_sentence(raised.value, run.checkpoint_path(18), "cannot be written")
    assert [path.name for path in run.training.iterdir()] == ["step-00000012.safetensors"]
    assert same(load_checkpoint(run, run.checkpoint_path(12)))


def test_a_missing_folder_is_a_sentence(run: Run) -> None:
    run.training.rmdir()
    with pytest.raises(RunError, match="No such file or directory"):
        save_checkpoint(run, 12, TENSORS, PROGRESS)


def test_sweep_takes_only_its_own(run: Run) -> None:
    (run.training / "data").mkdir()
    for folder in (run.folder, run.training, run.training / "data"):
        left = folder / f"{files.SCRATCH}x7"
        left.mkdir()
        (left / "model.safetensors").write_bytes(b"half")
        (left / ".tmpA1").write_bytes(b"half of a half")
        (folder / ".notes.tmp").write_text("mine")
    run.sweep()
    assert sorted(path.name for path in run.folder.rglob("*") if path.is_file()) == (
        [".notes.tmp"] * 3
    )


LINKED = ("training", "training/data", "training/step-00000009.safetensors", "search", "pairs/a")


@pytest.mark.parametrize("name", LINKED)
def test_a_link_inside_a_run_is_refused_before_anything_is_removed(run: Run, name: str) -> None:
    outside = run.folder / "outside"
    (outside / ".writing-mine").mkdir(parents=True)
    (run.folder / "recipe.toml").touch()
    path = run.folder / name
    if name == "training":
        path.rmdir()
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside)
    for opened in (lambda: Run.open(run.folder), run.check_place, run.lock().__enter__):
        with pytest.raises(RunError, match="it is a link, which is not followed") as stop:
            opened()
        assert str(stop.value).startswith(f"{path}: ")
    assert [each.name for each in outside.iterdir()] == [".writing-mine"]


def test_a_run_folder_may_be_a_link_and_hold_other_links(run: Run) -> None:
    (run.folder / "recipe.toml").touch()
    (run.folder / "notes").symlink_to("recipe.toml")
    link = run.folder / "training" / ".." / "itself"
    link.symlink_to(run.folder)
    assert Run.open(link).folder == link


@pytest.mark.parametrize("umask", [None, 0o022, 0o027, 0o077, 0o002])
def test_files_follow_the_umask(
    umask: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "usual").touch()
    usual = (tmp_path / "usual").stat().st_mode & 0o777
    if umask is not None:
        monkeypatch.setattr(files, "UMASK", umask)
    write_file(tmp_path / "a", b"text")
    write_tensors(tmp_path / "b", {"x": torch.zeros(3)}, {})
    modes = {(tmp_path / name).stat().st_mode & 0o777 for name in "ab"}
    assert modes == {usual if umask is None else 0o666 & ~umask}


def test_like_content_gives_like_bytes(run: Run) -> None:
    """So that two runs can be compared by the checksums of their files."""
    contents = set()
    for _ in range(20):
        contents.add(save_checkpoint(run, 12, TENSORS, PROGRESS).read_bytes())
    assert len(contents) == 1


# A file that was changed


def test_every_flipped_bit_is_found(run: Run) -> None:
    path = save_checkpoint(run, 12, TENSORS, PROGRESS)
    content = bytearray(path.read_bytes())
    for position, bit in itertools.product(range(len(content)), range(8)):
        content[position] ^= 1 << bit
        path.write_bytes(content)
        content[position] ^= 1 << bit
        with pytest.raises(RunError) as raised:
            load_checkpoint(run, path)
        assert_one_sentence(raised.value, path)
    path.write_bytes(content)
    assert same(load_checkpoint(run, path))


def test_every_truncation_is_found(run: Run) -> None:
    path = save_checkpoint(run, 12, TENSORS, PROGRESS)
    content = path.read_bytes()
    for length in (*range(len(content)), len(content) + 1):
        path.write_bytes((content + b"\0")[:length])
        with pytest.raises(RunError) as raised:
            load_checkpoint(run, path)
        assert_one_sentence(raised.value, path)


def test_a_checkpoint_under_another_name_is_refused(run: Run) -> None:
    path = save_checkpoint(run, 12, TENSORS, PROGRESS)
    path.rename(run.checkpoint_path(18))
    with pytest.raises(RunError, match="holds step 12"):
        load_checkpoint(run, run.checkpoint_path(18))


def test_a_checkpoint_is_no_model_and_a_model_no_checkpoint(trained: Run) -> None:
    shutil.copy(trained.model_path, trained.checkpoint_path(5))
    with pytest.raises(RunError, match="not a checkpoint"):
        load_checkpoint(trained, trained.checkpoint_path(5))
    tensors, _ = read_tensors(trained.model_path)
    path = save_checkpoint(trained, 5, {f"weight/{n}": t for n, t in tensors.items()}, PROGRESS)
    path.replace(trained.model_path)
    with pytest.raises(RunError, match="not the weights of this model"):
        load_model(trained)


def test_other_files_are_not_checkpoints(run: Run) -> None:
    save_checkpoint(run, 12, TENSORS, PROGRESS)
    for name in ("step-00000018.damaged", "step-best.safetensors", "notes.safetensors"):
        (run.training / name).write_bytes(b"x")
    assert run.checkpoints() == [run.checkpoint_path(12)]


# A model folder is only data


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"a": 1}))
    return file.getvalue()


def with_header(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + data


def entry(**values: Any) -> bytes:
    return json.dumps(
        {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **values}}
    ).encode()


FOREIGN = {
    "pickle": pickle.dumps({"a": [1.0]}),
    "zip": zipped(),
    "empty": b"",
    "text": b"weights\n",
    "zip after safetensors": save({"a": torch.zeros(2)}) + zipped(),
    "header of 4 GB": struct.pack("<Q", 1 << 32) + b"{}",
    "header of 2^64": b"\xff" * 8 + b"{}",
    "header longer than the file": struct.pack("<Q", 1000) + b"{}",
    "not JSON": with_header(b"{nonsense"),
    "not UTF-8": with_header(b'{"\xff": 1}'),
    "deep JSON": with_header(b"[" * 100_000),
    "offsets outside": with_header(entry(data_offsets=[0, 800]), bytes(8)),
    "offsets reversed": with_header(entry(data_offsets=[8, 0]), bytes(8)),
    "shape of 2^62": with_header(entry(shape=[2**31, 2**31]), bytes(8)),
    "shape of 2^64": with_header(entry(shape=[2**32, 2**32]), bytes(8)),
    "unknown type": with_header(entry(dtype="OBJECT"), bytes(8)),
    "another width": with_header(entry(dtype="F4", shape=[16]), bytes(8)),
    "the same name twice": with_header(
        b'{"a": {"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
        b'"a": {"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
        b"12",
    ),
    "no checksum": save({"a": torch.zeros(2)}),
    "another's checksum": save({"a": torch.zeros(2)}, {"regard": '{"sha256": "0"}'}),
    "checksum of another kind": save({"a": torch.zeros(2)}, {"regard": "[1]"}),
    "deep metadata": save({"a": torch.zeros(2)}, {"regard": "[" * 100_000}),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files_are_refused(name: str, run: Run) -> None:
    run.model_path.write_bytes(FOREIGN[name])
    started = time.perf_counter()
    with pytest.raises(RunError) as raised:
        read_tensors(run.model_path)
    assert time.perf_counter() - started < 20
    assert_one_sentence(raised.value, run.model_path)
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_weights_do_not_load(name: str, trained: Run) -> None:
    trained.model_path.write_bytes(FOREIGN[name])
    with pytest.raises(RunError) as raised:
        load_model(trained)
    assert_one_sentence(raised.value, trained.model_path)


def test_good_weights_load(trained: Run) -> None:
    model = load_model(trained)
    assert not model.training
    for name, tensor in read_tensors(trained.model_path)[0].items():
        assert torch.equal(tensor, dict(model.named_parameters())[name])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(trained: Run, value: float) -> None:
    tensors = {name: t.clone() for name, t in read_tensors(trained.model_path)[0].items()}
    name = sorted(tensors)[3]
    tensors[name].view(-1)[-1] = value
    save_again(trained, tensors)
    with pytest.raises(RunError) as raised:
        load_model(trained)
    assert_one_sentence(raised.value, trained.model_path, name, "not finite")


def reshaped(tensors: dict[str, Tensor], name: str) -> None:
    tensors[name] = tensors[name].reshape(1, *tensors[name].shape)


def halved(tensors: dict[str, Tensor], name: str) -> None:
    # The size of the file stays what the model needs.
    tensors[name] = tensors[name].view(torch.float16)


def renamed(tensors: dict[str, Tensor], name: str) -> None:
    tensors[f"{name}2"] = tensors.pop(name)


@pytest.mark.parametrize("change", [reshaped, halved, renamed])
def test_weights_of_another_model_are_refused(
    trained: Run, change: Callable[[dict[str, Tensor], str], None]
) -> None:
    tensors, _ = read_tensors(trained.model_path)
    name = sorted(tensors)[3]
    change(tensors, name)
    save_again(trained, tensors)
    with pytest.raises(RunError) as raised:
        load_model(trained)
    assert_one_sentence(raised.value, trained.model_path, name)


@pytest.mark.parametrize(
    "promise",
    [
        {"encoder_layers": 10**9},
        {"d_model": 2**40},
        {"encoder_layers": 200, "decoder_layers": 200},
        {"d_model": 65536, "d_ff": 262144, "encoder_layers": 200, "decoder_layers": 200},
        {"positions": "learned", "max_positions": 1_000_000, "d_model": 65536},
        {"positions": "rotary", "d_model": 6, "num_heads": 2},
        {"num_heads": 3},
    ],
    ids=str,
)
def test_a_recipe_may_promise_anything(trained: Run, promise: dict[str, Any]) -> None:
    """What the recipe says is held against the size of the file before memory is taken."""
    text = trained.recipe_path.read_text()
    lines = [line for line in text.splitlines() if line.partition(" ")[0] not in promise]
    place = lines.index("[model]") + 1
    lines[place:place] = [f"{name} = {json.dumps(value)}" for name, value in promise.items()]
    trained.recipe_path.write_text("\n".join(lines))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    with pytest.raises(RunError) as raised:
        load_model(trained)
    assert time.process_time() - started < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    assert_one_sentence(raised.value, trained.folder)


# Sizes that follow from the data


def with_sizes(run: Run, sizes: str | None) -> None:
    """The same weights, with other sizes in their metadata or without any."""
    tensors, metadata = read_tensors(run.model_path)
    metadata.pop("sizes")
    more = {} if sizes is None else {"sizes": sizes}
    write_tensors(run.model_path, tensors, {**metadata, **more})


def test_the_weights_know_their_sizes(trained: Run) -> None:
    """Nothing else is asked: neither the tokenizer nor labels."""
    before = trained.tokenizers().source
    (trained.folder / "tokenizer.json").unlink()
    assert load_model(trained).output.out_features == len(before)
    found = saved_sizes(trained, files.read_metadata(trained.model_path))
    assert found == {"inputs": len(before), "outputs": len(before)}


@pytest.mark.parametrize(
    "sizes",
    [
        *('{"inputs": 20, "outputs": 20}', '{"inputs": 300, "outputs": 3000}'),
        *('{"inputs": 1099511627775, "outputs": 1099511627775}', '{"inputs": 1e3, "outputs": 1e3}'),
        *('{"inputs": 0, "outputs": 0}', '{"inputs": -1, "outputs": -1}'),
        *('{"inputs": 1099511627776, "outputs": 1}', f'{{"inputs": {10**40}, "outputs": 1}}'),
        *(f'{{"inputs": 1{"0" * 9000}}}', '{"inputs": true, "outputs": true}'),
        *('{"inputs": "300", "outputs": "300"}', '{"inputs": [300], "outputs": null}'),
        *('{"inputs": 300}', "{}", "[300, 300]", "300", "null", "", "{", "[" * 100_000),
    ],
    ids=lambda sizes: sizes[:40],
)
def test_sizes_may_promise_anything(trained: Run, sizes: str) -> None:
    with_sizes(trained, sizes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    with pytest.raises(RunError) as raised:
        load_model(trained)
    assert time.process_time() - started < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    assert_one_sentence(raised.value, trained.folder)
    assert len(str(raised.value)) < 600


def test_weights_without_sizes_are_of_an_old_run(trained: Run) -> None:
    """Then vocabularies and labels say how large the model is."""
    expected = weights(load_model(trained))
    with_sizes(trained, None)
    for name, tensor in weights(load_model(trained)).items():
        assert torch.equal(tensor, expected[name])
    (trained.folder / "tokenizer.json").unlink()
    with pytest.raises(RunError) as raised:
        load_model(trained)
    assert_one_sentence(raised.value, trained.folder)


def test_an_old_classifier_counts_its_labels(run: Run, tokenizer: Tokenizer) -> None:
    model = {"num_layers": 1, "d_model": 8, "d_ff": 8, "num_heads": 2}
    values = {"task": "classification", "data": {"train": ["a.tsv"]}, "model": model}
    recipe = parse(values, "small")
    run.save_recipe(recipe)
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    sizes = {"inputs": len(tokenizer), "outputs": 3}
    write_tensors(run.model_path, weights(build(recipe, sizes)), {"step": "5"})
    with pytest.raises(RunError, match=r"labels\.json"):
        load_model(run)
    run.labels_path.write_text('{"labels": ["a", "b", "c"]}')
    assert load_model(run).output.out_features == 3
    run.labels_path.write_text('{"labels": ["a", "b"]}')
    with pytest.raises(RunError, match=r"output\.weight is \(3, 8\)"):
        load_model(run)


# A folder that is no run, or not yet one


def test_what_is_no_run_is_said(tmp_path: Path, trained: Run) -> None:
    cases: dict[str, Callable[[], object]] = {
        "no such run folder": lambda: Run.open(tmp_path / "nowhere"),
        "not a run folder": lambda: Run.open(trained.training),
        "no trained weights yet": lambda: load_model(trained),
        "no such file": lambda: read_tensors(trained.model_path),
    }
    Run.open(trained.folder)
    trained.model_path.unlink()
    for text, use in cases.items():
        with pytest.raises(RunError) as raised:
            use()
        assert text in str(raised.value).lower()
        assert_one_sentence(raised.value)


def test_a_damaged_recipe_or_tokenizer_is_named(trained: Run) -> None:
    tokenizer = trained.folder / "tokenizer.json"
    for path, use in ((trained.recipe_path, trained.recipe), (tokenizer, trained.tokenizers)):
        path.write_bytes(path.read_bytes()[:40])
        with pytest.raises(RunError) as raised:
            use()
        assert_one_sentence(raised.value, path)


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"format": 99}', b"[" * 100_000, b"\xff"])
def test_a_damaged_run_json_is_named(run: Run, content: bytes) -> None:
    assert run.info() == {}
    run.save_info({"step": 3})
    assert run.info()["step"] == 3
    (run.folder / "run.json").write_bytes(content)
    with pytest.raises(RunError) as raised:
        run.info()
    assert_one_sentence(raised.value, run.folder / "run.json")


def test_every_changed_bit_of_run_json_is_found_or_changes_nothing(run: Run) -> None:
    facts = {"step": 3, "regard": "0.1.0", "validation": {"loss": 1.5, "bleu": 30.25}}
    run.save_info(facts)
    content = run.info_path.read_bytes()
    for position in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[position] ^= 1 << bit
            run.info_path.write_bytes(changed)
            with suppress(RunError):
                assert run.info() == {"format": 1, **facts}


APART = {"tokenizer": {"joint": False}, "model": {"tied_embeddings": "output"}}


def test_one_vocabulary_each(run: Run, tokenizer: Tokenizer) -> None:
    other = Tokenizer.train(["abc def"], vocabulary_size=300)
    run.save_recipe(parse({**APART, "data": {"builtin": "phrasebook"}}, "apart"))
    assert not run.has_tokenizers()
    write_file(run.folder / "source.tokenizer.json", tokenizer.to_json().encode())
    assert not run.has_tokenizers()  # the second was not written before the process died
    run.save_tokenizers(Tokenizers(tokenizer, other))
    assert run.has_tokenizers()
    found = run.tokenizers()
    assert found.source.fingerprint == tokenizer.fingerprint
    assert found.target.fingerprint == other.fingerprint


def test_a_model_is_sized_without_loading_a_compiler() -> None:
    """Which would double the time of every command that answers with PyTorch."""
    done = subprocess.run([sys.executable, "-c", SIZED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_lock_that_was_removed_keeps_nobody_out(tmp_path: Path) -> None:
    """Who waits for a lock may find that its holder has removed it, and must not hold it alone."""
    run = Run(tmp_path / "new" / "run")
    made = run.missing_folders()
    real, opened = fcntl.flock, []

    def late(file: IO[str], how: int) -> None:
        if not opened:
            opened.append(file)
            run.forget(set(), made)  # what the last holder does before it lets go
        real(file, how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", late)
        with run.lock():
            assert run.lock_path.exists()
            with pytest.raises(RunError, match="another process is training here"), run.lock():
                pass
    run.forget(set(), made)
    assert not list(tmp_path.iterdir())


def test_forgetting_keeps_folders_that_hold_more(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    made = run.missing_folders()
    with run.lock():
        (tmp_path / "run" / "notes.txt").write_text("mine")
        run.forget(set(), made)
    assert [path.name for path in run.folder.iterdir()] == ["notes.txt"]


def test_forgetting_keeps_what_was_there_before(tmp_path: Path, tokenizer: Tokenizer) -> None:
    run = Run(tmp_path / "run")
    run.folder.mkdir()
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    (run.folder / "notes.txt").write_text("mine")
    (run.folder / "pairs").mkdir()
    (run.folder / "pairs" / "train.jsonl").write_text("mine")
    made = run.missing_folders()
    assert made == []
    before = set(run.folder.glob("*"))
    with run.lock():
        run.save_recipe(small_recipe())
        run.labels_path.write_text("{}")
        (run.training / "data").mkdir()
        (run.training / "data" / "train.bin").write_bytes(b"ids")
        run.forget(before, made)
    left = {path.relative_to(run.folder).as_posix() for path in run.folder.rglob("*")}
    assert left == {"notes.txt", "tokenizer.json", "pairs", "pairs/train.jsonl"}


@pytest.fixture
def begun(tmp_path: Path) -> Run:
    """A run that was trained to update 97 of 200."""
    run = Run(tmp_path)
    run.training.mkdir()
    run.save_recipe(parse({"data": {"builtin": "phrasebook"}, "train": {"steps": 200}}, "test"))
    for step in (50, 97):
        run.checkpoint_path(step).touch()
    return run


def test_a_run_that_was_stopped_says_where(begun: Run) -> None:
    assert begun.unfinished() == "stopped at update 97 of 200"
    begun.save_info({"step": 50})  # it had ended there, and was continued
    assert begun.unfinished() == "stopped at update 97 of 200"
    begun.save_info({"step": 97, "stopped_early": True})
    assert begun.unfinished() == ""


def test_a_run_in_training_says_so(begun: Run) -> None:
    with begun.lock():
        assert begun.unfinished() == "in training now"
    assert begun.unfinished() == "stopped at update 97 of 200"


def test_a_run_without_checkpoints_is_unfinished_if_it_was_trained_here(begun: Run) -> None:
    for path in begun.checkpoints():
        path.unlink()
    assert begun.unfinished() == "stopped before its first checkpoint"
    begun.save_info({"step": 0})  # as an imported run has it
    assert begun.unfinished() == ""
    begun.info_path.unlink()
    begun.training.rmdir()
    assert begun.unfinished() == ""
    assert Run(begun.folder / "nowhere").unfinished() == ""
