"""Checks a training before PyTorch is loaded: the folder, the run it starts from, and the files."""

from importlib.util import find_spec

from regard import tasks
from regard.configs.parameters import num_parameters
from regard.errors import RecipeError, RunError
from regard.made_with import settings_by_name
from regard.recipe import Recipe, parse
from regard.run import Run

# Settings that name the data.
DATA = frozenset({"data.train", "data.builtin", "data.imported"})

SMALLEST = {"inputs": 1, "outputs": 1}


def checked(recipe: Recipe, run: Run) -> Recipe:
    """The recipe as the run trains it, with the model of the run it starts from and with paths that
    mean the same from every folder. Whatever is wrong with it or its files is an error here.
    """
    recipe = with_model_of(recipe, run).resolved()
    if recipe.train.from_run and not run.checkpoints():
        check_weights(Run.open(recipe.train.from_run))
    check_programs(recipe)
    if not run.has_data():
        recipe.check_files()
    check_folder(run, recipe)
    if not run.checkpoints():
        # With a vocabulary of 1: how large it will be is not known yet.
        run.require_space(checkpoint_bytes(recipe, num_parameters(recipe, SMALLEST)))
    return recipe


def checkpoint_bytes(recipe: Recipe, parameters: int) -> int:
    """The space for a run's checkpoints: weights and two moments, with room to write the next."""
    return 2 * (recipe.train.keep + 1) * 12 * parameters


def check_weights(run: Run) -> None:
    if not run.model_path.exists():
        raise RunError(f"{run.folder}: no trained weights yet; `regard train` writes them")


def check_programs(recipe: Recipe) -> None:
    if find_spec("torch") is None:
        raise ModuleNotFoundError("torch is not installed", name="torch")
    if recipe.train.tensorboard and find_spec("tensorboard") is None:
        raise RecipeError(
            "train.tensorboard: the package tensorboard is missing; "
            "install it with `pip install tensorboard`, or leave the setting out"
        )


def with_model_of(recipe: Recipe, run: Run) -> Recipe:
    """The recipe with the model of the run that it starts from, except for its own settings. A
    started run has this model in its own recipe already.
    """
    if not recipe.train.from_run:
        return recipe
    started = run.recipe_path.exists()
    other = (run if started else Run.open(recipe.train.from_run)).recipe()
    values = recipe.model_dump(mode="json", exclude_none=True)
    for name in recipe.shape:
        section, _, key = name.partition(".")
        there, here = getattr(other, section, None), getattr(recipe, section)
        if there is None:
            continue
        taken, given = there.model_dump(mode="json", exclude_none=True), here.model_fields_set
        given = given if section in recipe.model_fields_set else set()
        if key:
            if key in taken and key not in given:
                values[section][key] = taken[key]
            continue
        kind = taken.get("kind")
        if "kind" in given and here.kind != kind:
            continue
        if type(there) not in {*recipe.kinds(section).values(), type(here)}:
            raise RecipeError(
                f"train.from_run {recipe.train.from_run}: a model of kind {kind} for another "
                f"task cannot become one for {recipe.task}"
            )
        values[section] = taken | here.model_dump(mode="json", include=given)
    return parse(values, recipe.train.from_run)


def finished(run: Run, recipe: Recipe) -> str:
    """A sentence that says why nothing is left to do; "" if something is."""
    info, train = run.info(), recipe.train
    step, stale = info.get("step", 0), info.get("stale_validations", 0)
    if step >= train.steps:
        way = "raise train.steps to continue"
    elif info.get("stopped_early") and 0 < train.patience <= stale:
        way = (
            f"it stopped early after {stale} validations without improvement, "
            "raise train.patience to continue"
        )
    else:
        return ""
    return (
        f"{run.folder} is finished (step {step:,}); {way}, or choose another --out to start again"
    )


def check_folder(run: Run, recipe: Recipe) -> None:
    """Check that the folder can be made, or that it holds a started run of the same experiment."""
    run.check_place()
    if run.recipe_path.exists():
        check_experiment(run, run.recipe(), recipe)
    elif run.model_path.exists():
        raise RunError(f"{run.folder}: has weights but no recipe.toml; choose another --out")
    if run.info() and not run.checkpoints() and not finished(run, recipe):
        raise RunError(f"{run.folder}: finished and without checkpoints; choose another --out")


def check_experiment(run: Run, started: Recipe, recipe: Recipe) -> None:
    """Check that a recipe differs from that of a started run only where it may."""
    if started.task != recipe.task:
        raise RunError(
            f"{run.folder}: holds a run for {started.task}, not {recipe.task}; choose another --out"
        )
    old, new = settings_by_name(started), settings_by_name(recipe)
    changed = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    changed -= recipe.changeable_settings()
    if changed & DATA:
        raise RunError(
            f"{run.folder}: holds another run, which learned from {data_of(started)}, and here the "
            f"data is {data_of(recipe)}; choose another --out"
        )
    for key in sorted(changed):
        raise RunError(
            f"{run.folder}: holds a run with {key} = {old.get(key)}, here it is "
            f"{new.get(key)}; choose another --out, or the same settings to resume it"
        )


def data_of(recipe: Recipe) -> str:
    """The data of a recipe in words."""
    data = tasks.get(recipe.task).describe(recipe, None).data or "its own data"
    return data if isinstance(data, str) else " and ".join(data)
