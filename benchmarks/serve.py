"""The server under load, from a second process: `python -m benchmarks.serve BAR RUN`.

    clients     64 clients at once: every answer compared with the offline translation; memory
    overload    ten times as many: what is refused and how, /health meanwhile, recovery after
    throughput  one load with batching, without it, and offline in one call
    cold        from the start of the process to the first answer
    slow        an honest client next to 200 connections that send a byte per second
    fuzz        10,000 requests of nonsense: statuses and the largest refusal

Run it on a quiet machine; --seconds and --requests make it shorter.
"""

import argparse
import asyncio
import http.client
import json
import multiprocessing
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path

UNLIMITED = ["--texts-per-minute", "1000000000", "--quiet"]


@dataclass
class Server:
    process: subprocess.Popen[str]
    port: int

    def memory_mb(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", text)
        return int(found[1]) / 1024 if found else 0.0


@contextmanager
def serving(options: argparse.Namespace, *more: str) -> Iterator[Server]:
    words = ["serve", str(options.run), "--port", "0", "--engine", options.engine, *more]
    command = [sys.executable, "-m", "regard", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://[^/]*:(\d+)/", line):
                break
        else:
            raise SystemExit("the server did not start; try the command by hand")
        yield Server(process, int(found[1]))
    finally:
        process.terminate()
        process.wait(60)


@dataclass
class Outcome:
    """The results of one load."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0
    milliseconds: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def line(self) -> str:
        times = sorted(self.milliseconds) or [0.0]
        late = times[min(len(times) - 1, int(0.99 * len(times)))]
        return (
            f"{len(self.milliseconds) / self.seconds:8.1f} answers/s   "
            f"median {statistics.median(times):.0f} ms   99 % below {late:.0f} ms   "
            f"statuses {dict(self.statuses)}   wrong {self.wrong}"
        )


class Client:
    """A keep-alive connection that uses as little CPU time as it can."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        answer = await reader.readexactly(int(length[1]) if length else 0)
        if b"connection: close" in head:
            self.close()
        return int(head.split(b" ", 2)[1]), answer

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def asked(text: str, source: str, target: str) -> bytes:
    return json.dumps({"q": text, "source": source, "target": target}).encode()


async def load(
    port: int, pairs: Sequence[tuple[bytes, str]], clients: int, seconds: float
) -> Outcome:
    """Run clients that send the next request as soon as they have an answer."""
    outcome = Outcome()
    end = time.perf_counter() + seconds
    draw = random.Random(1)

    async def one() -> None:
        client = Client(port)
        while time.perf_counter() < end:
            body, expected = draw.choice(pairs)
            start = time.perf_counter()
            try:
                status, answer = await client.ask("POST", "/translate", body)
            except (OSError, asyncio.IncompleteReadError):
                client.close()
                outcome.statuses[0] += 1
                continue
            outcome.statuses[status] += 1
            if status == 200:
                outcome.milliseconds.append(1000 * (time.perf_counter() - start))
                outcome.wrong += json.loads(answer)["translatedText"] != expected
            else:
                await asyncio.sleep(0.05)
        client.close()

    start = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    outcome.seconds = time.perf_counter() - start
    return outcome


def expectations(options: argparse.Namespace) -> list[tuple[bytes, str]]:
    """Requests, and the offline translation of each."""
    from regard.tasks.translation.translator import Translator

    texts = sentences(options)
    translator = Translator.load(options.run, engine=options.engine)
    found = translator.texts(texts, translator.search)
    bodies = [asked(text, options.source, options.target) for text in texts]
    return list(zip(bodies, found, strict=True))


def sentences(options: argparse.Namespace) -> list[str]:
    if options.texts:
        lines = options.texts.read_text("utf-8").split("\n")
    else:
        from regard.data.phrasebook import pairs

        lines = [pair.source for pair in pairs("test")]
    # One sentence each, so that the server's splitting changes nothing.
    return [line for line in lines if line and not re.search(r"[.!?…] ", line)][: options.sentences]


async def clients(options: argparse.Namespace) -> None:
    pairs = expectations(options)
    with serving(options, *UNLIMITED) as server:
        await load(server.port, pairs, 64, min(5.0, options.seconds))
        before = server.memory_mb()
        print((await load(server.port, pairs, 64, options.seconds)).line())
        after = server.memory_mb()
    print(f"memory {before:.0f} MB after warm-up, {after:.0f} MB at the end")


def watch(port: int, stop: Event, found: "Queue[list[float]]") -> None:
    """Measure milliseconds of /health, in a process of its own that the load does not delay."""
    times = []
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while not stop.wait(0.1):
        start = time.perf_counter()
        connection.request("GET", "/health")
        answer = connection.getresponse()
        answer.read()
        times.append(1000 * (time.perf_counter() - start))
        assert answer.status == 200
    found.put(times)


async def overload(options: argparse.Namespace) -> None:
    pairs = expectations(options)
    processes = multiprocessing.get_context("spawn")
    stop, found = processes.Event(), processes.Queue()
    with serving(options, *UNLIMITED, "--queue", str(options.queue)) as server:
        calm = await load(server.port, pairs, 8, min(5.0, options.seconds))
        print("8 clients  ", calm.line())
        watching = processes.Process(target=watch, args=(server.port, stop, found))
        watching.start()
        print("640 clients", (await load(server.port, pairs, 640, options.seconds)).line())
        stop.set()
        times = sorted(found.get())
        watching.join()
        start = time.perf_counter()
        client = Client(server.port)
        while (await client.ask("POST", "/translate", pairs[0][0]))[0] != 200:
            await asyncio.sleep(0.01)
        recovered = time.perf_counter() - start
        client.close()
    late = times[int(0.99 * len(times))]
    print(f"/health at most {times[-1]:.0f} ms, 99 % below {late:.0f} ms, of {len(times)}")
    print(f"recovered after {recovered:.2f} s")


async def throughput(options: argparse.Namespace) -> None:
    from regard.tasks.translation.translator import Translator

    pairs = expectations(options)
    texts = sentences(options)
    translator = Translator.load(options.run, engine=options.engine)
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < options.seconds:
        count += len(translator.texts(texts, translator.search))
    print(f"offline          {count / (time.perf_counter() - start):8.1f} sentences/s")
    del translator
    for name, more in (("with batching   ", []), ("without batching", ["--batch", "1"])):
        with serving(options, *UNLIMITED, *more) as server:
            await load(server.port, pairs, 64, min(3.0, options.seconds))
            print(name, (await load(server.port, pairs, 64, options.seconds)).line())


async def cold(options: argparse.Namespace) -> None:
    body = asked(sentences(options)[0], options.source, options.target)
    for _ in range(3):
        start = time.perf_counter()
        with serving(options, *UNLIMITED) as server:
            status, _ = await Client(server.port).ask("POST", "/translate", body)
            print(f"first answer ({status}) after {time.perf_counter() - start:.2f} s")


async def slow(options: argparse.Namespace) -> None:
    pairs = expectations(options)
    with serving(options, *UNLIMITED) as server:
        print("undisturbed     ", (await load(server.port, pairs, 1, options.seconds)).line())

        async def dawdle() -> None:
            while True:
                _, writer = await asyncio.open_connection("127.0.0.1", server.port)
                try:
                    for letter in (
                        b"POST /translate HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"y" * 600
                    ):
                        writer.write(bytes([letter]))
                        await writer.drain()
                        await asyncio.sleep(1)
                except OSError:
                    pass
                writer.close()

        slow_ones = [asyncio.create_task(dawdle()) for _ in range(200)]
        await asyncio.sleep(2)
        print("beside 200 slow ", (await load(server.port, pairs, 1, options.seconds)).line())
        for each in slow_ones:
            each.cancel()
        await asyncio.gather(*slow_ones, return_exceptions=True)


NONSENSE = [
    *(b"POST ", b"GET ", b"PUT ", b"/translate", b"/detect", b"/v2/translate", b"/v1/completions"),
    *(
        b"/translate_file",
        b"?q=a&source=auto",
        b" HTTP/1.1\r\n",
        b"\r\n",
        b"Host: localhost\r\n",
        b"%00",
    ),
    *(b"Content-Length: 12\r\n", b"Content-Type: application/json\r\n", b"{", b"}", b"[", b"]"),
    *(b'"q":', b'"a"', b'"source":"auto"', b'"target":"en"', b",", b"null", b"1e999", b"\xff\x00"),
    *(b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"5\r\nabcde\r\n", b"--x\r\n", b"--x--"),
    *(b"Content-Type: multipart/form-data; boundary=x\r\n", b"Connection: close\r\n"),
]


PATHS = ["/translate", "/detect", "/suggest", "/translate_file", "/v2/translate", "/languages"]
PATHS += ["/v1/completions", "/v1/embeddings", "/download_file/x", "/frontend/settings", "/%00"]
KINDS = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]


def nonsense(draw: random.Random) -> tuple[bytes, bool]:
    """Random bytes, or a request that is well formed except for its body; and which of the two."""
    body = b"".join(draw.choices(NONSENSE, k=draw.randint(1, 16)))
    if draw.random() < 0.3:
        return body, False
    head = f"{draw.choice(['POST', 'GET'])} {draw.choice(PATHS)} HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Content-Type: {draw.choice(KINDS)}\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body, True


async def fuzz(options: argparse.Namespace) -> None:
    draw = random.Random(11)
    statuses: Counter[int] = Counter()
    largest = 0
    with serving(options, *UNLIMITED) as server:

        async def some(count: int) -> None:
            nonlocal largest
            for _ in range(count):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                try:
                    sent, complete = nonsense(draw)
                    writer.write(sent)
                    if not complete:
                        writer.write_eof()  # rather than wait for the server's timeout
                    answer = await asyncio.wait_for(reader.read(), 15)
                except (OSError, TimeoutError):
                    answer = b""
                writer.close()
                status = int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0
                statuses[status] += 1
                if status != 200:
                    largest = max(largest, len(answer))

        await asyncio.gather(*(some(options.requests // 20) for _ in range(20)))
        status, _ = await Client(server.port).ask("GET", "/health")
    failed = sum(count for each, count in statuses.items() if each >= 500 and each != 503)
    print(f"statuses {dict(sorted(statuses.items()))} (0: closed without an answer)")
    print(f"failures {failed}, largest refusal {largest} bytes, /health afterwards {status}")


BARS = {each.__name__: each for each in (clients, overload, throughput, cold, slow, fuzz)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bar", choices=BARS)
    parser.add_argument("run", type=Path)
    parser.add_argument("--source", default="fr")
    parser.add_argument("--target", default="en")
    parser.add_argument("--texts", type=Path, help="a sentence a line; else the built-in corpus")
    parser.add_argument("--engine", choices=["auto", "torch", "ctranslate2"], default="auto")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--queue", type=int, default=128)
    options = parser.parse_args()
    asyncio.run(BARS[options.bar](options))


if __name__ == "__main__":
    main()
