"""A translator as a package that LibreTranslate and Argos Translate install.

A package is a zip archive of one folder: the model for CTranslate2, a SentencePiece model that cuts
both languages, and who translates what.
"""

import json
import zipfile
from pathlib import Path

from regard.engines.conversion import convert
from regard.engines.sentencepiece_model import sentencepiece_model
from regard.errors import RequestError
from regard.files import replacing, scratch_folder
from regard.run import Run
from regard.text.languages import language_name

SUFFIX = ".argosmodel"
# What their programs read of the folder that CTranslate2's model is in.
MODEL_FILES = (
    *("model.bin", "config.json", "shared_vocabulary.json"),
    *("source_vocabulary.json", "target_vocabulary.json"),
)
VERSION = "1.0"
CARD = """# {source} → {target}

A translator that was trained with regard. Install it:

    argospm install {name}

or put it into LibreTranslate's folder of packages. These programs search with beams and a length
penalty of their own, so that a translation may differ from regard's.
"""


def export_package(
    folder: Path, codes: tuple[str, str] | None, path: Path, int8: bool = False
) -> None:
    """Write the run in `folder`, which translates these languages, to the file `path`."""
    run = Run.open(folder)
    if codes is None:
        raise RequestError(
            f"{folder}: does not say which languages it translates, which a package has to; train "
            "it with --languages"
        )
    tokenizers = run.tokenizers()
    if not tokenizers.joint:
        raise RequestError(
            f"{folder}: has a vocabulary for each language, and a package has one for both; train "
            "it with tokenizer.joint = true"
        )
    pieces = sentencepiece_model(tokenizers.source)
    source, target = (code.replace("_", "-") for code in codes)
    metadata = {
        "package_version": VERSION,
        "argos_version": "1.9",
        "from_code": source,
        "from_name": language_name(source),
        "to_code": target,
        "to_name": language_name(target),
        "type": "translate",
    }
    name = f"translate-{source}_{target}-{VERSION.replace('.', '_')}"
    names = {"source": metadata["from_name"], "target": metadata["to_name"], "name": path.name}
    with (
        scratch_folder(path.parent) as scratch,
        replacing(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as package,
    ):
        convert(folder, scratch / "model", int8)
        for file in (scratch / "model" / each for each in MODEL_FILES):
            if file.is_file():
                package.write(file, f"{name}/model/{file.name}")
        package.writestr(f"{name}/sentencepiece.model", pieces)
        package.writestr(f"{name}/metadata.json", json.dumps(metadata, indent=1))
        package.writestr(f"{name}/README.md", CARD.format(**names))
