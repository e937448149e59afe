"""What the studio shows of a language model: a continuation, and what else might have come."""

from dataclasses import asdict

import torch

from regard.errors import RequestError
from regard.inspect.alternatives import alternatives
from regard.tasks.task import Section, TextQuestion
from regard.tasks.writer import Writer
from regard.tasks.writing import Writing

# Pieces of a text that are looked at, and tokens that are shown beside the one that was taken.
LONGEST_SHOWN, ALTERNATIVES = 512, 8


@torch.inference_mode()
def look(writer: Writer, asked: TextQuestion) -> Section:
    """The continuation of a text, with the alternatives at each place of it."""
    if writer.backward:
        raise RequestError("this model reads backwards: it cannot continue a text")
    tokenizer = writer.tokenizer
    specials = tokenizer.specials
    size = len(tokenizer)
    given = [*tokenizer.encode(asked.text), *(each for each in asked.prefix if 0 <= each < size)]
    longest = min(LONGEST_SHOWN, writer.limit) - 1
    if len(given) >= longest:
        raise RequestError(f"the text has {len(given)} pieces, at most {longest} can be looked at")
    room = max(1, min(asked.more, longest - len(given)))
    written: list[int] = []
    likeliest = Writing(max_tokens=room, temperature=0)
    for token in writer._continued(given or [specials.end], room, likeliest, part=0):
        if token == specials.end:
            break
        written.append(token)
    ids = [*given, *written]
    if not ids:
        raise RequestError("the model ends the text at once; give it a beginning")
    end = torch.tensor([[specials.end]])
    # As in writing: the first token follows END, the others follow the tokens before them.
    logits = [writer.model(end)[0]]
    if len(ids) > 1:
        logits.append(writer.model(torch.tensor([ids[:-1]]))[0])
    pieces = tokenizer.pieces(range(size))
    found = alternatives(torch.cat(logits)[: len(ids)], ids, pieces, ALTERNATIVES)
    return {
        # The last pass reads all pieces but the last, which nothing follows.
        "pieces": tokenizer.pieces(ids[:-1] or ids),
        "ids": ids,
        "steps": [asdict(each) for each in found],
        "given": len(given),
    }
