"""regard import: a model that Hugging Face's transformers saved, as a run."""

from pathlib import Path


def import_run(folder: Path, /, *, out: Path) -> None:
    """Make a run of a model that Hugging Face's transformers saved.

    The model is a Marian, Pegasus, GPT-2, BERT, ViT or CLIP. The command reads config.json,
    model.safetensors and tokenizer.json, or source.spm, target.spm and vocab.json as in OPUS-MT's
    models; of models that see images, preprocessor_config.json, too. It downloads nothing and runs
    no code of the model.

    Parameters
    ----------
    folder
        The folder that transformers saved.
    out
        The run folder to write; it must be new or empty.
    """
    from regard.cli.checks import check_new_folder
    from regard.cli.display import say
    from regard.errors import RunError

    if not folder.is_dir():
        raise RunError(f"{folder}: no such folder; name one that transformers saved")
    if not (folder / "config.json").is_file():
        raise RunError(f"{folder}: has no config.json; name a folder that transformers saved")
    check_new_folder(out)
    from regard.engines import huggingface
    from regard.engines.exchange import in_words

    try:
        recipe = huggingface.import_run(folder, out)
    except OSError as error:
        raise RunError(
            f"{out}: cannot be written ({error.strerror}); nothing is left behind, "
            "put that right and run the same command"
        ) from None
    say(f"Wrote {out}, a run for {recipe.task}: {in_words(recipe)}.")
