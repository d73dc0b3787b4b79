"""Keys of entries as bytes and numbers that are the same in every process: Python's hash of texts is not."""

from __future__ import annotations

from hashlib import blake2b

from bypass.errors import BypassError, shown
from bypass.ports.caches import CacheKey


class InvalidCacheEntry(BypassError):
    """A key, value, size or tag cannot be that of an entry."""


def encoded_key(key: CacheKey) -> bytes:
    """Write a key as bytes; different keys give different bytes. Raises InvalidCacheEntry."""
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, int):
        return b"i%d" % key
    if isinstance(key, bytes):
        return b"b" + key
    if isinstance(key, tuple):
        parts = [encoded_key(part) for part in key]
        return b"t" + b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    raise InvalidCacheEntry(f"key {shown(key)}: expected a whole number, a text, bytes, or a tuple of these")


def key_digest(key: CacheKey) -> int:
    """64 bits of a key that nobody can choose."""
    return int.from_bytes(blake2b(encoded_key(key), digest_size=8).digest(), "little")
