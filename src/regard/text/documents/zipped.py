"""Files that are zip archives of XML: Word, LibreOffice and Excel documents.

Nothing is taken out of an archive before its size is known. Members that are not translated keep
every byte, and all keep their order, dates and kind of compression.
"""

import struct
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import PurePosixPath

from regard.errors import DataError

MOST_MEMBERS = 10_000
# Of one member and of all, when unpacked; XML compresses to a twentieth, rarely to a hundredth.
MEMBER_BYTES, ALL_BYTES = 100 << 20, 1 << 30
MOST_RATIO, SMALL = 200, 1 << 20
ENCRYPTED = 0x1


class Archive:
    """A zip archive, checked before anything in it is read."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self._data = data
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error):
            kind = (
                "an encrypted or old" if data.startswith(b"\xd0\xcf\x11\xe0") else "no or a damaged"
            )
            raise DataError(
                f"{name}: is {kind} document, not a zip archive; save it again in this format"
            ) from None
        self._check()

    def _check(self) -> None:
        members = self._zip.infolist()
        if len(members) > MOST_MEMBERS:
            raise self._refused(f"has {len(members):,} members, more than {MOST_MEMBERS:,}")
        if sum(each.file_size for each in members) > ALL_BYTES:
            raise self._refused("is larger than 1 GiB when it is unpacked")
        names = [each.filename for each in members]
        if len(set(names)) < len(names):
            raise self._refused("has two members of the same name")
        for each in members:
            path = PurePosixPath(each.filename.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts or ":" in each.filename:
                raise self._refused(f"has a member with the name {each.filename[:60]!r}")
            if each.flag_bits & ENCRYPTED:
                raise self._refused("is encrypted")
            ratio = each.file_size / max(1, each.compress_size)
            if each.file_size > MEMBER_BYTES or (each.file_size > SMALL and ratio > MOST_RATIO):
                raise self._refused(
                    f"has a member of {each.file_size:,} bytes in {each.compress_size:,}"
                )

    def _refused(self, reason: str) -> DataError:
        return DataError(f"{self.name}: {reason}; it is not opened, save it again without that")

    @property
    def members(self) -> list[str]:
        return self._zip.namelist()

    def read(self, member: str) -> bytes:
        """A member; never more of it than the archive says it has."""
        try:
            with self._zip.open(member) as file:
                found = file.read(self._zip.getinfo(member).file_size + 1)
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            OSError,
        ):
            raise DataError(
                f"{self.name}: {member} in it is damaged; save the document again"
            ) from None
        if len(found) > self._zip.getinfo(member).file_size:
            raise self._refused(f"has a member, {member}, that is larger than it says")
        return found

    def written(self, changed: Mapping[str, bytes]) -> bytes:
        """The archive with some members changed."""
        if not changed:
            return self._data
        output = BytesIO()
        with zipfile.ZipFile(output, "w") as new:
            new.comment = self._zip.comment
            for info in self._zip.infolist():
                member = changed.get(info.filename)
                new.writestr(_copy(info), self.read(info.filename) if member is None else member)
        return output.getvalue()


def _copy(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    copied = zipfile.ZipInfo(info.filename, info.date_time)
    for name in ("compress_type", "comment", "create_system", "create_version", "extract_version"):
        setattr(copied, name, getattr(info, name))
    copied.external_attr, copied.internal_attr = info.external_attr, info.internal_attr
    copied.extra = info.extra
    return copied
