"""Categories of devices, and the nodes that are responsible for them.

A device's category follows from its id alone: all that know the id (devices, connectors, tables) compute the
same one. Categories are given to nodes by rendezvous hashing: if a node joins or leaves, only the categories
that it gets or had move.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from struct import unpack
from typing import NamedTuple

CATEGORIES = 256
"""As many categories there are if nobody says how many."""

PARTS = 16
"""How many parts all devices are divided into, by category: what a part remembers moves between tasks as a
whole."""


def java_hash(text: str) -> int:
    """Compute Java's String.hashCode over UTF-16 units, as a number without sign. Raises UnicodeEncodeError
    for half a surrogate pair."""
    value = 0
    if text.isascii():
        for unit in text.encode():
            value = 31 * value + unit & 0xFFFFFFFF
    else:
        data = text.encode("utf-16-be")
        for high, low in zip(data[::2], data[1::2], strict=True):
            value = 31 * value + (high << 8 | low) & 0xFFFFFFFF
    return value


def partition_of(device: str, categories: int = CATEGORIES) -> int:
    """Compute the number of a device's category among `categories`, from 0."""
    value = java_hash(device)
    if categories & categories - 1 == 0:
        return (value ^ value >> 16) & categories - 1
    return abs(value - (1 << 32) if value >= 1 << 31 else value) % categories


def category_of(device: str, categories: int = CATEGORIES) -> str:
    """Write a device's category as topics have it: hexadecimal, lower case, all of the same width."""
    return category_name(partition_of(device, categories), categories)


def category_name(number: int, categories: int = CATEGORIES) -> str:
    """Write the number of a category as topics have it."""
    width = max(1, ((categories - 1).bit_length() + 3) // 4)
    return format(number, f"0{width}x")


def topic_of(application: str, device: str, categories: int = CATEGORIES) -> str:
    """Name the topic that a device publishes to: application, category, id."""
    return f"{application}/{category_of(device, categories)}/{device}"


class Node(NamedTuple):
    """A node by its name, which no other has, and the machine that it runs on."""

    name: str
    host: str


class Owners(NamedTuple):
    """The nodes of one category: the one that is responsible, and those that take over, in this order."""

    primary: Node
    backups: tuple[Node, ...]


def assign(categories: int, nodes: Iterable[Node], backups: int = 0) -> list[Owners]:
    """Find the nodes of each category: one is responsible, and up to `backups` others stand by.

    Those of one category are on different hosts while there are enough; only then hosts repeat. The order of
    `nodes` does not matter. Raises ValueError if there are no nodes, or two of one name.
    """
    known = sorted(nodes)
    if not known:
        raise ValueError("nodes is empty: expected at least one")
    if len({node.name for node in known}) < len(known):
        raise ValueError(f"nodes are {[node.name for node in known]}: expected names that differ")
    weights = [_weights(node.name, categories) for node in known]
    return [_owners(each, known, backups) for each in zip(*weights, strict=True)]


def _owners(weights: Sequence[int], nodes: Sequence[Node], backups: int) -> Owners:
    """Choose the nodes of a category for which they have these weights."""
    if not backups:
        return Owners(nodes[weights.index(max(weights))], ())
    ranks = sorted(range(len(nodes)), key=weights.__getitem__, reverse=True)
    primary, *others = (nodes[rank] for rank in ranks)
    hosts = {primary.host}
    chosen: list[Node] = []
    neighbours: list[Node] = []  # on hosts that are taken already
    for node in others:
        (neighbours if node.host in hosts else chosen).append(node)
        hosts.add(node.host)
    return Owners(primary, tuple((chosen + neighbours)[:backups]))


def _weights(node: str, categories: int) -> list[int]:
    """Compute a node's weight for each category: 64 bits that are the same everywhere and for ever."""
    blocks = b"".join(
        blake2b(node.encode(), digest_size=64, salt=block.to_bytes(4, "big")).digest()
        for block in range((categories + 7) // 8)
    )
    return list(unpack(f">{categories}Q", blocks[: 8 * categories]))
