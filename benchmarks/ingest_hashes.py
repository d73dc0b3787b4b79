"""Balance of categories: how evenly hashes of devices' ids spread them.

Random ids spread as a Poisson process does if a hash is good: the deviation of a category's size is then the
root of its mean, 1/64 of it for 4,096 devices in each. What was published is the deviation after sizes were
scaled to 0 and 1: an empty category makes it smaller, so that it takes the worst hash for the best.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from common import arguments, integer, print_table, write

from bypass.ingest.categories import CATEGORIES, partition_of
from bypass.support.arrays import Ints

Hash = Callable[[list[bytes]], Ints]

PUBLISHED = {
    "Java, folded": 0.178,
    "SHA-256": 0.192,
    "Fletcher-16, high": 0.062,
    "Fletcher-16, folded": 0.193,
}
"""The scaled deviations that were published for random UUIDs."""


def ids_of(kind: str, count: int, random: np.random.Generator) -> list[bytes]:
    """So many ids of a kind."""
    if kind == "UUID":
        text = random.bytes(16 * count).hex()
        parts = (text[at : at + 32] for at in range(0, len(text), 32))
        return [f"{p[:8]}-{p[8:12]}-{p[12:16]}-{p[16:20]}-{p[20:]}".encode() for p in parts]
    if kind == "sequential":
        return [b"device%d" % number for number in range(count)]
    if kind == "MAC":
        start = int(random.integers(0, 1 << 23))
        tails = (f"{start + number:06x}" for number in range(count))
        return [f"00:1b:44:{tail[:2]}:{tail[2:4]}:{tail[4:]}".encode() for tail in tails]
    return [b"%015d" % number for number in random.integers(350_000_000_000_000, 360_000_000_000_000, count)]


def by_length(ids: list[bytes], work: Callable[[Any], Ints]) -> Ints:
    """Apply `work` to ids of equal length at once, as a matrix of bytes; results are in the order of ids."""
    lengths = np.array([len(each) for each in ids])
    found = np.zeros(len(ids), np.int64)
    for length in np.unique(lengths):
        here = np.flatnonzero(lengths == length)
        data = b"".join(ids[at] for at in here.tolist())
        found[here] = work(np.frombuffer(data, np.uint8).reshape(len(here), length))
    return found


def java(matrix: Any) -> Ints:
    """Java's hash, folded to 8 bits: ours."""
    value = np.zeros(len(matrix), np.uint32)
    for column in matrix.T:
        value = value * np.uint32(31) + column
    return np.asarray((value ^ value >> np.uint32(16)) & np.uint32(CATEGORIES - 1), np.int64)


def fletcher(matrix: Any, modulus: int) -> tuple[Ints, Ints]:
    """The two sums of Fletcher's checksum."""
    sums = np.cumsum(matrix.astype(np.int64), axis=1)
    return sums[:, -1] % modulus, sums.sum(axis=1) % modulus


def fletcher8(matrix: Any) -> Ints:
    """Fletcher's checksum of half bytes, 4 bits each."""
    halves = np.stack([matrix >> 4, matrix & 15], axis=2).reshape(len(matrix), -1)
    low, high = fletcher(halves, 15)
    return high << 4 | low


HASHES: dict[str, Hash] = {
    "Java, folded": lambda ids: by_length(ids, java),
    "SHA-256": lambda ids: np.array([hashlib.sha256(each).digest()[-1] for each in ids]),
    "BLAKE2b": lambda ids: np.array([hashlib.blake2b(each, digest_size=1).digest()[0] for each in ids]),
    "CRC-32": lambda ids: np.array([zlib.crc32(each) & 255 for each in ids]),
    "Fletcher-16, high": lambda ids: by_length(ids, lambda matrix: fletcher(matrix, 255)[1]),
    "Fletcher-16, folded": lambda ids: by_length(ids, lambda matrix: np.bitwise_xor(*fletcher(matrix, 255))),
    "Fletcher-8": lambda ids: by_length(ids, fletcher8),
}


def balance(categories: Ints) -> dict[str, float]:
    """How evenly devices are spread over categories."""
    sizes = np.bincount(categories, minlength=CATEGORIES)
    mean, deviation = float(sizes.mean()), float(sizes.std())
    return {
        "least": int(sizes.min()),
        "most": int(sizes.max()),
        "empty": int((sizes == 0).sum()),
        "deviation": deviation / mean,
        "chi2": float(((sizes - mean) ** 2 / mean).sum()) / (CATEGORIES - 1),
        "scaled": deviation / max(1, int(sizes.max() - sizes.min())),
    }


def main() -> None:
    parser = arguments(__doc__ or "", repetitions=None)
    integer(parser, "--devices", 1 << 20, "devices of each kind")
    given = parser.parse_args()
    results: dict[str, dict[str, dict[str, float]]] = {}
    for kind in ("UUID", "sequential", "MAC", "IMEI"):
        ids = ids_of(kind, given.devices, np.random.default_rng(1))
        ours = HASHES["Java, folded"](ids[:1000])
        assert ours.tolist() == [partition_of(each.decode()) for each in ids[:1000]]
        results[kind] = {name: balance(hashed(ids)) for name, hashed in HASHES.items()}
        rows: list[list[str | float]] = [
            [name, *found.values(), f"{PUBLISHED[name]}" if kind == "UUID" and name in PUBLISHED else "-"]
            for name, found in results[kind].items()
        ]
        header = ["hash", "least", "most", "empty", "deviation/mean", "chi2/255", "scaled", "published"]
        expected = (CATEGORIES / given.devices) ** 0.5
        print_table(f"{kind}: {given.devices:,} ids; random ones: {expected:.4f} and 1", header, rows)
    write("ingest_hashes", given.out, {"devices": given.devices, "results": results})


if __name__ == "__main__":
    main()
