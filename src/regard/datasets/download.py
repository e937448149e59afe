"""Downloads a file: with its size and checksum known beforehand, and resumed where it stopped.

The part that has arrived is kept beside the target, as NAME.part, with the server's mark for this
version of the file, so that the same command resumes there. The target itself is always whole.
"""

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from regard.datasets import Download, shown_size
from regard.errors import DataError
from regard.reporter import Advance, Reporter

TIMEOUT_SECONDS = 30.0
PAUSE_SECONDS = 1.0
ATTEMPTS = 4
CHUNK = 1 << 16


class Broken(Exception):
    """The connection ended early; another attempt may resume."""


def download(wanted: Download, folder: Path, reporter: Reporter, check: bool = True) -> Path:
    """Bring a file to the folder, unless it is there; DataError says what went wrong."""
    target = folder / wanted.name
    if target.exists():
        return target
    part = folder / f"{wanted.name}.part"
    with reporter.progress(wanted.name, wanted.bytes) as advance:
        advance(part.stat().st_size if part.exists() else 0)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                receive(wanted, part, advance)
                break
            except Broken as error:
                if attempt == ATTEMPTS:
                    raise DataError(
                        f"{wanted.url}: {error}; {shown_size(size_of(part))} are kept, and the "
                        "same command resumes there"
                    ) from None
                time.sleep(PAUSE_SECONDS)
    if check and wanted.sha256:
        check_content(wanted, part)
    os.replace(part, target)
    mark_of(part).unlink(missing_ok=True)
    return target


def receive(wanted: Download, part: Path, advance: Advance) -> None:
    """Append what is still missing of the file to the part of it that is here."""
    start = size_of(part)
    mark = mark_of(part)
    if start and not mark.exists() and not wanted.sha256:
        start = 0  # nothing shows that it is a part of the same file
    request = urllib.request.Request(wanted.url)
    request.add_header("User-Agent", f"regard/{version('regard')}")
    request.add_header("Accept-Encoding", "identity")
    if start:
        request.add_header("Range", f"bytes={start}-")
        if mark.exists():
            request.add_header("If-Range", mark.read_text("ascii"))
    try:
        # An opener of its own takes the proxy from the environment as it is now.
        with urllib.request.build_opener().open(request, timeout=TIMEOUT_SECONDS) as response:
            refuse_downgrade(wanted.url, response.geturl())
            resumed = response.status == 206 and starts_at(response, start)
            if start and not resumed:
                advance(-start)
                start = 0
            tag = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
            if tag and not tag.startswith("W/"):  # a weak mark does not promise the same bytes
                mark.write_text(tag.encode("ascii", "replace").decode(), "ascii")
            length = response.headers.get("Content-Length")
            expected = start + int(length) if length and length.isdecimal() else None
            if expected is not None and expected > largest(wanted):
                raise too_large(wanted)
            with part.open("ab" if start else "wb") as file:
                for chunk in iter(lambda: response.read(CHUNK), b""):
                    start += len(chunk)
                    if start > largest(wanted):
                        raise too_large(wanted)
                    file.write(chunk)
                    advance(len(chunk))
        if expected is not None and size_of(part) < expected:
            raise Broken(f"the connection ended after {size_of(part):,} of {expected:,} bytes")
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:  # more is here than the server has: begin again
            part.unlink()
            advance(-start)
            raise Broken("the server has less of it than is here") from None
        if error.code in (429, 500, 502, 503, 504):
            raise Broken(f"the server answered {error.code} {error.reason}") from None
        raise DataError(f"{wanted.url}: the server answered {error.code} {error.reason}") from None
    except TimeoutError:
        raise Broken(f"no answer for {TIMEOUT_SECONDS:.0f} s") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise Broken(f"no answer for {TIMEOUT_SECONDS:.0f} s") from None
        raise unreachable(wanted.url, error.reason) from None
    except (http.client.HTTPException, ConnectionError) as error:
        raise Broken(f"the connection broke ({type(error).__name__})") from None


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def mark_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.mark")


def starts_at(response: http.client.HTTPResponse, start: int) -> bool:
    return str(response.headers.get("Content-Range", "")).startswith(f"bytes {start}-")


def largest(wanted: Download) -> int:
    """The most bytes that are accepted; the checksum is exact, the size may be a guess."""
    return 2 * wanted.bytes + 1_000_000


def too_large(wanted: Download) -> DataError:
    return DataError(
        f"{wanted.url}: much larger than the expected {shown_size(wanted.bytes)}, so it was not "
        "downloaded"
    )


def refuse_downgrade(asked: str, answered: str) -> None:
    if asked.startswith("https:") and not answered.startswith("https:"):
        raise DataError(f"{asked}: leads to {answered}, which is not encrypted; nothing was kept")


def unreachable(url: str, reason: object) -> DataError:
    why = getattr(reason, "strerror", None) or reason
    return DataError(
        f"{urlsplit(url).hostname} cannot be reached ({why}); check the network, and the proxy if "
        "there is one (https_proxy)"
    )


def check_content(wanted: Download, part: Path) -> None:
    with part.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted.sha256:
        part.unlink()
        mark_of(part).unlink(missing_ok=True)
        raise DataError(
            f"{wanted.url}: not the expected content (sha256 {found[:12]}…, expected "
            f"{wanted.sha256[:12]}…), so nothing was kept"
        )
