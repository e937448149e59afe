"""Every setting that a recipe can have is described, as `regard show --settings` prints it."""

import json

import pytest
from pydantic import Field

from regard import tasks
from regard.cli import main
from regard.recipe import Recipe, Section
from regard.recipe_settings import ORDER, settings_of


@pytest.mark.parametrize("task", tasks.TASKS)
def test_every_setting_has_a_sentence(task: str) -> None:
    found = settings_of(tasks.get(task).recipe)
    for each in found:
        assert each.description.endswith("."), each.shown_name
        assert "\n" not in each.description, each.shown_name
        assert 10 < len(each.description) < 100, each.shown_name
    names = [each.shown_name for each in found]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("task", tasks.TASKS)
def test_every_model_of_a_task_has_its_settings(task: str) -> None:
    schema = tasks.get(task).recipe
    found = settings_of(schema)
    assert schema.models
    for kind, config in schema.models.items():
        own = {each.name for each in found if each.kind in ("", kind)}
        assert {f"model.{name}" for name in config.model_fields} <= own


@pytest.mark.parametrize("task", tasks.TASKS)
def test_a_sentence_names_the_values_that_are_allowed(task: str) -> None:
    schema = tasks.get(task).recipe
    found = {each.name: each for each in settings_of(schema)}
    assert found["train.schedule"].shown_description.endswith(
        " One of inverse_sqrt, cosine, linear, constant."
    )
    assert found["train.metric"].choices == schema.metrics
    assert found["task"].shown_description == "What the model is for."


@pytest.mark.parametrize("task", tasks.TASKS)
def test_sections_are_in_the_order_of_a_written_recipe(task: str) -> None:
    names = [each.name for each in settings_of(tasks.get(task).recipe)]
    assert names[:2] == ["task", "seed"]
    places = [ORDER.index(name.partition(".")[0]) for name in names[2:]]
    assert places == sorted(places)


class Rows(Section):
    count: int = Field(ge=1, description="Rows to learn from.")


class OwnRecipe(Recipe):
    rows: Rows


def test_a_recipe_of_ones_own_is_listed_too() -> None:
    (last,) = [each for each in settings_of(OwnRecipe) if each.name == "rows.count"]
    assert (last.shown_default, last.shown_description) == ("required", "Rows to learn from.")


def test_the_command_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    main(["show", "--settings", "classification"])
    printed = capsys.readouterr().out
    assert "head.pooling" in printed
    assert "decode.beam_size" not in printed
    main(["show", "--settings", "translation", "--json"])
    found = {(each["name"], each["kind"]): each for each in json.loads(capsys.readouterr().out)}
    assert found["decode.beam_size", ""]["default"] == 5
    assert found["model.d_model", "recurrent"]["default"] == 1000


def test_a_task_that_is_not_there_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["--settings", "clasification"], "did you mean classification?"),
        ([], "name a run folder or a recipe file, or a task with --settings TASK"),
        (["run", "--settings", "tagging"], "name a run folder or a recipe file, or a task"),
    ):
        with pytest.raises(SystemExit) as error:
            main(["show", *words])
        assert error.value.code == 1
        assert said in capsys.readouterr().err
