"""Compression of messages, with a bound on what comes out: a small message cannot become a large one."""

from __future__ import annotations

import gzip
import threading
import zlib
from typing import TYPE_CHECKING, Literal

from bypass.ingest.rejection import Rejected

if TYPE_CHECKING:
    import zstandard

Compression = Literal["none", "gzip", "zstd"]

_GZIP = 16 + zlib.MAX_WBITS
_LARGEST_WINDOW = 8 << 20  # a frame that asks for more memory is refused before it gets any

_threads = threading.local()


def compress(data: bytes, compression: Compression) -> bytes:
    """Compress a message as devices do. Raises ValueError for a compression that is unknown."""
    match compression:
        case "none":
            return data
        case "gzip":
            return gzip.compress(data, mtime=0)
        case "zstd":
            import zstandard

            return zstandard.compress(data)
    raise ValueError(f"compression is {compression!r}: expected none, gzip or zstd")


def decompress_gzip(data: bytes, largest: int) -> bytes:
    """Decompress one gzip member. Raises Rejected if more than `largest` bytes come out, or if it is
    damaged."""
    stream = zlib.decompressobj(_GZIP)
    try:
        plain = stream.decompress(data, largest + 1)
    except zlib.error as error:
        raise Rejected("decompress", "malformed", str(error)) from None
    if len(plain) > largest:
        raise Rejected("decompress", "too large", f"more than {largest} bytes")
    if not stream.eof or stream.unused_data:
        raise Rejected("decompress", "malformed", "expected one whole gzip member")
    return plain


def decompress_zstd(data: bytes, largest: int) -> bytes:
    """Decompress one zstd frame. Raises Rejected if more than `largest` bytes come out, or if it is
    damaged."""
    import zstandard

    decompressor = _zstd()
    try:
        size = zstandard.frame_content_size(data)  # -1 if the frame does not say
        if size > largest:
            raise Rejected("decompress", "too large", f"{size} bytes: expected at most {largest}")
        return decompressor.decompress(data, max_output_size=largest, allow_extra_data=False)
    except zstandard.ZstdError as error:
        if _exceeds(data, largest):
            raise Rejected("decompress", "too large", f"more than {largest} bytes") from None
        raise Rejected("decompress", "malformed", str(error)) from None


def _exceeds(data: bytes, largest: int) -> bool:
    """Tell whether more comes out of a frame that does not say how much it is; reads no more than it must."""
    import zstandard

    try:
        return len(_zstd().stream_reader(data).read(largest + 1)) > largest
    except zstandard.ZstdError:
        return False


def _zstd() -> zstandard.ZstdDecompressor:
    """Give the decompressor of this thread: one cannot be used by two at the same time."""
    import zstandard

    try:
        decompressor: zstandard.ZstdDecompressor = _threads.zstd
    except AttributeError:
        decompressor = _threads.zstd = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
    return decompressor
