"""Which images there are, what a table says of them, and which are held out."""

import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.data.image_cache import build
from regard.data.image_files import ImageList, check_classes, find_images, joined
from regard.data.image_names import ImageNames
from regard.data.image_split import ImageSplit, divided
from regard.data.image_tables import labelled
from regard.errors import DataError


def draw(path: Path, value: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((4, 4), value, np.uint8)
    with path.open("wb") as file:
        Image.fromarray(pixels).save(file, "PNG")
    return path


def drawn(root: Path, names: Sequence[str]) -> ImageList:
    for value, name in enumerate(names):
        draw(root / name, value)
    return find_images([root])


def split_of(images: ImageList, folder: Path, share: float = 0.25) -> ImageSplit:
    return divided(images, build(images, folder, 4, "crop", 1), seed=1, share=share, most=1000)


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    images = drawn(tmp_path, ["dogs/b.png", "cats/deep/a.png", "cats/z.PNG", "ants/1.JPG"])
    assert images.names == ["ants/1.JPG", "cats/deep/a.png", "cats/z.PNG", "dogs/b.png"]
    assert images.labels == ["ants", "cats", "cats", "dogs"]
    assert images.classes == ["ants", "cats", "dogs"]
    assert images.splits == []
    assert check_classes(images) == ["2 classes (ants, dogs) of one image only"]


def test_splits_are_recognised(tmp_path: Path) -> None:
    images = drawn(tmp_path, ["Train/a/1.png", "Train/b/2.png", "val/a/3.png", "test/b/4.png"])
    assert images.splits == ["train", "train", "test", "valid"]
    assert images.labels == ["a", "b", "b", "a"]
    draw(tmp_path / "5.png")
    assert any("5.png" in remark for remark in find_images([tmp_path]).remarks)


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    images = drawn(tmp_path, ["train/1.png", "car/2.png", "test/3.png"])
    assert images.labels == ["car", "test", "train"]
    assert images.splits == []


def test_images_without_labels(tmp_path: Path) -> None:
    images = drawn(tmp_path, ["b.png", "a.png"])
    assert images.names == ["a.png", "b.png"]
    assert images.labels == []
    with pytest.raises(DataError, match="no labels"):
        check_classes(images)


def test_what_programs_leave_is_ignored_and_the_rest_counted(tmp_path: Path) -> None:
    names = ["a/1.png", "b/2.png"]
    left = [
        *(".ipynb_checkpoints/1.png", "a/.DS_Store", "a/._1.png", "__MACOSX/a/1.png"),
        *("a/Thumbs.db", ".git/x.png", "b/.ipynb_checkpoints/2.png"),
    ]
    images = drawn(tmp_path, [*names, *left])
    assert images.names == names
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    remarks = " ".join(find_images([tmp_path]).remarks)
    assert "1 other file is ignored (1 .txt)" in remarks
    assert "4 hidden folders are ignored" in remarks
    assert "1 folder (empty/inner) without images" in remarks


def test_links_and_pipes(tmp_path: Path) -> None:
    draw(tmp_path / "a" / "1.png")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "2.png").symlink_to(tmp_path / "a" / "1.png")
    (tmp_path / "a" / "nowhere.png").symlink_to(tmp_path / "gone.png")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    os.mkfifo(tmp_path / "a" / "pipe.png")
    images = find_images([tmp_path])
    assert images.names == ["a/1.png", "a/2.png", "a/nowhere.png"]
    with pytest.raises(DataError, match="no such file"):
        images.read(2)


def test_what_an_image_is_shows_in_its_ending_or_its_content(tmp_path: Path) -> None:
    images = drawn(tmp_path, ["a/noending", "a/scan.0001", "a/x.jpeg", "a/y.heic"])
    assert images.names == ["a/noending", "a/scan.0001", "a/x.jpeg", "a/y.heic"]
    (tmp_path / "a" / "README").write_text("no image")
    assert len(find_images([tmp_path])) == 4


def test_names_that_are_no_text(tmp_path: Path) -> None:
    names = [b"a\xff", b"a\xfe", b"b\nc", b"d"]
    for value, name in enumerate(names):
        draw(Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name + b"/1.png")), value)
    images = find_images([tmp_path])
    assert images.classes == ["a\\xfe", "a\\xff", "b\\nc", "d"]
    assert all(name.isprintable() for name in images.names)
    assert all(images.read(each) for each in range(4))
    images.fingerprint()


@pytest.mark.parametrize(
    ("name", "words"),
    [("none", "no such file or folder"), ("empty", "no images found"), ("a.zip", "archive")],
)
def test_nothing_to_find(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.zip").write_bytes(b"PK")
    with pytest.raises(DataError, match=words):
        find_images([tmp_path / name])


def test_one_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="one class"):
        check_classes(drawn(tmp_path, ["a/1.png", "a/2.png"]))


# What .npz files hold.


def pixels(count: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (count, *shape), np.uint8)


def test_arrays_of_pixels(tmp_path: Path) -> None:
    x, y = pixels(5, 4, 4), np.array([3, 1, 10, 1, 2])
    np.savez(tmp_path / "a.npz", x_train=x, y_train=y, x_test=x[:2], y_test=y[:2])
    images = find_images([tmp_path / "a.npz"])
    assert images.names[0] == "a.npz:train:0"
    assert images.splits == ["train"] * 5 + ["test"] * 2
    assert images.classes == ["1", "2", "3", "10"]
    assert (images.read(6) == x[1]).all()


def test_labels_with_names(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, images=pixels(3, 4, 4, 3), labels=[1, 0, 1], classes=["cat", "dog"])
    assert find_images([path]).labels == ["dog", "cat", "dog"]
    np.savez(path, x=pixels(3, 4, 4, 3), y=np.array([["b"], ["a"], ["b"]]))
    assert find_images([path]).labels == ["b", "a", "b"]


def test_files_in_an_array(tmp_path: Path) -> None:
    files = [draw(tmp_path / "x.png", value).read_bytes() for value in (7, 8, 9)]
    offset = np.cumsum([0, *map(len, files)])
    data = np.frombuffer(b"".join(files), np.uint8)
    for name in ("train", "test"):
        np.savez(tmp_path / f"{name}.npz", data=data, offset=offset, label=np.array([0, 1, 0]))
    images = find_images([tmp_path / "train.npz", tmp_path / "test.npz"])
    assert [images.read(each) for each in range(6)] == files * 2
    assert images.splits == ["train"] * 3 + ["test"] * 3


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"z": np.zeros(3)}, "no array of images among z"),
        ({"x": np.zeros((3, 4, 4))}, "give uint8"),
        ({"x": pixels(3, 4)}, "give uint8"),
        ({"x": pixels(3, 3, 8, 8)}, "put the channels last"),
        ({"x": pixels(3, 4, 4), "y": np.zeros(2, int)}, "one label for each"),
        ({"x": pixels(3, 4, 4), "y": np.array([0.5, 1, 2])}, "whole numbers or texts"),
        ({"x": pixels(2, 4, 4), "y": np.array([0, 2]), "classes": ["a", "b"]}, "a name for each"),
        ({"x": pixels(2, 4, 4), "y": np.array([None, "a"])}, "could run code"),
        ({"data": np.zeros(9, np.uint8), "offset": np.array([0, 5, 3])}, "does not cut"),
        ({"data": np.zeros(9, np.uint8), "offset": np.array([0, 5, 99])}, "does not cut"),
    ],
)
def test_arrays_that_are_no_images(tmp_path: Path, arrays: dict, words: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=words) as caught:
        find_images([tmp_path / "a.npz"])
    assert str(caught.value).startswith(str(tmp_path / "a.npz"))


def test_an_archive_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"not an \.npz"):
        find_images([path])
    np.savez_compressed(path, x=np.zeros((100, 4, 4), np.uint8))
    data = bytearray(path.read_bytes())
    data[60:70] = bytes(10)
    path.write_bytes(data)
    with pytest.raises(DataError, match="damaged"):
        find_images([path]).read(0)


# Tables.


def table(folder: Path, text: str, name: str = "labels.tsv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("l.tsv", "file\tlabel\na.png\tcat\nsub/b.png\tdog\n"),
        ("l.tsv", "a.png\tcat\nb.png\tdog\n"),
        ("l.tsv", "cat\tphotos/a.png\ndog\tphotos/sub/b.png\n"),
        ("l.tsv", "dog\tSUB\\B.PNG\ncat\t./a.png\n"),
        ("l.csv", "id,breed\na,cat\nb,dog\n"),
        ("l.csv", 'file_name,label\n"a.png","cat"\n"b.png","dog"\n'),
        ("l.csv", "url;path;class\nhttp://x/1;a.png;cat\nhttp://x/2;b.png;dog\n"),
        ("l.txt", "image,label\na.png,cat\nb.png,dog\n"),
        ("l.jsonl", '{"file_name": "a.png", "label": "cat"}\n{"file": "b", "class": "dog"}\n'),
        ("l.json", '[{"image": "a.png", "label": "cat"}, {"image": "b.png", "label": "dog"}]'),
    ],
)
def test_labels_of_a_table(tmp_path: Path, name: str, text: str) -> None:
    images = drawn(tmp_path / "photos", ["a.png", "sub/b.png"])
    found = labelled(images, table(tmp_path, text, name))
    assert found.labels == ["cat", "dog"]
    assert found.splits == []
    assert found.remarks == []


def test_the_splits_of_a_table_and_a_chosen_column(tmp_path: Path) -> None:
    images = drawn(tmp_path / "photos", ["a.png", "b.png", "c.png"])
    text = "file\tsplit\tlabel\tkind\na.png\ttrain\tx\tp\nb.png\tVal\ty\tq\nnone.png\ttest\tx\tp\n"
    found = labelled(images, table(tmp_path, text))
    assert found.names == ["a.png", "b.png"]
    assert found.labels == ["x", "y"]
    assert found.splits == ["train", "valid"]
    assert found.remarks == [
        f"{tmp_path}/labels.tsv: 1 name (none.png) without an image",
        f"{tmp_path}/labels.tsv: 1 image (c.png) without a label: left out",
    ]
    assert labelled(images, table(tmp_path, text), "kind").labels == ["p", "q"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("../a.png\tcat\nb.png\tdog\n", "leads out"),
        ("/etc/passwd\tcat\nb.png\tdog\n", "leads out"),
        ("C:\\a.png\tcat\nb.png\tdog\n", "leads out"),
        ("a.png\tcat\na.png\tdog\n", "one label"),
        ("a.png\t\nb.png\tdog\n", "label is empty"),
        ("file\tlabel\nx.png\tcat\n", "none of its images"),
        ("file\tlabel\na.png\n", "columns"),
        ("file\ta1\ta2\na.png\tx\ty\n", "no column 'label'"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, text: str, words: str) -> None:
    images = drawn(tmp_path / "photos", ["a.png", "b.png"])
    with pytest.raises(DataError, match=words):
        labelled(images, table(tmp_path, text))


def test_case_and_unicode_form(tmp_path: Path) -> None:
    composed, apart = (unicodedata.normalize(form, "café.png") for form in ("NFC", "NFD"))
    names = ImageNames(drawn(tmp_path / "x", [apart, "B.png"]))
    assert names.find(composed, "p") == names.find(apart, "p") == names.find("CAFÉ.PNG", "p")
    assert names.find("b.PNG", "p") is not None
    both = ImageNames(drawn(tmp_path / "y", ["a.png", "A.png", composed, apart]))
    assert both.find("a.png", "p") != both.find("A.png", "p")
    assert both.find(composed, "p") != both.find(apart, "p")
    for name in ("A.PNG", "CAFÉ.png"):
        with pytest.raises(DataError, match="may be"):
            both.find(name, "p")


def test_a_folder_in_a_name_counts(tmp_path: Path) -> None:
    names = ImageNames(drawn(tmp_path / "photos", ["dogs/a.png", "cats/b.png", "ants/b.png"]))
    assert names.find("cats/a.png", "p") is None
    assert names.find("photos/dogs/a.png", "p") is not None
    assert names.find("other/dogs/a.png", "p") is None
    with pytest.raises(DataError, match="may be"):
        names.find("b.png", "p")


# The split.


def many(root: Path, count: int = 60) -> ImageList:
    return drawn(root, [f"{'ab'[each % 2]}/{each}.png" for each in range(count)])


def test_a_share_is_held_out_by_content(tmp_path: Path) -> None:
    images = many(tmp_path / "photos")
    found = split_of(images, tmp_path / "c1")
    assert 5 <= len(found.valid) <= 25
    assert sorted([*found.train, *found.valid]) == list(range(60))
    # The same images under other names are on the same sides.
    held = {images.names[each] for each in found.valid}
    for path in sorted((tmp_path / "photos").rglob("*.png")):
        path.rename(path.with_name(f"new-{path.name}"))
    again = find_images([tmp_path / "photos"])
    second = split_of(again, tmp_path / "c2")
    assert {again.names[each].replace("new-", "") for each in second.valid} == held


def test_copies_stay_on_one_side_and_two_labels_are_named(tmp_path: Path) -> None:
    for value in range(20):
        for name in (f"a/{value}.png", f"a/copy-{value}.png", f"b/{value + 100}.png"):
            draw(tmp_path / "p" / name, value + 100 * name.startswith("b"))
    draw(tmp_path / "p" / "b" / "torn.png", 3)
    images = find_images([tmp_path / "p"])
    cache = build(images, tmp_path / "c", 4, "crop", 1)
    found = divided(images, cache, 1, 0.3, 1000)
    assert not set(cache.digests[found.train]) & set(cache.digests[found.valid])
    assert any("two classes" in remark and "torn.png" in remark for remark in found.remarks)


def test_copies_in_given_splits_leave_training(tmp_path: Path) -> None:
    for name, value in {"train/a/1": 1, "train/a/2": 2, "train/b/3": 3, "val/a/x": 2}.items():
        draw(tmp_path / "p" / f"{name}.png", value)
    found = split_of(images := find_images([tmp_path / "p"]), tmp_path / "c")
    assert [images.names[each] for each in found.train] == ["train/a/1.png", "train/b/3.png"]
    assert any("train/a/2.png is val/a/x.png" in remark for remark in found.remarks)


def test_a_class_that_is_only_held_out_is_named(tmp_path: Path) -> None:
    train = drawn(tmp_path / "t", ["a/1.png", "b/2.png"])
    for name, value in (("a/3", 13), ("zebra/4", 14)):
        draw(tmp_path / "v" / f"{name}.png", value)
    images = joined([train, find_images([tmp_path / "v"], "valid")])
    assert images.splits == ["", "", "valid", "valid"]
    assert split_of(images, tmp_path / "c").remarks == [
        "1 class (zebra, as zebra/4.png) held out only, so never learned"
    ]


def test_no_class_is_held_out_whole(tmp_path: Path) -> None:
    images = drawn(tmp_path / "p", [f"{each}/{each}.png" for each in "abcdefgh"] + ["a/x.png"])
    found = split_of(images, tmp_path / "c", share=0.5)
    assert {images.labels[each] for each in found.train} == set("abcdefgh")


def test_too_few_images(tmp_path: Path) -> None:
    found = split_of(drawn(tmp_path / "p", ["a/1.png", "b/2.png"]), tmp_path / "c")
    assert (len(found.train), len(found.valid)) == (2, 0)


def test_no_more_are_held_out_than_asked(tmp_path: Path) -> None:
    images = many(tmp_path / "p")
    cache = build(images, tmp_path / "c", 4, "crop", 1)
    assert len(divided(images, cache, 1, 0.9, 3).valid) < 12


def test_splits_of_other_names_are_left_out(tmp_path: Path) -> None:
    images = drawn(tmp_path / "p", ["1.png", "2.png", "3.png", "4.png"])
    text = "file\tlabel\tsplit\n1\ta\ttrain\n2\tb\ttrain\n3\ta\tval\n4\tb\textra\n"
    found = split_of(labelled(images, table(tmp_path, text)), tmp_path / "c")
    assert [*found.train, *found.valid, *found.test] == [0, 1, 2]
    assert found.remarks == ["1 image (4.png) of the split extra: left out"]
