"""A corpus of made-up languages, with noise in known places: quick to learn and easy to judge."""

import random

from regard.data.corpus import Pair

SUBJECTS = ("dog", "cat", "man", "woman", "child", "girl", "boy", "horse", "bird", "teacher")
VERBS = ("sees", "likes", "finds", "takes", "paints", "knows", "hears", "draws", "holds", "wants")
OBJECTS = ("house", "tree", "river", "apple", "table", "window", "garden", "bicycle", "letter")
WHERE = ("quickly", "today", "outside", "alone", "again", "slowly", "upstairs", "gladly", "there")


def word(english: str) -> str:
    """The other language turns words round."""
    return english[::-1] + "o"


def sentences(count: int, seed: int = 1) -> list[Pair]:
    chance = random.Random(seed)
    found = []
    for number in range(1, count + 1):
        said = [chance.choice(each) for each in (SUBJECTS, VERBS, OBJECTS, WHERE)]
        more = [chance.choice(each) for each in (SUBJECTS, VERBS, OBJECTS)]
        many = chance.choices(said + more, k=chance.randint(3, 7))
        said += many
        text, other = f"the {' '.join(said)}.", f"il {' '.join(map(word, said))}."
        found.append(Pair(text, other, f"a.tsv:{number}"))
    return found
