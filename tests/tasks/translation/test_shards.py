"""Large files in shards. Workers are plain calls here; tests/tasks/translation/test_on_ray.py has
real ones.
"""

from pathlib import Path

import pytest

from regard.decode.search import Search
from regard.errors import RunError
from regard.run import Run
from regard.tasks.translation import shards
from regard.tasks.translation.shards import Job, Shard
from regard.tasks.translation.translator import Translator

TEXTS = ["1 2 3", "", "4 5\u2028 6", "%s 7", "8 9 0", "1"] * 5


def job_of(folder: Path, beam_size: int = 2) -> Job:
    return Job.of(Run(folder), Search(beam_size=beam_size), "text", "torch", int8=False)


def cut(texts: list[str], folder: Path, job: Job) -> list[Shard]:
    folder.mkdir(exist_ok=True)
    return list(shards.cut(texts, folder, job, shard_lines=7))


def test_the_shards_of_a_file_become_what_one_process_writes(
    finished: Path, tmp_path: Path
) -> None:
    job = job_of(finished)
    translator = Job.read(job.text()).translator()
    every = cut(TEXTS, tmp_path / "parts", job)
    assert [each.lines for each in every] == [7, 7, 7, 7, 2]
    for each in reversed(every):
        shards.translate_shard(translator, job, each.source)
    once = Translator.load(finished).translate(TEXTS, beam_size=2)
    assert list(shards.outputs(every)) == once
    shards.remove(tmp_path / "parts")
    assert not (tmp_path / "parts").exists()


def test_finished_shards_are_found_again_and_only_they(finished: Path, tmp_path: Path) -> None:
    folder, job = tmp_path / "parts", job_of(finished)
    first = cut(TEXTS, folder, job)[0]
    first.output.write_text("done\n")
    assert [each.is_done() for each in cut(TEXTS, folder, job)] == [True, *[False] * 4]
    assert not any(each.is_done() for each in cut(["0", *TEXTS[1:]], folder, job)[:1])
    assert not any(each.is_done() for each in cut(TEXTS, folder, job_of(finished, beam_size=3)))


def test_a_shard_that_is_done_is_not_translated_again(finished: Path, tmp_path: Path) -> None:
    job = job_of(finished)
    first = cut(TEXTS, tmp_path / "parts", job)[0]
    first.output.write_text("done\n")
    shards.translate_shard(None, job, first.source)  # type: ignore[arg-type]
    assert first.output.read_text() == "done\n"


def test_a_run_that_changes_meanwhile_is_refused(copy: Path) -> None:
    job = job_of(copy)
    recipe = copy / "recipe.toml"
    recipe.write_text(recipe.read_text() + "\n# another\n")
    with pytest.raises(RunError, match="has changed since the translation began"):
        job.translator()


def test_what_others_put_into_the_folder_stays(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    cut(TEXTS, folder, job_of(finished))
    (folder / "notes.txt").write_text("mine")
    shards.remove(folder)
    assert [each.name for each in folder.iterdir()] == ["notes.txt"]
