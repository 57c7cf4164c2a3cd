"""What a model file would unpack to, found out before anything is unpacked."""

import ast
import io
import math
import struct
import zipfile
from typing import IO, Any

import numpy as np

from groupwise.io.errors import ModelFileError

__all__ = ["MAX_MEMBERS", "check_arrays", "check_sizes", "read_bounded"]

#: More members than any model has: a forest of a thousand trees has about five thousand.
MAX_MEMBERS = 200_000
# A member may unpack to this, or to so many times what it takes in the file.
_FREE, _RATIO = 64 << 20, 50
_CHUNK = 1 << 20


def check_sizes(file: zipfile.ZipFile, size: int, packed: frozenset[str] = frozenset()) -> None:
    """Refuse an archive by what its directory declares.

    Parameters
    ----------
    file : ZipFile
    size : int
        Of the file on disk.
    packed : frozenset of str
        Members that may be compressed; all others are stored as they are, as skops does.
    """
    members = file.infolist()
    if len(members) > MAX_MEMBERS:
        raise ModelFileError(f"holds {len(members):,} members; a model has at most {MAX_MEMBERS:,}")
    if len({member.filename for member in members}) < len(members):
        raise ModelFileError("holds two members of one name")
    if sum(member.compress_size for member in members) > size:
        raise ModelFileError("declares members that overlap or lie beyond its end")
    for member in members:
        if member.flag_bits & 0x1:
            raise ModelFileError(f"member {member.filename!r} is encrypted")
        if member.filename in packed:
            _check_unpacked(member.filename, member.file_size, member.compress_size)
        elif member.compress_type != zipfile.ZIP_STORED or member.file_size > member.compress_size:
            raise ModelFileError(
                f"member {member.filename!r} is compressed, which members of a model are not "
                f"({member.compress_size:,} bytes that would become {member.file_size:,})"
            )


def _check_unpacked(name: str, unpacked: int, packed: int) -> None:
    if unpacked > max(_FREE, _RATIO * packed):
        raise ModelFileError(f"{name!r} has {packed:,} bytes that would become {unpacked:,}")


def read_bounded(file: zipfile.ZipFile, name: str) -> bytes:
    """A member of the declared size at most: its stream may hold more than its directory says."""
    member = file.getinfo(name)
    parts, left = [], member.file_size
    with file.open(member) as stream:
        while left > 0 and (part := stream.read(min(left, _CHUNK))):
            parts.append(part)
            left -= len(part)
    return b"".join(parts)


def check_arrays(file: zipfile.ZipFile) -> None:
    """Refuse arrays whose header claims more than their bytes hold."""
    for member in file.infolist():
        if member.filename.endswith(".npy"):
            with file.open(member) as stream:
                _check_header(stream, member.filename, member.file_size)
        elif member.filename.endswith(".npz"):
            _check_sparse(file.read(member), member.filename)


def _check_sparse(content: bytes, name: str) -> None:
    """An archive of arrays inside the archive, which may be compressed."""
    with zipfile.ZipFile(io.BytesIO(content)) as inner:
        members = inner.infolist()
        if len(members) > 16:
            raise ModelFileError(f"{name!r} holds {len(members)} arrays; a sparse matrix has five")
        _check_unpacked(name, sum(member.file_size for member in members), len(content))
        for member in members:
            with inner.open(member) as stream:
                _check_header(stream, f"{name}/{member.filename}", member.file_size)


def _check_header(stream: IO[bytes], name: str, size: int) -> None:
    """Compare what an .npy header claims with the bytes that follow it."""
    start = stream.read(12)
    if start[:6] != b"\x93NUMPY" or len(start) < 12:
        raise ModelFileError(f"{name!r} is no array of numpy")
    long = start[6] >= 2
    length = struct.unpack("<I", start[8:12])[0] if long else struct.unpack("<H", start[8:10])[0]
    if length > 1 << 16:
        raise ModelFileError(f"{name!r} has a header of {length:,} bytes")
    text = (b"" if long else start[10:12]) + stream.read(length - (0 if long else 2))
    header = ast.literal_eval(text.decode("latin1"))
    dtype, shape = np.dtype(_plain(header["descr"])), header["shape"]
    if dtype.hasobject:
        raise ModelFileError(f"{name!r} holds objects of Python")
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ModelFileError(f"{name!r} claims the shape {shape}")
    claimed = math.prod(shape) * dtype.itemsize
    if claimed > size - (12 if long else 10) - length or math.prod(shape) > max(size, 1 << 16):
        raise ModelFileError(f"{name!r} claims {claimed:,} bytes of numbers and has {size:,}")


def _plain(description: Any) -> Any:
    """A dtype's description as ``np.dtype`` takes it: fields are tuples in a list."""
    if isinstance(description, list):
        return [(field[0], _plain(field[1]), *field[2:]) for field in description]
    return description
