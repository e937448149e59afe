"""CTranslate2 finds what PyTorch finds, and is not used where it would not."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.engines import Stopped, cache, conversion, never
from regard.engines.native import Native
from regard.errors import RequestError, RunError
from regard.recipe import parse
from regard.run import Run
from regard.tasks.translation.translator import Translator
from regard.text.tokenizer import END, PAD, START, UNKNOWN, Tokenizer, Tokenizers
from regard.weights import build, load_model, save_model, weights

pytest.importorskip("ctranslate2", reason="needs the extra `fast`")
from regard.engines.ctranslate2 import CTranslate2

SENTENCES = ["the cat sleeps", "a dog eats the bone", "we like big red apples", "no"]
MODEL = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "d_model": 32,
    "d_ff": 48,
    "num_heads": 4,
    "dropout": 0.0,
}


def make_run(folder: Path, choices: dict[str, Any], ending: float = 2.0, seed: int = 1) -> Path:
    """A run of random weights. The larger `ending`, the sooner an output ends: the last bias makes
    one feature large, and END looks for it.
    """
    separate = choices.get("tied_embeddings", "all") != "all"
    recipe = parse(
        {
            "data": {"train": ["a.x", "a.y"], "max_length": 24},
            "tokenizer": {"kind": "character", "vocabulary_size": 300, "joint": not separate},
            "model": {**MODEL, **choices},
            "decode": {"beam_size": 4, "max_length_ratio": 1.0},
        },
        "test",
    )
    source = Tokenizer.train(SENTENCES, kind="character", vocabulary_size=300)
    target = Tokenizer.train([*SENTENCES, "xyz"], kind="character", vocabulary_size=300)
    tokenizers = Tokenizers(source, target if separate else source)
    torch.manual_seed(seed)
    sizes = {"inputs": len(tokenizers.source), "outputs": len(tokenizers.target)}
    model: Any = build(recipe, sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.1 * torch.randn_like(parameter)
        model.target_embedding.weight *= 3
        if model.output.weight is not model.target_embedding.weight:
            model.output.weight *= 3
        model.output.weight[END, 0] = ending
        last = model.decoder[-1].feed_forward.outer
        assert isinstance(last, nn.Linear)
        last.bias[0] = 6
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(folder)
    run.save_recipe(recipe)
    run.save_tokenizers(tokenizers)
    save_model(run, weights(model), seed, sizes)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("engine") / "run", {})


@pytest.fixture
def copy(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the run, and a cache that has no conversion of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(shutil.copytree(run, tmp_path / "run"))


def some_sources(vocabulary: int, count: int = 24) -> list[list[int]]:
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(1, 20, (count,), generator=generator).tolist()
    return [torch.randint(4, vocabulary, (n,), generator=generator).tolist() for n in lengths]


class Within(nn.Module):
    """A model that gives special pieces no probability, as CTranslate2's search does. A trained
    model gives them nearly none, so this makes no difference.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.start, self.longest = model.start, model.longest

    def step(self, tokens: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        logits, state = self.model.step(tokens, state)
        logits[:, [PAD, UNKNOWN, START]] = float("-inf")
        return logits, state


def load(folder: Path) -> tuple[Any, list[list[int]]]:
    """The model of a run and sources for it."""
    generator = torch.Generator().manual_seed(5)
    tokenizers = Run(folder).tokenizers()
    lengths = torch.randint(1, 20, (24,), generator=generator).tolist()
    sources = [
        torch.randint(4, len(tokenizers.source), (length,), generator=generator).tolist()
        for length in lengths
    ]
    return load_model(Run(folder)), sources


@torch.no_grad()
def own_scores(model: Any, source: list[int], found: Hypothesis) -> list[float]:
    """The model's own log-probability of each token."""
    read = torch.tensor([[*source, END]])
    said = [*found.tokens, END] if found.finished else found.tokens
    logits = model(
        read, torch.ones_like(read, dtype=torch.bool), torch.tensor([[START, *said[:-1]]])
    )
    scores: list[float] = logits[0].log_softmax(-1)[range(len(said)), said].tolist()
    return scores


LEARNED, ROTARY = {"positions": "learned", "max_positions": 30}, {"positions": "rotary"}
# Choices of the recipe, and an `ending` at which some outputs end and some are cut off.
CHOICES: list[tuple[dict[str, Any], float]] = [
    ({}, 2.0),
    ({"tied_embeddings": "output", "activation": "quick_gelu"}, 2.0),
    ({"tied_embeddings": "none", "norm": "pre", "activation": "gelu", **LEARNED}, 1.0),
    ({"tied_embeddings": "none", "norm": "pre", "normalisation": "rms", **ROTARY}, 1.1),
    ({"normalisation": "rms", "activation": "swiglu", "decoder_layers": 1, "num_heads": 2}, 2.0),
]
SEARCHES = [
    Search(beam_size=4, n_best=4, max_length_ratio=1.0),
    Search(beam_size=4, n_best=2, max_length_ratio=0.1, length_penalty=0.5),
    Search(beam_size=3, n_best=3, length_penalty=0.0),
    Search(beam_size=1, max_length_ratio=0.1),
]


@pytest.mark.parametrize(("choices", "ending"), CHOICES, ids=str)
def test_the_same_as_pytorch(choices: dict[str, Any], ending: float, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", choices, ending)
    model, sources = load(folder)
    native, fast = Native(Within(model)), CTranslate2.of_run(folder)  # type: ignore[arg-type]
    prefixes: list[list[int]] = [[] for _ in sources]
    outputs = []
    for search in SEARCHES:
        expected = native.search(sources, prefixes, search)
        found = fast.search(sources, prefixes, search)
        for source, ours, theirs in zip(sources, found, expected, strict=True):
            assert {(*one.tokens, one.finished) for one in ours} == {
                (*one.tokens, one.finished) for one in theirs
            }
            assert len(ours) == search.n_best
            assert ours == sorted(ours, key=lambda one: (not one.finished, -one.score))
            for one in ours:
                scores = own_scores(model, source, one)
                assert one.log_probabilities == pytest.approx(scores, abs=1e-4)
                score = sum(scores) / len(scores) ** search.length_penalty
                assert one.score == pytest.approx(score, abs=1e-4)
        assert fast.best(sources, prefixes, search) == [each[0].tokens for each in expected]
        outputs += [one for each in expected for one in each]
    assert sum(not one.finished for one in outputs) > 20, "hardly a search reached its limit"
    assert len({len(one.tokens) for one in outputs if one.finished}) > 5, "all of similar length"


def test_a_sentence_does_not_depend_on_its_neighbours(run: Path) -> None:
    _, sources = load(run)
    fast = CTranslate2.of_run(run)
    search = Search(beam_size=4, n_best=2, max_length_ratio=0.1)
    together = fast.search(sources, [[]] * len(sources), search)
    for source, expected in zip(sources, together, strict=True):
        (found,) = fast.search([source], [[]], search)
        assert [each.tokens for each in found] == [each.tokens for each in expected]
    assert fast.search([], [], search) == []
    assert fast.best([], [], search) == []


def test_int8_is_near(tmp_path: Path) -> None:
    # How close it is depends on the processor; fewer and narrower layers of random weights are far
    # off where products of eight bits saturate.
    choices = {"d_model": 128, "d_ff": 128, "encoder_layers": 1, "decoder_layers": 1, "norm": "pre"}
    run = make_run(tmp_path / "run", choices)
    model, sources = load(run)
    near = CTranslate2.of_run(run, int8=True)
    found = near.search(sources, [[] for _ in sources], Search(beam_size=1))
    differences = [
        abs(theirs - ours)
        for source, (best,) in zip(sources, found, strict=True)
        for theirs, ours in zip(
            best.log_probabilities, own_scores(model, source, best), strict=True
        )
    ]
    assert 1e-4 < sum(differences) / len(differences) < 0.1


class Asked:
    """An engine that only remembers that it was asked."""

    def __init__(self) -> None:
        self.searches: list[Search] = []

    def search(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped = never,
    ) -> list[list[Hypothesis]]:
        self.searches.append(search)
        return [[Hypothesis([7], [-1.0, -1.0], -1.0, True)] for _ in sources]

    def best(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped = never,
    ) -> list[list[int]]:
        self.searches.append(search)
        return [[7] for _ in sources]


@pytest.mark.parametrize(
    ("search", "prefix", "part"),
    [
        (Search(temperature=1.0), [], "draw at random"),
        (Search(min_length=3), [], "minimum length"),
        (Search(no_repeat_ngram=2), [], "forbid repetitions"),
        (Search(), [9], "begin with a prefix"),
        (Search(beam_size=200), [], "keep 200 hypotheses"),
        (Search(max_length_ratio=100), [], "go beyond 4096 pieces"),
    ],
)
def test_what_it_cannot_do_is_left_to_another_or_refused(
    run: Path, search: Search, prefix: list[int], part: str
) -> None:
    sources = [[5] * 60]
    other = Asked()
    fast = CTranslate2.of_run(run, otherwise=lambda: other)
    assert fast.best(sources, [prefix], search) == [[7]]
    assert fast.search(sources, [prefix], search)[0][0].tokens == [7]
    assert other.searches == [search, search]
    alone = CTranslate2.of_run(run)
    for ask in (alone.best, alone.search):
        with pytest.raises(RequestError, match=part) as raised:
            ask(sources, [prefix], search)
        assert "--engine torch" in str(raised.value)


def test_converted_once_and_again_when_the_run_has_changed(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = CTranslate2.of_run(copy).best([[5, 6, 7]], [[]], Search())
    with monkeypatch.context() as patch:
        patch.setattr(conversion, "convert", lambda *_: pytest.fail("converted again"))
        assert CTranslate2.of_run(copy).best([[5, 6, 7]], [[]], Search()) == before
    make_run(copy, {}, seed=2)
    assert CTranslate2.of_run(copy).best([[5, 6, 7]], [[]], Search()) != before


def test_an_interrupted_conversion_leaves_nothing(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "save_tokenizers", stop)
    with pytest.raises(KeyboardInterrupt):
        CTranslate2.of_run(copy)
    assert list(cache.home().iterdir()) == []


def test_a_translator_asks_pytorch_for_the_rest(copy: Path) -> None:
    auto = Translator.load(copy, engine="auto")
    plain = Translator.load(copy)
    assert isinstance(auto.engine, CTranslate2)
    assert isinstance(plain.engine, Native)
    assert auto.search == plain.search
    assert auto.limit == plain.limit
    assert auto.translate(["", ""]) == ["", ""]
    drawn = Search(temperature=0.9, n_best=2, seed=4)
    assert auto.translations(SENTENCES, drawn) == plain.translations(SENTENCES, drawn)
    assert auto.align(SENTENCES[0], "xy") == plain.align(SENTENCES[0], "xy")
    with pytest.raises(RequestError, match="draw at random"):
        Translator.load(copy, engine="ctranslate2").translations(SENTENCES, drawn)


def test_where_it_cannot_be_used(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(Translator.load(copy, "cpu", "auto").engine, CTranslate2)
    with pytest.raises(RequestError, match="runs on the CPU, not on cuda"):
        Translator.load(copy, "cuda", "ctranslate2")
    with pytest.raises(RequestError, match="no int8"):
        Translator.load(copy, int8=True)
    monkeypatch.setattr("regard.tasks.translation.loading.graphics_cards", lambda: 1)
    assert isinstance(Translator.load(copy, "auto", "auto").engine, Native)
    assert isinstance(Translator.load(copy, "cpu", "auto").engine, CTranslate2)
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert isinstance(Translator.load(copy, "cpu", "auto").engine, Native)
    with pytest.raises(
        RequestError, match=r"cannot be loaded .* install it with `pip install ctranslate2`"
    ):
        Translator.load(copy, "cpu", "ctranslate2")


@pytest.mark.parametrize("engine", ["auto", "ctranslate2"])
def test_a_folder_that_is_no_run_gets_the_usual_message(
    engine: Any, copy: Path, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match="no such run folder"):
        Translator.load(tmp_path / "nowhere", engine=engine)
    with pytest.raises(RunError, match="not a run folder"):
        Translator.load(tmp_path, engine=engine)
    (copy / "model.safetensors").unlink()
    with pytest.raises(RunError, match="no trained weights yet"):
        Translator.load(copy, engine=engine)


def test_a_model_it_does_not_know(copy: Path) -> None:
    recipe = (copy / "recipe.toml").read_text("utf-8")
    start, end = recipe.index("[model]"), recipe.index("[train]")
    (copy / "recipe.toml").write_text(
        f'{recipe[:start]}[model]\nkind = "recurrent"\nd_model = 8\n{recipe[end:]}'
    )
    with pytest.raises(RequestError, match='no model of kind "recurrent"'):
        Translator.load(copy, engine="ctranslate2")


def test_pytorch_is_not_loaded(copy: Path) -> None:
    CTranslate2.of_run(copy)
    text = f"""
import json, sys
from regard import Translator
translator = Translator.load({str(copy)!r}, "auto", "auto")
print(json.dumps(translator.translate(["the cat"])))
assert "torch" not in sys.modules, "torch"
"""
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == Translator.load(copy).translate(["the cat"])
