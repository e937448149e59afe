"""A decoding contender: it translates all sentences, one pass at a time.

Each loads only what it needs, since its starting time and its memory are measured.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.process import Message, Replies, peak_memory_bytes


@dataclass(frozen=True)
class Engine:
    """A contender. Only `translate` is timed; steps that it does not do itself are not."""

    encode: Callable[[list[str]], Any]
    translate: Callable[[Any, int], Any]  # encoded sentences and a beam size
    decode: Callable[[Any], list[str]]


def as_it_is(texts: list[str]) -> list[str]:
    return texts


def regard(job: Message) -> Engine:
    """From text to text, with regard's own batches."""
    import torch

    from regard.tasks.translation.translator import Translator

    torch.set_num_threads(job["threads"])
    translator = Translator.load(job["run"])
    return Engine(as_it_is, translator.translate, as_it_is)


def hugging_face(job: Message) -> Engine:
    """`generate` from ids to ids, in batches of similar length."""
    import torch
    from transformers import AutoModelForSeq2SeqLM

    from regard.data.batch import batch_sources
    from regard.text.tokenizer import END, PAD, START, UNKNOWN

    torch.set_num_threads(job["threads"])
    tokenizers = tokenizers_of(job)
    model = AutoModelForSeq2SeqLM.from_pretrained(job["hugging_face"]).eval()
    model.final_logits_bias[:, [PAD, UNKNOWN, START]] = -torch.inf  # as regard forbids them

    @torch.inference_mode()
    def translate(sources: list[list[int]], beam_size: int) -> list[list[int]]:
        results: list[list[int]] = [[] for _ in sources]
        order = sorted(range(len(sources)), key=lambda row: -len(sources[row]))
        for begin in range(0, len(order), job["batch"]):
            rows = order[begin : begin + job["batch"]]
            source, mask = batch_sources([sources[row] for row in rows])
            found = model.generate(
                input_ids=source,
                attention_mask=mask.long(),
                num_beams=beam_size,
                do_sample=False,
                length_penalty=job["length_penalty"],
                max_new_tokens=longest_output(job, source.size(1)),
            )
            for row, ids in zip(rows, found[:, 1:].tolist(), strict=True):
                results[row] = ids[: ids.index(END)] if END in ids else ids
        return results

    return Engine(
        lambda texts: [[*ids, END] for ids in tokenizers.source.encode_batch(texts)],
        translate,
        tokenizers.target.decode_batch,
    )


def ctranslate2(job: Message) -> Engine:
    """From pieces to pieces, in CTranslate2's own batches of similar length."""
    from ctranslate2 import Translator

    translator = Translator(
        job["ctranslate2"],
        device="cpu",
        compute_type=job["compute_type"],
        inter_threads=job["workers"],
        intra_threads=job["threads"],
    )
    return in_pieces(job, translator, {"max_batch_size": job["batch"]})


def ctranslate2_plain(job: Message) -> Engine:
    """As in its own quick start: a model, a list of sentences, and search settings."""
    from ctranslate2 import Translator

    return in_pieces(job, Translator(job["ctranslate2"]), {})


def in_pieces(job: Message, translator: Any, options: dict[str, Any]) -> Engine:
    tokenizers = tokenizers_of(job)
    ids = {piece: number for number, piece in enumerate(all_pieces(tokenizers.target))}

    def translate(sources: list[list[str]], beam_size: int) -> list[list[str]]:
        found = translator.translate_batch(
            sources,
            beam_size=beam_size,
            length_penalty=job["length_penalty"],
            max_decoding_length=longest_output(job, max(map(len, sources)) + 1),
            **options,
        )
        return [each.hypotheses[0] for each in found]

    return Engine(
        lambda texts: [
            tokenizers.source.pieces(each) for each in tokenizers.source.encode_batch(texts)
        ],
        translate,
        lambda outputs: tokenizers.target.decode_batch(
            [[ids[piece] for piece in output] for output in outputs]
        ),
    )


def command(job: Message) -> Engine:
    """The whole command, from one file to another, including its start."""

    def translate(texts: list[str], beam_size: int) -> list[str]:
        words = [sys.executable, "-m", "regard", "translate", job["run"]]
        done = subprocess.run(
            [*words, "--engine", job["engine"], "--beam-size", str(beam_size)],
            input="\n".join(texts) + "\n",
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout.split("\n")[:-1]

    return Engine(as_it_is, translate, as_it_is)


def longest_output(job: Message, source_length: int) -> int:
    """regard's own limit for the output of a source with this many pieces, END included."""
    return int(job["max_length_ratio"] * source_length) + 20


def tokenizers_of(job: Message) -> Any:
    from regard.text.tokenizer import Tokenizers

    return Tokenizers.load(Path(job["run"]))


def all_pieces(tokenizer: Any) -> Sequence[str]:
    return tokenizer.pieces(range(len(tokenizer)))  # type: ignore[no-any-return]


def main() -> None:
    replies = Replies()
    job = json.loads(sys.argv[1])
    loaded = {
        "regard": regard,
        "hugging-face": hugging_face,
        "ctranslate2": ctranslate2,
        "ctranslate2-plain": ctranslate2_plain,
        "command": command,
    }[job["kind"]](job)
    texts = json.loads(Path(job["sentences"]).read_text("utf-8"))

    def timed(texts: list[str], beam_size: int) -> tuple[list[str], float]:
        sources = loaded.encode(texts)
        started = time.perf_counter()
        outputs = loaded.translate(sources, beam_size)
        seconds = time.perf_counter() - started
        return loaded.decode(outputs), seconds

    def answer(request: Message) -> Message:
        outputs, seconds = timed(texts, request["beam_size"])
        result = {"texts": outputs, "seconds": seconds, "memory_bytes": peak_memory_bytes()}
        if job["kind"] == "command":
            result["first_seconds"] = timed(texts[:1], request["beam_size"])[1]
            kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            result["memory_bytes"] = kilobytes * 1024
        return result

    timed(texts[:1], 5)
    replies.serve({}, answer)


if __name__ == "__main__":
    main()
