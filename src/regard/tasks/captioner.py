"""Captioner: images to sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from regard.decode.search import Search
from regard.errors import RequestError, shown
from regard.run import Run
from regard.tasks.from_run import FromRun
from regard.tasks.image_inputs import ImageReader, in_parts, several
from regard.tasks.inputs import summary
from regard.tasks.task import Evaluation, Test
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from regard.decode.hypothesis import Hypothesis
    from regard.inspect.captions import WordMaps
    from regard.models.captioner import Captioner as Model


@dataclass(frozen=True, repr=False)
class ImageCaption:
    """A caption with what is known of it.

    Attributes
    ----------
    text : str
    score : float
        The mean log-probability that ranks it.
    tokens : list of str
        The pieces that were written.
    log_probabilities : list of float
        Of each piece, and of the end.
    finished : bool
        Whether the model ended it, or it became too long.
    ids : list of int
        The pieces as numbers, which `maps` takes exactly.
    """

    text: str
    score: float
    tokens: list[str]
    log_probabilities: list[float]
    finished: bool
    ids: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, hypothesis: "Hypothesis", tokenizer: Tokenizer) -> Self:
        """What a search has found, as text."""
        return cls(
            tokenizer.decode(hypothesis.tokens),
            hypothesis.score,
            tokenizer.pieces(hypothesis.tokens),
            hypothesis.log_probabilities,
            hypothesis.finished,
            hypothesis.tokens,
        )

    def __repr__(self) -> str:
        return f"ImageCaption({self.text!r}, score {self.score:.3f})"


class Captioner(FromRun):
    """Describes images.

    `regard.load` or `Captioner.load` gives one of a run folder.

    Examples
    --------
    >>> import regard
    >>> captioner = regard.load("runs/captions")  # doctest: +SKIP
    >>> captioner.caption("dog.jpg")  # doctest: +SKIP
    'a brown dog runs through the grass .'
    """

    task = "captioning"

    def __init__(
        self,
        model: "Model",
        tokenizer: Tokenizer,
        reader: ImageReader,
        search: Search,
        longest: int,
        folder: Path | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.reader = reader
        self.search = search
        self.longest = longest  # the most pieces of a caption
        self.folder = folder

    def __repr__(self) -> str:
        return summary("Captioner", self.folder, self.model, f"beam {self.search.beam_size}")

    @classmethod
    def _of(cls, run: Run, recipe: Any, model: Any) -> Self:
        search = Search(**recipe.decode.model_dump())
        reader, tokenizer = ImageReader.of(recipe.data), run.tokenizers().target
        return cls(model, tokenizer, reader, search, recipe.data.max_length, run.folder)

    @overload
    def caption(self, images: str | Path, beam_size: int | None = None) -> str: ...
    @overload
    def caption(self, images: Iterable[Any], beam_size: int | None = None) -> list[str]: ...
    def caption(self, images: Any, beam_size: int | None = None) -> str | list[str]:
        """Describe images.

        Parameters
        ----------
        images
            An image, or several in a list or an iterator: the name of a file, an image of Pillow,
            or an array of pixels.
        beam_size
            Hypotheses kept at each step; by default, as the run's recipe says.

        Returns
        -------
        str or list of str
            The best caption: one for an image, a list in the same order for several.

        Raises
        ------
        DataError
            An image cannot be read.
        """
        search = self.search if beam_size is None else replace(self.search, beam_size=beam_size)
        given, single = several(images)
        found = [each[0].text for each in self.captions(given, search)]
        return found[0] if single else found

    def captions(
        self, images: Iterable[Any], search: Search | None = None
    ) -> list[list[ImageCaption]]:
        """Describe images, and tell all that is known of the captions.

        Parameters
        ----------
        images
            Several images, each the name of a file, an image of Pillow, or an array of pixels.
        search
            How to search, such as Search(beam_size=5, n_best=3); by default, as the recipe says.

        Returns
        -------
        list of list of ImageCaption
            Up to n_best captions of each image, the best first.

        Raises
        ------
        DataError
            An image cannot be read.
        """
        given, _ = several(images)
        return [
            each
            for part in in_parts(given)
            for each in self.search_pixels(self.reader.pixels(part), search or self.search)
        ]

    def search_pixels(
        self, pixels: "NDArray[np.uint8]", search: Search, prefix: Sequence[int] = ()
    ) -> list[list[ImageCaption]]:
        """Captions of images [B, S, S, C] as the model sees them, which all begin with a prefix."""
        import torch

        from regard.decode.outputs import outputs
        from regard.evaluate.pairs import device_of

        device = device_of(self.model)
        with torch.inference_mode():
            images = torch.from_numpy(pixels).permute(0, 3, 1, 2).to(device)
            found = outputs(
                self.model.step,
                self.model.start(images),
                torch.full((len(pixels),), self.longest + 1, device=device),
                search,
                self.tokenizer.specials,
                [list(prefix)] * len(pixels),
            )
        return [[ImageCaption.of(each, self.tokenizer) for each in one] for one in found]

    def maps(self, image: Any, ids: Sequence[int] | None = None) -> "WordMaps":
        """Where the model looks when it writes each word, and which parts of the image the word
        needs.

        Parameters
        ----------
        image
            The name of a file, an image of Pillow, or an array of pixels.
        ids
            The pieces of a caption, as `captions` gives them; by default, of the best one.

        Returns
        -------
        WordMaps

        Raises
        ------
        DataError
            The image cannot be read.
        RequestError
            The caption is empty.
        """
        from regard.inspect.captions import word_maps

        pixels = self.reader.square(image)
        if ids is None:
            ids = self.search_pixels(pixels[None], self.search)[0][0].ids
        return word_maps(self, pixels, list(ids))

    def evaluate(
        self, images: Iterable[Any], references: Iterable[Sequence[str]], bootstrap: int = 1000
    ) -> Evaluation:
        """Score the captioner on images of which captions are known.

        Parameters
        ----------
        images
            Names of files that it has not learned from.
        references
            For each image, the captions that people wrote of it.
        bootstrap
            Resamples for the 95 % intervals; 0 leaves them out.

        Returns
        -------
        Evaluation
            BLEU-1 to BLEU-4 and CIDEr-D, also with the images shuffled and for one sentence that
            is said of all images.

        Raises
        ------
        RequestError
            There are not as many lists of captions as images, or none.
        """
        from regard.data.captions import Caption, CaptionList
        from regard.data.image_files import find_images
        from regard.tasks.caption_evaluation import scored
        from regard.tasks.inputs import same_length

        paths = [Path(each) for each in several(images)[0]]
        texts = [list(each) for each in references if not isinstance(each, str)]
        same_length("evaluate", images=paths, references=texts)
        if not all(texts):
            raise RequestError(f"evaluate: an image without a caption; {shown(texts)}")
        captions = [
            Caption(number, text, str(paths[number]))
            for number, each in enumerate(texts)
            for text in each
        ]
        found = CaptionList(captions, find_images(paths), [], [])
        return scored(self, found, self.search, Test(bootstrap=bootstrap))
