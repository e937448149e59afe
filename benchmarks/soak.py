"""Honest clients beside attackers, for minutes: `python -m benchmarks.soak RUN`.

Honest clients ask for translations that are known and check every answer: first alone, then beside
ten times as many others who ask without pause, and beside hostile ones: endless trailers, long
bodies without a key, thousands of lines, malformed HTML, slow heads, floods without a key.
Meanwhile what can be killed is killed (`kill -9`): the server's workers where it has some, and the
attackers, who leave their connections open. A server that reloads at SIGHUP is asked to. Attackers
have a lower priority, since in earnest they run on other machines. Everything is sent to this
machine only.
"""

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.serve import Server, asked, expectations, serving

OVERLOAD = 10  # times the honest clients
OVERLOADERS = 10  # callers who send it
KILL_SECONDS = 20.0
Pairs = list[tuple[bytes, str]]


def key(kind: str, number: int) -> str:
    return f"{kind}-{number:04d}-of-the-soak"


def request(body: bytes, secret: str = "", path: str = "/translate") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    lines += [f"Authorization: Bearer {secret}"] if secret else []
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


class Caller:
    """A keep-alive connection from an address of its own, where the system has several."""

    def __init__(self, port: int, address: str) -> None:
        self._port, self._address = port, address if sys.platform == "linux" else "127.0.0.1"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, sent: bytes) -> tuple[int, bytes]:
        """The answer. As HTTP's clients do, it asks again where an idle connection was closed."""
        if self._streams is not None:
            try:
                return await self._ask(sent)
            except asyncio.IncompleteReadError as error:
                if error.partial:
                    raise
            except ConnectionError:
                pass
            self.close()
        return await self._ask(sent)

    async def _ask(self, sent: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                "127.0.0.1", self._port, local_addr=(self._address, 0)
            )
        reader, writer = self._streams
        writer.write(sent)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        answer = await reader.readexactly(int(length[1]) if length else 0)
        if b"connection: close" in head:
            self.close()
        return int(head.split(b" ", 2)[1]), answer

    async def stream(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A new connection for whoever keeps to no rules."""
        self.close()
        self._streams = await asyncio.open_connection(
            "127.0.0.1", self._port, local_addr=(self._address, 0)
        )
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass
class Outcome:
    """What honest clients saw."""

    wrong: int = 0
    answers: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        times = sorted(self.milliseconds) or [0.0]

        def quantile(share: float) -> float:
            return round(times[min(len(times) - 1, int(share * len(times)))], 1)

        return {
            "answers": self.answers,
            "wrong": self.wrong,
            "not answered": dict(self.refused),
            "p50 ms": quantile(0.5),
            "p99 ms": quantile(0.99),
        }


async def honest(port: int, pairs: Pairs, options: argparse.Namespace, seconds: float) -> Outcome:
    """Clients that ask now and then, together `rate` times a second, and check every answer."""
    outcome, end = Outcome(), time.perf_counter() + seconds
    draw = random.Random(3)

    async def one(number: int) -> None:
        caller = Caller(port, f"127.0.1.{1 + number % 250}")
        while True:
            await asyncio.sleep(draw.expovariate(options.rate / options.clients))
            if time.perf_counter() > end:
                return caller.close()
            body, expected = draw.choice(pairs)
            start = time.perf_counter()
            try:
                sent = request(body, key("honest", number))
                status, answer = await asyncio.wait_for(caller.ask(sent), 60)
            except (OSError, asyncio.IncompleteReadError) as error:
                caller.close()
                outcome.refused[type(error).__name__] += 1
                continue
            if status == 200:
                outcome.answers += 1
                outcome.milliseconds.append(1000 * (time.perf_counter() - start))
                outcome.wrong += json.loads(answer)["translatedText"] != expected
            else:
                outcome.refused[f"{status} {json.loads(answer).get('error', '')}"] += 1

    await asyncio.gather(*(one(number) for number in range(options.clients)))
    return outcome


async def for_ever(act: Callable[[], Awaitable[Any]], pause: float) -> None:
    while True:
        with suppress(OSError, asyncio.IncompleteReadError, ValueError):
            await act()
        await asyncio.sleep(pause)


def hostile(port: int, options: argparse.Namespace) -> Iterator[Awaitable[None]]:
    """Every kind of hostile client, at addresses of their own."""
    source, target = options.source, options.target
    numbers = itertools.count(1)

    def caller() -> Caller:
        return Caller(port, f"127.0.3.{next(numbers) % 250 + 1}")

    async def pour(each: Caller, opening: bytes, repeated: bytes, most: int) -> None:
        _, writer = await each.stream()
        writer.write(opening)
        for _ in range(most // len(repeated)):
            writer.write(repeated)
            await writer.drain()

    async def dawdle(each: Caller) -> None:
        _, writer = await each.stream()
        for letter in b"POST /translate HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 600:
            writer.write(bytes([letter]))
            await writer.drain()
            await asyncio.sleep(1)

    chunked = request(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    endless = chunked + b"0\r\n"
    long_body = request(b"x" * (4 << 20))
    lines = request(asked("a\n" * 9_900, source, target), key("overload", 0))
    html = {"q": "<a " * 6000, "source": source, "target": target, "format": "html"}
    markup = request(json.dumps(html).encode(), key("overload", 1))
    without = request(asked("a", source, target))
    for _ in range(4):
        each = caller()
        yield for_ever(lambda each=each: pour(each, endless, b"a: b\r\n" * 1000, 60 << 20), 0.5)
        each = caller()
        yield for_ever(lambda each=each: pour(each, long_body[:-1], b"x", 1), 0.5)
        each = caller()
        yield for_ever(lambda each=each: each.ask(lines), 0.2)
        each = caller()
        yield for_ever(lambda each=each: each.ask(markup), 0.2)
        each = caller()
        yield for_ever(lambda each=each: each.ask(without), 0.01)
    for _ in range(50):
        each = caller()
        yield for_ever(lambda each=each: dawdle(each), 1)


def attack(port: int, pairs: Pairs, options: argparse.Namespace) -> None:
    """All attackers, in a process of their own with a low priority, until it is killed."""
    os.nice(10)
    draw = random.Random(5)

    async def overload(number: int) -> None:
        caller = Caller(port, f"127.0.2.{1 + number % OVERLOADERS}")
        secret = key("overload", number % OVERLOADERS)

        async def ask() -> None:
            try:
                await caller.ask(request(draw.choice(pairs)[0], secret))
            except (OSError, asyncio.IncompleteReadError):
                caller.close()

        await for_ever(ask, 0.02)

    async def everyone() -> None:
        many = [overload(number) for number in range(OVERLOAD * options.clients)]
        await asyncio.gather(*many, *hostile(port, options))

    asyncio.run(everyone())


@contextmanager
def attacked(
    server: Server, pairs: Pairs, options: argparse.Namespace
) -> Iterator[Callable[[], str]]:
    """Attackers; and what kills something, or asks for a reload, and says what."""
    processes = multiprocessing.get_context("spawn")

    def begin() -> Any:
        process = processes.Process(target=attack, args=(server.port, pairs, options), daemon=True)
        process.start()
        return process

    running = begin()
    turn = itertools.count()

    def disturb() -> str:
        nonlocal running
        workers = workers_of(server.process.pid)
        ways = ["attackers killed", *(["worker killed"] if workers else [])]
        ways += ["reload"] if catches_hangup(server.process.pid) else []
        way = ways[next(turn) % len(ways)]
        if way == "worker killed":
            os.kill(random.choice(workers), signal.SIGKILL)
        elif way == "reload":
            server.process.send_signal(signal.SIGHUP)
        else:
            running.kill()
            running.join()
            running = begin()
        return way

    try:
        yield disturb
    finally:
        running.kill()
        running.join()


def workers_of(process: int) -> list[int]:
    """The processes that a server has started."""
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def catches_hangup(process: int) -> bool:
    path = Path(f"/proc/{process}/status")
    found = re.search(r"SigCgt:\s+([0-9a-f]+)", path.read_text()) if path.exists() else None
    return bool(found and int(found[1], 16) >> (signal.SIGHUP - 1) & 1)


def memory_mb(server: Server) -> float:
    """The memory of a server and its workers."""
    each = (server.process.pid, *workers_of(server.process.pid))
    texts = [Path(f"/proc/{number}/status").read_text() for number in each]
    sizes = [re.search(r"VmRSS:\s+(\d+) kB", text) for text in texts]
    return round(sum(int(size[1]) for size in sizes if size) / 1024, 1)


async def disturbances(disturb: Callable[[], str], found: Counter[str]) -> None:
    while True:
        await asyncio.sleep(KILL_SECONDS)
        found[await asyncio.to_thread(disturb)] += 1


def say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


async def soak(options: argparse.Namespace, keys: Path) -> dict[str, Any]:
    pairs: Pairs = expectations(options)
    names = [key("honest", number) for number in range(options.clients)]
    keys.write_text("\n".join([*names, *(key("overload", n) for n in range(OVERLOADERS)), ""]))
    seconds = 60 * options.minutes
    done: Counter[str] = Counter()
    say(f"{len(pairs)} sentences are known")
    with serving(options, "--quiet", "--api-keys", str(keys)) as server:
        with attacked(server, pairs, options):  # so that all is loaded that attackers make it load
            await honest(server.port, pairs, options, min(15, seconds / 10))
        await asyncio.sleep(5)
        say("all is loaded")
        before = memory_mb(server)
        alone = await honest(server.port, pairs, options, 0.2 * seconds)
        say(f"alone: {alone.facts()}")
        with attacked(server, pairs, options) as disturb:
            disturbing = asyncio.create_task(disturbances(disturb, done))
            beside = await honest(server.port, pairs, options, 0.7 * seconds)
            disturbing.cancel()
            during = memory_mb(server)
        await asyncio.sleep(10)
        after = memory_mb(server)
    first, second = alone.facts(), beside.facts()
    return {
        "alone": first,
        "under attack": second,
        "p99 ratio": round(second["p99 ms"] / max(0.1, first["p99 ms"]), 2),
        "disturbances": dict(done),
        "memory MB before, during, after": [before, during, after],
        "memory ratio": round(after / before, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--source", default="fr")
    parser.add_argument("--target", default="en")
    parser.add_argument("--texts", type=Path, help="a sentence a line; else the built-in corpus")
    parser.add_argument("--engine", choices=["auto", "torch", "ctranslate2"], default="auto")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rate", type=float, default=50.0, help="honest requests a second, in all")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = json.dumps(asyncio.run(soak(options, Path(folder, "keys"))), indent=2)
    print(found)
    if options.out:
        options.out.write_text(found + "\n")


if __name__ == "__main__":
    main()
