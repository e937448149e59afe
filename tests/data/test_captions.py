"""Captions are found in files of any usual form, and stay with their images."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.data.captions import CaptionList, read_captions
from regard.data.image_files import ImageList, find_images
from regard.errors import DataError

KARPATHY = {
    "images": [
        {
            "filepath": "photos",
            "filename": "b.jpg",
            "split": "restval",
            "sentences": [{"raw": "a cat"}],
        },
        {"filename": "a.jpg", "split": "val", "sentences": [{"raw": "a dog"}, {"raw": "a pet"}]},
    ],
    "dataset": "flickr8k",
}
COCO = {
    "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 3, "file_name": "b.jpg"}],
    "annotations": [
        {"image_id": 7, "id": 1, "caption": "a dog"},
        {"image_id": 3, "id": 2, "caption": "a  cat\n"},
        {"image_id": 7, "id": 3, "caption": "a pet"},
    ],
}
# Names of files and what they hold: always the same captions.
FORMS = {
    "c.tsv": "file\tcaption\na.jpg\ta dog\nb.jpg\ta cat\na.jpg\ta pet\n",
    "d.csv": 'image,caption\na.jpg,a dog\nb.jpg,"a cat"\na.jpg,a pet\n',
    "e.csv": "filepath\ttitle\nphotos/a.jpg\ta dog\nphotos/b.jpg\ta cat\nphotos/a.jpg\ta pet\n",
    "metadata.csv": "file_name,text\na.jpg,a dog\nb.jpg,a cat\na.jpg,a pet\n",
    "captions.txt": "image,caption\na.jpg,a dog\nb.jpg,a cat\na.jpg,a pet\n",
    "results.csv": "image_name| comment_number| comment\n"
    "a.jpg| 0| a dog\nb.jpg| 0| a cat\na.jpg| 1| a pet\n",
    "Flickr8k.token.txt": "a.jpg#0\ta dog\nb.jpg#0\ta cat\na.jpg#1\ta pet\n",
    "none.tsv": "a.jpg\ta dog\nb.jpg\ta cat\na.jpg\ta pet\n",
    "turned.tsv": "caption\tfile\na dog\ta.jpg\na cat\tb.jpg\na pet\ta.jpg\n",
    "f.jsonl": '{"file_name": "a.jpg", "text": "a dog"}\n{"image": "b.jpg", "caption": "a cat"}\n'
    '{"file": "a", "text": "a pet"}\n',
    "g.jsonl": '{"image": "a.jpg", "captions": ["a dog", "a pet"]}\n'
    '{"image": "b.jpg", "captions": ["a cat"]}\n',
    "h.json": '[{"image": "a.jpg", "caption": ["a dog", "a pet"]},\n'
    '{"image": "b.jpg", "caption": "a cat"}]',
    "names.json": '{"a.jpg": ["a dog", "a pet"], "b.jpg": "a cat"}',
    "karpathy.json": json.dumps(KARPATHY),
    "coco.json": json.dumps(COCO, indent=1),
}


@pytest.fixture
def images(tmp_path: Path) -> ImageList:
    (tmp_path / "photos").mkdir()
    for name in ("a.jpg", "b.jpg"):
        Image.new("L", (4, 4)).save(tmp_path / "photos" / name)
    return find_images([tmp_path / "photos"])


def read(folder: Path, images: ImageList, name: str, text: str) -> CaptionList:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_captions([path], images)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_recognised_by_its_content(
    tmp_path: Path, images: ImageList, name: str
) -> None:
    found = read(tmp_path, images, name, FORMS[name])
    assert found.by_image == [["a dog", "a pet"], ["a cat"]]
    assert found.remarks == []
    assert all(each.place.startswith(str(tmp_path / name)) for each in found.captions)
    assert len({each.place for each in found.captions}) >= 2


def test_places(tmp_path: Path, images: ImageList) -> None:
    found = read(tmp_path, images, "c.tsv", FORMS["c.tsv"])
    lines = [each.place.removeprefix(str(tmp_path)) for each in found.captions]
    assert lines == ["/c.tsv:2", "/c.tsv:4", "/c.tsv:3"]
    found = read(tmp_path, images, "coco.json", FORMS["coco.json"])
    assert found.captions[1].place.endswith("coco.json: annotations[2]")


def test_splits(tmp_path: Path, images: ImageList) -> None:
    assert read(tmp_path, images, "karpathy.json", FORMS["karpathy.json"]).splits == [
        "valid",
        "train",
    ]
    text = "file\tsplit\tcaption\na.jpg\ttest\tx y\nb.jpg\textra\tz\n"
    assert read(tmp_path, images, "s.tsv", text).splits == ["test", "extra"]
    text = "file\tsplit\tcaption\na.jpg\ttest\tx y\na.jpg\ttrain\tz\n"
    with pytest.raises(DataError, match=r"s\.tsv:3: a\.jpg is for 'train' here and for 'test'"):
        read(tmp_path, images, "s.tsv", text)


def test_captions_by_number_of_an_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((3, 4, 4), np.uint8))
    images = find_images([tmp_path / "a.npz"])
    path = tmp_path / "captions.tsv.gz"
    path.write_bytes(gzip.compress(b"index\timage\tcaption\n2\tx.jpg\ttwo\n0\ty.jpg\tnone\n"))
    found = read_captions([path], images)
    assert found.by_image == [["none"], [], ["two"]]
    assert found.remarks == ["1 image (a.npz:1) without a caption: left out"]
    path.write_bytes(gzip.compress(b"index\tcaption\n3\tx\n0\ty\n"))
    assert "captions of 1 image (3)" in read_captions([path], images).remarks[0]


def test_texts_beside_images(tmp_path: Path, images: ImageList) -> None:
    (tmp_path / "photos" / "a.txt").write_text("a dog\n\na pet\n")
    (tmp_path / "photos" / "b.jpg.txt").write_text("a cat")
    assert read_captions([], images).by_image == [["a dog", "a pet"], ["a cat"]]
    (tmp_path / "texts").mkdir()
    with pytest.raises(DataError, match="no captions"):
        read_captions([tmp_path / "texts"], images)
    (tmp_path / "texts" / "b.txt").write_text("")
    (tmp_path / "texts" / "a.txt").write_text("x")
    found = read_captions([tmp_path / "texts"], images)
    assert found.by_image == [["x"], []]
    assert "1 empty caption" in found.remarks[0]


def test_what_is_missing_on_either_side_is_named(tmp_path: Path, images: ImageList) -> None:
    text = "file\tcaption\na.jpg\t\na.jpg\tone\nx.jpg\ttwo\nx.jpg\tthree\n"
    found = read(tmp_path, images, "c.tsv", text)
    assert found.by_image == [["one"], []]
    assert found.remarks == [
        "captions of 1 image (x.jpg) that are not there",
        f"1 empty caption ({tmp_path}/c.tsv:2): left out",
        "1 image (b.jpg) without a caption: left out",
    ]


def test_a_chosen_column(tmp_path: Path, images: ImageList) -> None:
    path = tmp_path / "c.tsv"
    path.write_text("file\tcaption\tname_de\na.jpg\ta dog\tein Hund\n")
    assert read_captions([path], images, "name_de").by_image[0] == ["ein Hund"]
    assert read_captions([path], images, 3).by_image[0] == ["ein Hund"]
    with pytest.raises(DataError, match=r"data\.caption"):
        read_captions([path], images, "name_fr")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c.tsv", "file\tcaption\n../a.jpg\tx\nb.jpg\ty\n", "leads out"),
        ("c.tsv", "file\tcaption\n/tmp/a.jpg\tx\nb.jpg\ty\n", "leads out"),
        ("c.tsv", "file\tcaption\nz.jpg\tx\n", "none of its images is there: it has z.jpg"),
        ("c.tsv", "file\tcaption\na.jpg\t \n", "none of its|caption"),
        ("c.json", '{"images": [{"id": 1}], "annotations": []}', r"images\[0\] has no"),
        (
            "c.json",
            '{"images": [], "annotations": [{"image_id": 1, "category_id": 3}]}',
            "category",
        ),
        ("c.json", '{"images": [], "annotations": ["x"]}', r"annotations\[0\] has no"),
        ("c.json", '{"images": [{"filename": "a.jpg", "sentences": [{"tokens": []}]}]}', "raw"),
        ("c.json", '{"images": [{"sentences": []}]}', "filename"),
        ("c.json", '{"a.jpg": 3}', "is 3"),
        ("c.json", '{"a.jpg": ', "not valid JSON"),
        ("c.json", "[" * 100_000, "not valid JSON"),
        ("c.jsonl", '{"a": 1}\n', "an image and its caption are wanted"),
        ("c.jsonl", '{"file": "a.jpg", "caption": {"x": 1}}\n', "give a text"),
        ("c.jsonl", "[1]\n", "an image and its caption are wanted"),
        ("c.pdf", "x", "document"),
    ],
)
def test_files_that_are_refused(
    tmp_path: Path, images: ImageList, name: str, text: str, words: str
) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read(tmp_path, images, name, text)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / name))
