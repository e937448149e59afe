"""What every contender gets: the same ids in the same batches, and the same initial weights."""

import gzip
import hashlib
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from benchmarks.process import ROOT
from benchmarks.sizes import SIZES
from regard.configs.work import Work
from regard.data import phrasebook
from regard.data.batches import Batches
from regard.models.transformer import Transformer
from regard.run import Run
from regard.tasks.sections import SampledTraining
from regard.tasks.translation import pairs as prepare
from regard.tasks.translation.recipe import PairSection, PairTokenizerSection, TranslationRecipe
from regard.training.loop import TrainingData
from regard.training.team import Team

MULTI30K = Path(os.environ.get("REGARD_DATA", ROOT.parent / "shared" / "data")) / "multi30k"

# The rate is small and constant, since only the work of an update matters here.
TRAIN = SampledTraining(
    batch_tokens=4096,
    learning_rate=1e-4,
    schedule="constant",
    warmup_steps=0,
    clip_norm=0,
    label_smoothing=0.1,
    adam_betas=(0.9, 0.98),
    adam_epsilon=1e-9,
    precision="float32",
    device="cpu",
)
VOCABULARY = 8000


def default_pairs() -> list[Path]:
    """The files of Multi30k if they exist, otherwise none, which means the built-in corpus."""
    files = [MULTI30K / "train.en.gz", MULTI30K / "train.de.gz"]
    return files if all(file.exists() for file in files) else []


def prepare_pairs(pairs: Sequence[Path], work: Path) -> Path:
    """A folder with a recipe, a tokenizer and the ids of the pairs; it is made only once."""
    data = (
        PairSection(train=tuple(str(path.resolve()) for path in pairs))
        if pairs
        else PairSection(builtin="phrasebook")
    )
    name = "-".join(path.name for path in pairs) or "phrasebook"
    digest = hashlib.sha256(data.model_dump_json().encode()).hexdigest()[:8]
    run = Run(work / f"{name}-{digest}")
    if (run.training / "data" / "valid.jsonl").exists():
        return run.folder
    run.training.mkdir(parents=True, exist_ok=True)
    recipe = TranslationRecipe(
        data=data,
        tokenizer=PairTokenizerSection(vocabulary_size=VOCABULARY),
        model=SIZES["tiny"],
        train=TRAIN,
    )
    split = prepare.Split.of(recipe, prepare.survey(prepare.corpus(data)).pairs)
    tokenizers = prepare.learn_tokenizers(recipe, split)
    run.save_recipe(recipe)
    run.save_tokenizers(tokenizers)
    prepare.encode_pairs(run, recipe, split, tokenizers)
    return run.folder


class Workload:
    """A prepared folder, opened by each process for itself."""

    def __init__(self, folder: Path) -> None:
        run = Run.open(folder)
        tokenizers = run.tokenizers()
        prepared = prepare.load_prepared(run, tokenizers)
        if prepared is None:
            raise SystemExit(f"{folder}: not complete; delete it and start again")
        self.recipe = run.recipe()
        self.ids = prepared.train
        self.vocabulary = len(tokenizers.source)

    def data(self, members: Team) -> TrainingData:
        lengths = self.ids.source_lengths, self.ids.target_lengths
        return TrainingData(self.ids, Batches(*lengths, TRAIN.batch_tokens, seed=1), members)

    def first_model(self, size: str) -> Transformer:
        """regard's model with initial weights that are the same in every process."""
        torch.manual_seed(1)
        return Transformer(SIZES[size], self.vocabulary, self.vocabulary)

    def flops_per_token(self, size: str) -> float:
        """The work per token, for source and target tokens in the proportions of the corpus."""
        sides = [
            np.array(each, float) for each in (self.ids.source_lengths, self.ids.target_lengths)
        ]
        tokens = [float(lengths.sum()) for lengths in sides]
        # Attention depends on the mean length over tokens, not over sentences.
        lengths = [float((lengths**2).sum() / lengths.sum()) for lengths in sides]
        work = Work(*tokens, *lengths)
        return SIZES[size].training_flops(self.vocabulary, work) / sum(tokens)


def held_out_sentences(run: Run, file: Path | None, count: int) -> list[str]:
    """Sources that the run has not been trained on."""
    data = run.recipe().data
    if file is None and data.builtin:
        return [pair.source for pair in islice(phrasebook.pairs("test", data.builtin), count)]
    if file is None:
        language = data.languages[0] if data.languages else "en"
        file = MULTI30K / f"test_2016_flickr.{language}.gz"
    if not file.exists():
        raise SystemExit(f"{file}: no such file; name sentences to translate with --sentences")
    content = file.read_bytes()
    text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode()
    return text.split("\n")[:count]
