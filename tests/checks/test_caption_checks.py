"""What `regard check` finds in images with captions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard.checks.caption_order import CaptionOrder, Row, RowShift
from regard.cli import main

WHO = ("dog", "child", "woman", "horse", "cyclist", "boat", "player", "bird", "climber", "crowd")
WHERE = ("snow", "beach", "street", "meadow", "river", "stadium", "kitchen", "forest", "bridge")
WHAT = ("runs", "waits", "jumps", "rests", "turns", "looks up", "plays", "hides", "falls")
WAYS = (
    "A {0} {2} near the {1} .",
    "There is a {0} at the {1} .",
    "Beside the {1} , a {0} {2} .",
    "One {0} and a {1} in the picture .",
)
Rows = list[tuple[str, ...]]


def described(images: int, each: int = 4, seed: int = 1) -> Rows:
    """Names of files, and captions that are about the same thing."""
    random = np.random.default_rng(seed)
    rows: Rows = []
    for number in range(images):
        things = [str(random.choice(words)) for words in (WHO, WHERE, WHAT)]
        things[0] = f"{random.choice(WHERE)} {things[0]}"
        ways = random.permutation(len(WAYS))[:each]
        rows += [(f"{number:04}.png", WAYS[way].format(*things)) for way in ways]
    return rows


def shifted(rows: Rows, by: int, first: int = 0) -> Rows:
    """The captions moved down by some rows, from a row on."""
    texts = [row[-1] for row in rows]
    moved = texts[:first] + texts[first - by : len(texts) - by]
    return [(row[0], text) for row, text in zip(rows, moved, strict=True)]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "photos"
    folder.mkdir()
    random = np.random.default_rng(3)
    for number in range(60):
        pixels = random.integers(0, 255, (16, 20, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:04}.png")
    return folder


Said = pytest.CaptureFixture[str]


def write(path: Path, rows: Sequence[Sequence[str]], header: str = "file\tcaption") -> Path:
    path.write_text("\n".join([header, *("\t".join(row) for row in rows)]) + "\n", "utf-8")
    return path


def report(capsys: Said, *words: object) -> dict[str, Any]:
    """The report as JSON; the command fails if and only if there is an error."""
    status: object = 0
    try:
        main(["check", *map(str, words), "--json"])
    except SystemExit as stop:
        status = stop.code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert status == int(any(each["severity"] == "error" for each in found["findings"]))
    return found


def named(found: dict[str, Any]) -> dict[str, str]:
    """The findings beside notes: code and severity."""
    return {
        each["code"]: each["severity"] for each in found["findings"] if each["severity"] != "note"
    }


def sentence(found: dict[str, Any], code: str) -> str:
    return next(each["sentence"] for each in found["findings"] if each["code"] == code)  # type: ignore[no-any-return]


def test_good_captions_get_facts_and_no_finding(photos: Path, tmp_path: Path, capsys: Said) -> None:
    table = write(tmp_path / "captions.tsv", described(60))
    found = report(capsys, photos, table)
    assert found["kind"] == "captions"
    assert found["findings"] == []
    facts = found["facts"]
    assert (facts["images"], facts["captions"], facts["language"]) == (60, 240, "en")
    assert facts["train takes"]
    assert facts["time"] > 0
    assert found["samples"][0]["texts"][0].endswith(".png")
    main(["check", str(photos), str(table)])
    assert "taken as     --images and --captions: captions.tsv has a column caption" in (
        capsys.readouterr().out
    )
    for more in ((), ("--set", "task=matching")):
        assert report(capsys, "--images", photos, "--captions", table, *more)["findings"] == []


MISTAKES: dict[str, tuple[Rows, str, str]] = {
    "an empty caption": ([*described(60)[:-1], ("0059.png", " ")], "empty", "warning"),
    "images that are not there": (described(90), "missing-images", "warning"),
    "images without a caption": (described(20), "without-caption", "warning"),
    "the same again": (described(60) * 2, "duplicates", "warning"),
    "one caption for many": (
        [
            (name, "An image .") if at % 3 else (name, text)
            for at, (name, text) in enumerate(described(60, 1))
        ],
        "same-caption",
        "warning",
    ),
    "names of files": ([(name, name) for name, _ in described(60)], "file-names", "error"),
    "names without an ending": (
        [(name, name.removesuffix(".png")) for name, _ in described(60)],
        "file-names",
        "error",
    ),
    "numbers": (
        [(name, str(at % 4)) for at, (name, _) in enumerate(described(60))],
        "numbers",
        "error",
    ),
    "labels": (
        [(name, ("a cat", "dog")[at % 2]) for at, (name, _) in enumerate(described(60, 1))],
        "labels",
        "warning",
    ),
    "a wrong encoding": (
        [(name, text.replace("A", "Ã©tÃ©")) for name, text in described(60)],
        "mojibake",
        "error",
    ),
    "entities": (
        [(name, text.replace("near", "&amp;<b>near</b>")) for name, text in described(60)],
        "markup",
        "warning",
    ),
    "long captions": ([(name, text * 8) for name, text in described(60)], "dropped", "error"),
    "other images": (
        [(described(60)[(7 * at) % 240][0], text) for at, (_, text) in enumerate(described(60))],
        "unrelated",
        "warning",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_named(
    mistake: str, photos: Path, tmp_path: Path, capsys: Said
) -> None:
    rows, code, severity = MISTAKES[mistake]
    if code == "unrelated":
        rows = sorted(rows, key=lambda row: row[0])
    found = report(capsys, photos, write(tmp_path / "a.tsv", rows))
    assert named(found).get(code) == severity, found["findings"]


def test_splits_that_mean_nothing_are_named(photos: Path, tmp_path: Path, capsys: Said) -> None:
    header = "file\tsplit\tcaption"
    for splits, severity in ((("train", "dev", "extra"), None), (("fold1", "fold2", "x"), "error")):
        rows = [
            (name, splits[(int(name[:4]) % 7 == 0) + (int(name[:4]) % 9 == 0)], text)
            for name, text in described(60)
        ]
        found = report(capsys, photos, write(tmp_path / "a.tsv", rows, header))
        assert named(found).get("splits") == severity
        assert splits[2] in sentence(found, "splits")


def test_copies_and_damage_of_images_are_named(photos: Path, tmp_path: Path, capsys: Said) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for path in photos.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    for name, other in (("0001.png", "0002.png"), ("0003.png", "0004.png")):
        (folder / name).write_bytes((photos / other).read_bytes())
    (folder / "0005.png").write_bytes(b"no image")
    rows = [(name, "valid" if int(name[:4]) % 2 else "train", text) for name, text in described(60)]
    found = report(capsys, folder, write(tmp_path / "a.tsv", rows, "file\tsplit\tcaption"))
    assert named(found) == {"damaged": "warning", "overlap": "warning"}


@pytest.mark.parametrize("by", [1, 2, -1])
@pytest.mark.parametrize("middle", [False, True])
def test_rows_out_of_step_are_seen_where_images_have_several_captions(
    by: int, middle: bool
) -> None:
    rows = described(150, 4, seed=by + 5)
    first = len(rows) // 2 if middle else max(0, -by)
    if by < 0:
        texts = [text for _, text in rows]
        texts = texts[:first] + texts[first - by :] + texts[:-by]
        moved = [(name, text) for (name, _), text in zip(rows, texts, strict=True)]
    else:
        moved = shifted(rows, by, first if middle else by)
    found = order_of(moved).shift()
    # Groups of four have as much in common with those that begin four rows later.
    assert found is not None
    assert (found.offset + by) % 4 == 0
    assert abs(found.first - first) < 12
    assert order_of(rows).shift() is None


def order_of(rows: Rows) -> CaptionOrder:
    return CaptionOrder([Row(int(name[:4]), "", text) for name, text in rows])


def test_names_of_files_show_a_shift_of_single_captions() -> None:
    random = np.random.default_rng(5)
    things = [(str(random.choice(WHO)), str(random.choice(WHERE))) for _ in range(300)]
    rows = [
        Row(at, f"{who}-{at}", f"a {who} near the {place}")
        for at, (who, place) in enumerate(things)
    ]
    assert CaptionOrder(rows).shift() is None
    texts = [row.text for row in rows]
    late = [
        Row(row.image, row.name, text)
        for row, text in zip(rows, [texts[-1], *texts[:-1]], strict=True)
    ]
    assert CaptionOrder(late).shift() == RowShift(-1, 0)


def test_nothing_is_claimed_without_words_in_common() -> None:
    random = np.random.default_rng(6)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    texts = [" ".join("".join(random.choice(letters, 6)) for _ in range(4)) for _ in range(400)]
    rows = [Row(at // 2, "", text) for at, text in enumerate(texts)]
    assert CaptionOrder(rows).shift() is None
    assert not CaptionOrder(rows).unrelated()


def test_a_shift_stops_a_training(photos: Path, tmp_path: Path, capsys: Said) -> None:
    for number in range(60, 150):
        pixels = np.random.default_rng(number).integers(0, 255, (16, 20, 3), np.uint8)
        (tmp_path / "more").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / "more" / f"{number:04}.png")
    table = write(tmp_path / "late.tsv", shifted(described(150), 1, 1))
    found = report(capsys, photos, tmp_path / "more", table)
    assert named(found) == {"shift": "error"}
    assert "begin 1 row late" in sentence(found, "shift")
    data = ["--images", str(photos), str(tmp_path / "more"), "--captions", str(table)]
    with pytest.raises(SystemExit) as stop:
        main(["train", *data, "--out", str(tmp_path / "run")])
    assert stop.value.code == 1
    assert "out of step" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "content", "flag"),
    [
        ("a.tsv", "file\tcaption\n0001.png\ta dog\n", "captions"),
        ("a.tsv", "0001.png\ta dog on a beach\n0002.png\ta cat and a dog\n", "captions"),
        ("a.csv", "image,label\n0001.png,dog\n", "labelled"),
        ("a.tsv", "0001.png\tdog\n0002.png\tcat\n", "labelled"),
        ("a.jsonl", '{"file_name": "0001.png", "text": "a dog"}\n', "captions"),
        ("a.json", '{"0001.png": ["a dog"]}', "captions"),
        ("a.txt", "0001.png#0\ta dog on a beach\n0001.png#1\ta brown dog\n", "captions"),
    ],
)
def test_what_describes_images_is_recognised(
    name: str, content: str, flag: str, photos: Path, tmp_path: Path
) -> None:
    from regard.checks.kinds import recognise

    path = tmp_path / name
    path.write_text(content)
    kind = recognise([photos, path])
    assert (kind.flag, kind.companion) == ("images", flag)
    assert kind.files([photos, path]) == {"images": (photos,), flag: (path,)}


def test_texts_beside_images_are_recognised(photos: Path, tmp_path: Path, capsys: Said) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, text in described(60, 1):
        (folder / name).write_bytes((photos / name).read_bytes())
        (folder / name).with_suffix(".txt").write_text(f"{text}\n")
    assert report(capsys, folder)["facts"]["captions"] == 60
    texts = tmp_path / "texts"
    texts.mkdir()
    for path in folder.glob("*.txt"):
        path.rename(texts / path.name)
    assert report(capsys, folder, texts)["facts"]["captions"] == 60
