"""Frames between the server and its worker."""

import asyncio
import random
from typing import Any

import pytest

from regard.serve.http.refusal import Refusal
from regard.serve.http.request_fields import RequestFields
from regard.serve.question import Question
from regard.serve.worker.child import read_question
from regard.serve.worker.connection import (
    LARGE_BYTES,
    encoded_question,
    how_it_ended,
    size_of,
)
from regard.serve.worker.frames import Frames


class Wire(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()

    def write(self, data: Any) -> None:
        self.written += data


def test_frames_arrive_whole_however_they_are_cut() -> None:
    wire, received = Wire(), []
    sender = Frames(lambda head, data: None, lambda: None)
    sender.connection_made(wire)
    sent: list[tuple[dict[str, Any], bytes]] = [
        ({"number": 1, "text": "é\ud800"}, b""),
        ({"number": 2}, b"\x00" * 1000),
        ({}, b"x"),
    ]
    for head, data in sent:
        sender.send(head, data)
    draw = random.Random(3)
    for longest in (1, 7, 5000):
        received.clear()
        receiver = Frames(lambda head, data: received.append((head, data)), lambda: None)
        left = bytes(wire.written)
        while left:
            cut = draw.randint(1, longest)
            receiver.data_received(left[:cut])
            left = left[cut:]
        assert received == sent


def test_a_question_arrives_as_it_was_asked() -> None:
    fields = RequestFields({"q": ["a", "\ud800"], "n": float("inf")}, [("a", b"12"), ("b", b"")])
    question = Question("/match", fields, "key 1", has_keys=True)
    long = Question("/translate", RequestFields({"q": "x" * LARGE_BYTES * 2}))

    async def sent(question: Question) -> Question:
        wire, found = Wire(), []
        frames = Frames(lambda head, data: found.append((head, data)), lambda: None)
        frames.connection_made(wire)
        frames.send_encoded(*await encoded_question(7, question))
        frames.data_received(bytes(wire.written))
        ((head, data),) = found
        assert head["number"] == 7
        return read_question(head, data)

    assert asyncio.run(sent(question)) == question
    assert asyncio.run(sent(long)) == long


def test_fields_too_deep_for_json_are_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    question = Question("/translate", RequestFields({"q": deep}))
    with pytest.raises(Refusal, match="Invalid JSON format"):
        asyncio.run(encoded_question(1, question))
    while deep:  # taken apart step by step, since Python's own way is as deep
        deep = deep[0]


@pytest.mark.parametrize(
    ("values", "is_large"),
    [
        ({"q": "a cat", "n": 1}, False),
        ({"q": "x" * LARGE_BYTES * 2}, True),
        ({"q": ["x" * 1000] * 100}, True),
        ({"series": [1.0] * 1000}, True),
        ({"series": [1.0] * 100}, False),
    ],
)
def test_what_is_large_is_known(values: dict[str, Any], is_large: bool) -> None:
    assert (size_of(values) > LARGE_BYTES) is is_large


def test_the_end_of_a_process_is_put_in_words() -> None:
    assert how_it_ended(-11) == "was ended by SIGSEGV"
    assert how_it_ended(-9) == "was ended by SIGKILL"
    assert how_it_ended(3) == "ended with status 3"
    assert how_it_ended(-250) == "was ended by signal 250"
