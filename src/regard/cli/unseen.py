"""Remarks on words that were never seen in training, on standard error."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.cli.display import say
from regard.text.seen_words import UnseenCount, remark

if TYPE_CHECKING:
    from regard.tasks.translation.translator import Translator


class UnseenRemarks:
    """A remark for each text that somebody has typed, and one at the end for a file."""

    def __init__(self, translator: "Translator", typed: bool) -> None:
        self._translator = translator
        self._typed = typed
        self._count = UnseenCount()

    def add(self, texts: Sequence[str]) -> None:
        for text in texts:
            unseen = self._translator.unseen_words(text)
            if not self._typed:
                self._count.add(unseen)
            elif unseen:
                say(remark(unseen))

    def at_end(self) -> None:
        if said := self._count.remark():
            say(said)
